"""How many columns of a terminal a text takes: ideographs take two, combining marks none."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from itertools import zip_longest

_WIDE = ("W", "F")
_MARKS = ("Mn", "Me")


def text_width(text: str) -> int:
    """Return the number of columns that `text` takes on a terminal.

    Examples
    --------
    >>> text_width("dense"), text_width("検索"), text_width("u\\u0308ber")
    (5, 4, 4)
    """
    return len(text) if text.isascii() else sum(map(_columns, text))


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Fill `text` with blanks to `width` columns; the blanks come first where it is aligned to the right.

    Examples
    --------
    >>> padded("検索", 6) + "|", padded("0.5", 5, right=True)
    ('検索  |', '  0.5')
    """
    blanks = " " * (width - text_width(text))
    return blanks + text if right else text + blanks


def shortened(text: str, width: int) -> str:
    """Cut what goes beyond `width` columns, and show an ellipsis there.

    Examples
    --------
    >>> shortened("dense retrieval", 8), shortened("検索エンジン", 8), shortened("bm25", 8)
    ('dense r…', '検索エ…', 'bm25')
    """
    if text_width(text) <= width:
        return text
    kept, used = 0, 1
    while used + _columns(text[kept]) <= width:
        used += _columns(text[kept])
        kept += 1
    return text[:kept] + "…"


def told_apart(texts: Iterable[str], width: int) -> dict[str, str]:
    """Shorten texts so that no two of them look the same.

    Where their beginnings are the same, what is left out is the part before they differ. A text that cannot
    be told from another one within `width` columns stays whole.

    Examples
    --------
    >>> list(told_apart(["title_bm25_sum", "title_bm25_mean", "url"], 10).values())
    ['ti…_sum', 'ti…_mean', 'url']
    """
    found = {text: shortened(text, width) for text in texts}
    for same in _alike(found):
        prefix = next(i for i, letters in enumerate(zip_longest(*same)) if len(set(letters)) > 1)
        head = shortened(same[0], width // 4 + 1)
        kept = len(head) - 1
        for text in same:
            rest = text[max(prefix - width // 4 + 1, kept) :]
            found[text] = head + shortened(rest, width - text_width(head))
    for same in _alike(found):
        found.update(zip(same, same, strict=True))
    return found


def _alike(found: Mapping[str, str]) -> list[list[str]]:
    """Return the texts that are shown as another one is."""
    shown: dict[str, list[str]] = {}
    for text, short in found.items():
        shown.setdefault(short, []).append(text)
    return [texts for texts in shown.values() if len(texts) > 1]


def _columns(character: str) -> int:
    if unicodedata.east_asian_width(character) in _WIDE:
        return 2
    return 0 if unicodedata.category(character) in _MARKS else 1

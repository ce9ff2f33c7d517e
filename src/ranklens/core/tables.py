"""Tables as text: aligned for a terminal, Markdown, or LaTeX with booktabs.

Cells come formatted; this module aligns and escapes them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ranklens.core.widths import padded, text_width

FORMATS = ("table", "markdown", "latex")

Cell = str | float | int | None

_NUMBER = re.compile(r"[+\-−±]?(\d[\d.,]*(e[+-]?\d+)?|inf|∞)%?")
_DASH = "–"
_GAP = "  "


def render_table(
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    format: str = "table",
    *,
    caption: str | None = None,
) -> str:
    """Render rows as an aligned table.

    Columns of numbers (intervals, counts such as ``3/0/7`` and dashes included) are aligned to the right,
    all others to the left. Control characters are shown as escapes, so that an id from a file can neither
    break a row nor drive the terminal.

    Parameters
    ----------
    header : sequence of str
        The column names.
    rows : sequence of sequences
        The cells, formatted already; None is shown as a dash, a number as `str` shows it.
    format : {"table", "markdown", "latex"}
        Aligned text, a pipe table, or a LaTeX ``tabular`` with booktabs rules, with the text escaped for it.
    caption : str, optional
        A line above the table; in LaTeX the caption of a ``table`` environment.

    Raises
    ------
    ValueError
        For another format, or a row whose length is not that of the header.

    Examples
    --------
    >>> print(render_table(["run", "AP"], [["bm25", "0.25"], ["dense|2", "0.5000"]]))
    run          AP
    -------  ------
    bm25       0.25
    dense|2  0.5000
    >>> print(render_table(["run", "AP"], [["dense|2", "0.5000"]], "markdown"))
    | run      |     AP |
    |:---------|-------:|
    | dense\\|2 | 0.5000 |
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(f"row {i} has {len(row)} cells, and the header {len(header)}")
    names = [visible(name) for name in header]
    cells = [[_shown(cell) for cell in row] for row in rows]
    numeric = [all(is_numeric(row[j]) for row in cells) for j in range(len(names))]
    return _RENDERERS[format](names, cells, numeric, caption)


def visible(text: str) -> str:
    r"""Show control and format characters as escapes.

    Examples
    --------
    >>> print(visible("a\x1b[31mb"), visible("two\nlines"))
    a\x1b[31mb two\nlines
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(c) if unicodedata.category(c)[0] == "C" else c for c in text)


def is_numeric(cell: str) -> bool:
    """Whether a cell holds numbers only: a number, an interval, counts, or a dash.

    Examples
    --------
    >>> [is_numeric(cell) for cell in ("[+0.1, -0.2]", "3/0/7", "1e-05", "–", "", "d7", "2 runs")]
    [True, True, True, True, True, False, False]
    """
    parts = re.split(r"[\s/]+", cell.strip("[]() *†"))
    return all(part in ("", _DASH) or _NUMBER.fullmatch(part.rstrip(",")) for part in parts)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _aligned(names: list[str], cells: list[list[str]], numeric: list[bool], style: str) -> str:
    from tabulate import tabulate

    if not cells:
        cells, numeric = [["" for _ in names]], [False for _ in names]
    alignment = ["right" if flag else "left" for flag in numeric]
    text = tabulate(cells, headers=names, tablefmt=style, disable_numparse=True, colalign=alignment)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _plain(names: list[str], cells: list[list[str]], numeric: list[bool], caption: str | None) -> str:
    widths = column_widths(names, cells)
    lines = [names, ["-" * width for width in widths], *(cells or [[""] * len(names)])]
    right = [bool(cells) and flag for flag in numeric]
    table = "\n".join(_line(line, widths, right) for line in lines)
    return table if caption is None else f"{visible(caption)}\n\n{table}"


def column_widths(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[int]:
    """Return how many columns of a terminal each column of an aligned table takes.

    Examples
    --------
    >>> column_widths(["run", "n"], [["bm25", 50], ["検索エンジン", None]])
    [12, 3]
    """
    # Columns with a short name stay apart from what is longer in the next.
    texts = [[name + _GAP for name in header], *rows]
    return [max(text_width(_shown(cell)) for cell in column) for column in zip(*texts, strict=True)]


def _shown(cell: Cell) -> str:
    return _DASH if cell is None else visible(str(cell))


def total_width(widths: Sequence[int]) -> int:
    """Return how many columns a line of a table takes, the gaps included.

    Examples
    --------
    >>> total_width([12, 3])
    17
    """
    return sum(widths) + len(_GAP) * max(len(widths) - 1, 0)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    places = zip(cells, widths, right, strict=True)
    return _GAP.join(padded(cell, width, right=flag) for cell, width, flag in places).rstrip()


def _markdown(names: list[str], cells: list[list[str]], numeric: list[bool], caption: str | None) -> str:
    rows = [[markdown_text(cell) for cell in row] for row in cells]
    table = _aligned([markdown_text(name) for name in names], rows, numeric, "pipe")
    return table if caption is None else f"{markdown_text(visible(caption))}\n\n{table}"


def markdown_text(text: str) -> str:
    r"""Escape what Markdown would take for markup.

    Examples
    --------
    >>> print(markdown_text("a|b"), markdown_text("*p_bm25*"), markdown_text("<b>"))
    a\|b \*p_bm25\* &lt;b>
    """
    if is_numeric(text):
        return text
    text = re.sub(r"([\\`*|\[\]~])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)


def _latex(names: list[str], cells: list[list[str]], numeric: list[bool], caption: str | None) -> str:
    tabular = _aligned(names, cells, numeric, "latex_booktabs")
    if caption is None:
        return tabular
    head = f"\\begin{{table}}\n\\centering\n\\caption{{{latex_text(caption)}}}"
    return f"{head}\n{tabular}\n\\end{{table}}"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex_text(text: str) -> str:
    r"""Escape LaTeX's special characters.

    Examples
    --------
    >>> print(latex_text("p_bm25 & 5%"))
    p\_bm25 \& 5\%
    """
    return "".join(_LATEX.get(character, character) for character in visible(text))


_RENDERERS = {"table": _plain, "markdown": _markdown, "latex": _latex}

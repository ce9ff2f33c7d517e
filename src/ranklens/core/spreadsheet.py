"""Text in CSV that a spreadsheet must not run as a formula.

A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return is a formula to a spreadsheet.
Such a text is written with an apostrophe in front, which spreadsheets show as plain text. A text that begins
with apostrophes and then one of these characters gets one more, so that reading back is exact.
"""

from __future__ import annotations

import re

NEUTRALISED = r"^'+[=+\-@\t\r]"
_RISKY = re.compile(r"'*[=+\-@\t\r]")
_NEUTRALISED = re.compile(NEUTRALISED)


def neutralise(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run; leave every other text alone.

    Only for texts: a number such as ``-0.25`` is written as a number.

    Examples
    --------
    >>> neutralise("=1+1"), neutralise("q1"), neutralise("'=1+1")
    ("'=1+1", 'q1', "''=1+1")
    """
    return f"'{text}" if _RISKY.match(text) else text


def restore(text: str) -> str:
    """Undo `neutralise`.

    Examples
    --------
    >>> restore("'=1+1"), restore("'tis"), restore(neutralise("'@a"))
    ('=1+1', "'tis", "'@a")
    """
    return text[1:] if _NEUTRALISED.match(text) else text

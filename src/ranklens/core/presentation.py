"""How results show themselves: numbers as text, plain dictionaries, notebook tables."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Mapping
from typing import Any

_LARGE = 1e12
"""From here on a number is printed with an exponent."""
_MORE_DIGITS = 6
"""A p-value closer to its level than these digits show is printed as the level."""


def fixed(value: float | None, digits: int = 4, *, sign: bool = False) -> str:
    """Format a number with `digits` decimals; a rounded zero is never negative, None is a dash.

    Examples
    --------
    >>> fixed(-0.00001), fixed(0.25, 2, sign=True), fixed(None), fixed(1e300)
    ('0.0000', '+0.25', '–', '1.0000e+300')
    """
    if value is None:
        return "–"
    if math.isfinite(value) and abs(value) >= _LARGE:
        return f"{value:{'+' if sign else ''}.{digits}e}"
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return text.lstrip("+-") if float(text) == 0.0 else text


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number and its noun; the plural has an s if not given.

    Examples
    --------
    >>> counted(1, "query", "queries"), counted(2, "row")
    ('1 query', '2 rows')
    """
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def p_text(p: float | None, level: float | None = None) -> str:
    """Format a p-value: four decimals, or two significant digits when that would print zero.

    A value that would print as the level of its test, and lies on one side of it, gets the digits that show
    the side.

    Examples
    --------
    >>> p_text(0.0425), p_text(3.2e-7), p_text(1.0)
    ('0.0425', '3.2e-07', '1.0000')
    >>> p_text(0.049987, 0.05), p_text(0.050001, 0.05), p_text(0.05, 0.05)
    ('0.04999', '0.050001', '0.0500')
    """
    if p is None:
        return "–"
    digits, style = (4, "f") if p >= 0.0001 or p == 0.0 else (1, "e")
    text = f"{p:.{digits}{style}}"
    for more in range(_MORE_DIGITS):
        longer = f"{p:.{digits + more}{style}}"
        if level is None or float(longer) != level:
            return longer
    return text


class Presentable:
    """Gives a frozen dataclass `to_dict`, a one-line `repr` and a small HTML table in notebooks."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, fit for JSON."""
        return {
            item.name: plain(getattr(self, item.name))
            for item in dataclasses.fields(self)  # type: ignore[arg-type]
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def _repr_html_(self) -> str:
        cells = {key: value for key, value in self.to_dict().items() if not isinstance(value, (dict, list))}
        return html_table([cells])


def plain(value: Any) -> Any:
    """Turn nested results, mappings and tuples into dictionaries and lists, and what JSON lacks into None."""
    if isinstance(value, Presentable):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def html_table(rows: list[dict[str, Any]]) -> str:
    """Render rows (dictionaries with the same keys) as an escaped HTML table."""
    if not rows:
        return "<p>no rows</p>"

    def cell(value: Any) -> str:
        if value is None:
            return "–"
        return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))

    head = "".join(f"<th>{html.escape(str(key))}</th>" for key in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{cell(v)}</td>" for v in row.values()) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

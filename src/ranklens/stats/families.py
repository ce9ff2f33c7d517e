"""Which comparisons are corrected together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.comparisons import ComparisonResult
from ranklens.stats.corrections import CORRECTIONS, warn_of_coarse_p_values, with_q_values
from ranklens.stats.options import check_choice

FAMILIES = ("measure", "segment field", "pair", "all")


class Row(NamedTuple):
    """A comparison, and the field whose segment it is about (None for an overall row)."""

    result: ComparisonResult
    field: str | None


def corrected_table(rows: Sequence[Row], correction: str | None, family: str) -> ComparisonTable:
    """Set the q-values family by family, in the order of `rows`, and warn of too coarse p-values."""
    if correction is None:
        return ComparisonTable([row.result for row in rows])
    families: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        families.setdefault(family_name(row, family), []).append(i)
    results = [row.result for row in rows]
    warn_of_coarse_p_values(([results[i] for i in members] for members in families.values()), correction)
    for name, members in families.items():
        adjusted = with_q_values([results[i] for i in members], name, correction)
        for i, result in zip(members, adjusted, strict=True):
            results[i] = result
    return ComparisonTable(results)


def check_family(correction: str | None, family: str) -> None:
    """Raise ValueError for an unknown correction or family."""
    if correction is not None:
        check_choice("correction", correction, CORRECTIONS)
    check_choice("family", family, FAMILIES)


def family_name(row: Row, family: str) -> str:
    """Name the family that a row belongs to; rows of one name are corrected together.

    Segments of a field never share a family with the overall rows, unless everything is one family.
    """
    result = row.result
    if family == "all":
        return "all"
    pair = f"{result.run_b} vs {result.run_a}"
    name = {"measure": result.metric, "pair": pair, "segment field": f"{result.metric}, {pair}"}[family]
    return name if row.field is None else f"{name} by {row.field}"

"""Which comparisons are corrected together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.comparisons import ComparisonResult
from ranklens.stats.corrections import (
    CORRECTIONS,
    warn_of_coarse_p_values,
    warn_of_few_max_t_flips,
    with_q_values,
)
from ranklens.stats.maxt import MAX_T
from ranklens.stats.options import check_choice, warn_of_coarse_ends
from ranklens.stats.spelling import canonical_measure

FAMILIES = ("measure", "segment field", "pair", "all")


class Row(NamedTuple):
    """A comparison, and the field whose segment it is about (None for an overall row)."""

    result: ComparisonResult
    field: str | None


class MaxT(NamedTuple):
    """Max-T over the rows of an experiment.

    Attributes
    ----------
    adjusted : callable
        From the places of rows to the adjusted p-values that make them one family.
    n_permutations, seed : int
        How many sign flips are drawn for them (0 where all are listed), and from which seed.
    """

    adjusted: Callable[[Sequence[int]], Sequence[float]]
    n_permutations: int
    seed: int


def corrected_table(rows: Sequence[Row], correction: str | None, family: str, max_t: MaxT) -> ComparisonTable:
    """Set the q-values family by family, in the order of `rows`; warn of too coarse p-values and ends."""
    drawn = next((row.result for row in rows if row.result.n_resamples), None)
    if drawn is not None:
        warn_of_coarse_ends(drawn.n_resamples, drawn.alpha, drawn.alternative)
    if correction is None:
        return ComparisonTable([row.result for row in rows], canonical_measure)
    families: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        families.setdefault(family_name(row, family), []).append(i)
    results = [row.result for row in rows]
    if correction == MAX_T:
        for name, members in families.items():
            tested = [i for i in members if results[i].p_value is not None]
            family_text = f"{name} ({size_text(len(tested))})"
            for i, q in zip(tested, max_t.adjusted(tested) if tested else (), strict=True):
                results[i] = _with_max_t(results[i], q, family_text, max_t)
        warn_of_few_max_t_flips(max_t.n_permutations, rows[0].result.alpha if rows else 1.0)
        return ComparisonTable(results, canonical_measure)
    warn_of_coarse_p_values(([results[i] for i in members] for members in families.values()), correction)
    for name, members in families.items():
        adjusted = with_q_values([results[i] for i in members], name, correction)
        for i, result in zip(members, adjusted, strict=True):
            results[i] = result
    return ComparisonTable(results, canonical_measure)


def check_family(correction: str | None, family: str) -> None:
    """Raise ValueError for an unknown correction or family."""
    if correction is not None:
        check_choice("correction", correction, (*CORRECTIONS, MAX_T), or_none=True)
    check_choice("family", family, FAMILIES)


def size_text(n: int) -> str:
    """Return how many comparisons a family has, in words."""
    return f"{n} {'comparison' if n == 1 else 'comparisons'}"


def _with_max_t(result: ComparisonResult, q: float, family: str, max_t: MaxT) -> ComparisonResult:
    # Sampled for itself, a p-value may come out above that of the family.
    q = max(q, result.p_value or 0.0)
    return dataclasses.replace(
        result,
        q_value=q,
        correction=MAX_T,
        family=family,
        q_permutations=max_t.n_permutations,
        q_seed=max_t.seed,
    )


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

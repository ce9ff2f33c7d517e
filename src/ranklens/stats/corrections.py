"""Corrections for having looked at many comparisons."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.comparisons import ComparisonResult, PPIComparison
from ranklens.core.errors import CoarsePValueWarning
from ranklens.core.presentation import counted
from ranklens.core.user_line import warn_user
from ranklens.stats.digits import to_15_digits
from ranklens.stats.options import check_choice
from ranklens.stats.q_values import Q_VALUES, smallest_factor

CORRECTIONS = tuple(Q_VALUES)
"""The corrections by name: Benjamini-Hochberg and Benjamini-Yekutieli (the false discovery rate), Holm (the
chance of any false rejection)."""

Result = TypeVar("Result", ComparisonResult, PPIComparison)


@overload
def adjust(  # type: ignore[overload-overlap]  # a table is an iterable of results too
    results: ComparisonTable, *, correction: str | None = "bh", family: str | None = None
) -> ComparisonTable: ...
@overload
def adjust(
    results: Iterable[Result], *, correction: str | None = "bh", family: str | None = None
) -> tuple[Result, ...]: ...
def adjust(results: Iterable[Any], *, correction: str | None = "bh", family: str | None = None) -> Any:
    """Return the comparisons with the q-values that make all of them one family.

    Comparisons without a p-value (too few queries) take no part and are returned as they are. A
    `CoarsePValueWarning` says when the p-values are Monte-Carlo ones from too few flips for so large a
    family: C comparisons can reject a single effect only if the flips m exceed C / alpha - 1.

    Parameters
    ----------
    results : iterable of ComparisonResult or PPIComparison
        The comparisons of one family, mixed if you like.
    correction : {"bh", "by", "holm", None}
        Benjamini-Hochberg; Benjamini-Yekutieli, which holds under any dependence; Holm, which bounds the
        chance of any false rejection; None changes nothing.
    family : str, optional
        A name for the family, recorded in each `ComparisonResult` with the number of comparisons.

    Returns
    -------
    tuple, or ComparisonTable when `results` is one
        The same comparisons in the same order, with `q_value` set.

    See Also
    --------
    benjamini_hochberg, benjamini_yekutieli, holm : The corrections of plain p-values.

    Examples
    --------
    >>> import ranklens as rl
    >>> a = rl.MetricResult("AP", {f"q{i}": 0.1 for i in range(20)})
    >>> b = rl.MetricResult("AP", {f"q{i}": 0.1 + 0.01 * (i - 2) for i in range(20)})
    >>> up, same = rl.adjust([rl.compare(a, b, method="exact"), rl.compare(a, a, method="exact")])
    >>> up.q_value == 2 * up.p_value, same.q_value
    (True, 1.0)
    """
    rows = _checked_results(results)
    if correction is None:
        return results if isinstance(results, ComparisonTable) else rows
    check_choice("correction", correction, CORRECTIONS)
    warn_of_coarse_p_values([rows], correction)
    adjusted = with_q_values(rows, family, correction)
    return ComparisonTable(adjusted, results.canonical) if isinstance(results, ComparisonTable) else adjusted


def _checked_results(results: Any) -> tuple[Any, ...]:
    if not isinstance(results, Iterable):
        raise TypeError(f"results must be a sequence of comparisons, got {type(results).__name__}")
    rows = tuple(results)
    for row in rows:
        if not isinstance(row, (ComparisonResult, PPIComparison)):
            raise TypeError(
                f"results must be comparisons, got {row!r}; plain p-values take benjamini_hochberg, "
                "benjamini_yekutieli or holm"
            )
    return rows


def with_q_values(
    rows: Sequence[Result], family: str | None = None, correction: str = "bh"
) -> tuple[Result, ...]:
    """Set the q-values of one family, without any warning."""
    tested = [i for i, row in enumerate(rows) if row.p_value is not None]
    q_values = Q_VALUES[correction]([_p(rows[i]) for i in tested])
    adjusted = list(rows)
    size = counted(len(tested), "comparison")
    name = size if family is None else f"{family} ({size})"
    for i, q in zip(tested, q_values, strict=True):
        changes: dict[str, Any] = {"q_value": q}
        if isinstance(rows[i], ComparisonResult):
            changes |= {"correction": correction, "family": name, "q_permutations": None, "q_seed": None}
        adjusted[i] = _replaced(rows[i], changes)
    return tuple(adjusted)


@functools.cache
def _fields(kind: Any) -> tuple[dict[str, int], Callable[[Any], tuple[Any, ...]]]:
    """Return the places of the fields of a kind of comparison, and what takes the values of a row."""
    names = [field.name for field in dataclasses.fields(kind)]
    return {name: i for i, name in enumerate(names)}, operator.attrgetter(*names)


def _replaced(row: Any, changes: Mapping[str, Any]) -> Any:
    """Do what `dataclasses.replace` does, which looks at every field of every row."""
    kind: Any = type(row)
    places, values_of = _fields(kind)
    values = [*values_of(row)]
    for name, value in changes.items():
        values[places[name]] = value
    return kind(*values)


def warn_of_coarse_p_values(families: Iterable[Sequence[Any]], correction: str = "bh") -> None:
    """Warn once if some family is too large for its Monte-Carlo p-values to reject a lone effect.

    The smallest p-value of m flips is 1 / (m + 1) and becomes C / (m + 1) among C comparisons (times the
    C-th harmonic number for Benjamini-Yekutieli).
    """
    worst = (0, 0, 0.05)
    for rows in families:
        tested = [row for row in rows if row.p_value is not None]
        flips = [row for row in tested if getattr(row, "n_permutations", 0) > 0]
        for row in flips:
            needed = flips_needed(len(tested), row.alpha, correction)
            if row.n_permutations < needed and needed > flips_needed(worst[0], worst[2], correction):
                worst = (len(tested), row.n_permutations, row.alpha)
    if worst[0]:
        n, flips_made, alpha = worst
        drawn = counted(flips_made, "sign flip")
        warn_user(
            f"{counted(n, 'comparison')} in one family and {drawn} each: a lone effect cannot reach "
            f"q < {alpha:g}, whatever its size; that needs n_permutations of at least "
            f'{flips_needed(n, alpha, correction)}, or method="exact"',
            CoarsePValueWarning,
        )


def warn_of_few_max_t_flips(n_permutations: int, alpha: float) -> None:
    """Warn if max-T's q-values, which m drawn flips keep at or above 1 / (m + 1), cannot go below alpha."""
    needed = flips_needed(1, alpha)
    if 0 < n_permutations < needed:
        flips = counted(n_permutations, "sign flip")
        warn_user(
            f"max-T draws {flips} for its q-values, exact p-values or not: none can reach q < {alpha:g}; "
            f"that needs n_permutations of at least {needed}",
            CoarsePValueWarning,
        )


@functools.lru_cache(maxsize=64)
def flips_needed(n_comparisons: int, alpha: float, correction: str = "bh") -> int:
    """Return the smallest number of flips m whose smallest p-value can survive among `n_comparisons`.

    ``m > n_comparisons / alpha - 1`` for Benjamini-Hochberg and Holm.

    Examples
    --------
    >>> flips_needed(10_000, 0.05), flips_needed(2, 0.05, "by")
    (200000, 60)
    """
    return math.floor(to_15_digits(smallest_factor(correction, n_comparisons) / alpha))


def _p(row: Any) -> float:
    return float(row.p_value)

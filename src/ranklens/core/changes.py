"""What changed between two models, from the measure down to the features."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklens.core import frames
from ranklens.core.errors import UnknownNameError
from ranklens.core.explanations import ranked, signed
from ranklens.core.per_query import MetricResult
from ranklens.core.presentation import Presentable, fixed, html_table

SHOWN = 10
"""Queries, swaps and features that a printed change shows."""

_SHOWN_PARTS = 3


@dataclass(frozen=True, slots=True, repr=False)
class Swap(Presentable):
    """Two documents that changed places.

    Attributes
    ----------
    query_id, risen, fallen : str
        Document `risen` rose above document `fallen`.
    grade_risen, grade_fallen : float or None
        None where there is no judgement.
    rank : int
        The rank that `risen` took, from 1, when the swap happened.
    share : float
        What the swap moved the measure by.
    features : mapping of name to float, or None
        The part of the share that each feature made; they sum to the share. None where it was not explained.
    """

    query_id: str
    risen: str
    fallen: str
    grade_risen: float | None
    grade_fallen: float | None
    rank: int
    share: float
    features: Mapping[str, float] | None

    def __str__(self) -> str:
        text = (
            f"{self.query_id}: {self.risen} ({_graded(self.grade_risen)}) rose above "
            f"{self.fallen} ({_graded(self.grade_fallen)}) to rank {self.rank}: {_signed(self.share)}"
        )
        listed = _parts(self)
        return f"{text} ({listed})" if listed else text


@dataclass(frozen=True, eq=False, repr=False)
class ModelChange:
    """Why a measure differs between two models.

    Attributes
    ----------
    measure : str
        The measure's canonical name.
    before, after, change : MetricResult
        The measure of A's and B's rankings, and the difference, by query.
    swaps : tuple of Swap
        The swaps that moved the measure, largest share first. Those of a query sum to its change.
    features : mapping of name to MetricResult
        What each feature moved the measure by, by query.
    n_swaps : int
        All swaps, those without an effect included.
    """

    measure: str
    before: MetricResult
    after: MetricResult
    change: MetricResult
    swaps: tuple[Swap, ...]
    features: Mapping[str, MetricResult]
    n_swaps: int

    @property
    def importances(self) -> dict[str, float]:
        """What each feature moved the measure by, mean over the queries."""
        return {name: result.mean for name, result in self.features.items()}

    @property
    def unexplained(self) -> float:
        """The part of the mean change that comes from swaps which are not split among the features."""
        rest = math.fsum(swap.share for swap in self.swaps if swap.features is None)
        return rest / self.change.n_queries

    @property
    def n_explained(self) -> int:
        """How many of `swaps` are split among the features."""
        return sum(swap.features is not None for swap in self.swaps)

    def ranked(self) -> tuple[tuple[str, float], ...]:
        """Return (feature, mean effect) by absolute size, largest first, ties by name."""
        return ranked(self.importances)

    def moved(self) -> tuple[tuple[str, float], ...]:
        """Return (query, change) of the queries that changed, by absolute size, largest first."""
        return tuple(item for item in ranked(dict(self.change.per_query)) if item[1] != 0.0)

    def swaps_of(self, query: str) -> tuple[Swap, ...]:
        """Return the swaps of one query, largest share first; none where it did not change.

        Raises
        ------
        UnknownNameError
            When there is no such query.
        """
        if query not in self.change.per_query:
            raise UnknownNameError("query", query, self.change.per_query)
        return tuple(swap for swap in self.swaps if swap.query_id == query)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, fit for JSON."""
        return {
            "measure": self.measure,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "change": self.change.to_dict(),
            "swaps": [swap.to_dict() for swap in self.swaps],
            "features": self.importances,
            "unexplained": self.unexplained,
            "n_swaps": self.n_swaps,
            "n_explained": self.n_explained,
        }

    def to_frame(self, kind: str = "swaps", library: str | None = None) -> Any:
        """Return a frame of the ``"swaps"``, the ``"queries"`` or the ``"features"``.

        Raises
        ------
        UnknownNameError
            For another kind.
        """
        tables = {
            "swaps": self._swap_columns,
            "queries": self._query_columns,
            "features": self._feature_columns,
        }
        if kind not in tables:
            raise UnknownNameError("kind", kind, tables)
        return frames.to_frame(tables[kind](), library)

    def plot(self, axes: Any = None, *, n: int = 20) -> Any:
        """Draw what the `n` most effective features did as bars, and return the axes (of matplotlib)."""
        from ranklens.core.pictures import bars

        return bars(self.ranked()[:n], f"{self.measure} change", axes)

    def _query_columns(self) -> dict[str, list[Any]]:
        order = [query for query, _ in ranked(dict(self.change.per_query))]
        before, after, change = self.before.per_query, self.after.per_query, self.change.per_query
        return {
            "query": order,
            "before": [before[query] for query in order],
            "after": [after[query] for query in order],
            "change": [change[query] for query in order],
        }

    def _swap_columns(self) -> dict[str, list[Any]]:
        names = [name for name in Swap.__slots__ if name != "features"]
        return {name: [getattr(swap, name) for swap in self.swaps] for name in names}

    def _feature_columns(self) -> dict[str, list[Any]]:
        found = self.ranked()
        return {
            "feature": [name for name, _ in found],
            f"{self.measure} change": [value for _, value in found],
            "n_queries": [int(np.count_nonzero(self.features[name].values)) for name, _ in found],
        }

    def _headline(self) -> str:
        values = self.change.values
        rose, fell = int((values > 0.0).sum()), int((values < 0.0).sum())
        return (
            f"{self.measure} {fixed(self.before.mean)} → {fixed(self.after.mean)}, change "
            f"{_signed(self.change.mean)} over {_counted(len(values), 'query')}: {rose} rose, {fell} fell, "
            f"{len(values) - rose - fell} stayed"
        )

    def __str__(self) -> str:
        moved, found = self.moved(), self.ranked()
        lines = [self._headline()]
        if moved:
            listed = ", ".join(f"{query} {_signed(value)}" for query, value in moved[:SHOWN])
            lines.append(f"queries: {listed}{_more(len(moved))}")
        lines.append(
            f"{_counted(self.n_swaps, 'swap')} of documents, {len(self.swaps)} with an effect on the measure"
            f"{':' if self.swaps else ''}"
        )
        lines += [str(swap) for swap in self.swaps[:SHOWN]]
        if len(self.swaps) > SHOWN:
            lines.append(f"and {len(self.swaps) - SHOWN} smaller ones")
        lines.append("features, mean over the queries:")
        lines += [f"{name} {_signed(value)}" for name, value in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"and {len(found) - SHOWN} smaller ones")
        if self.n_explained < len(self.swaps):
            rest = len(self.swaps) - self.n_explained
            lines.append(
                f"{_signed(self.unexplained)} comes from {rest} smaller swaps that were not explained"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ModelChange: {self._headline()}>"

    def _repr_html_(self) -> str:
        swaps = self._swap_columns() | {"features": [_parts(swap) for swap in self.swaps]}
        tables = {
            "Queries": self._query_columns(),
            "Swaps of documents": swaps,
            "Features": self._feature_columns(),
        }
        parts = [f"<p>{html.escape(self._headline())}</p>"]
        for caption, columns in tables.items():
            rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            shown = f", the first {SHOWN} of {len(rows)}" if len(rows) > SHOWN else ""
            parts.append(f"<p>{caption}{shown}</p>{html_table(rows[:SHOWN])}")
        return "".join(parts)


def _parts(swap: Swap) -> str:
    """List the features that did most for a swap, or against it."""
    parts = [(name, value) for name, value in ranked(swap.features or {}) if value != 0.0][:_SHOWN_PARTS]
    return ", ".join(f"{name} {_signed(value)}" for name, value in parts)


def _signed(value: float) -> str:
    return signed(value, 4)


def _graded(grade: float | None) -> str:
    return "not judged" if grade is None else f"grade {grade:g}"


def _more(n: int) -> str:
    return f", and {n - SHOWN} more" if n > SHOWN else ""


def _counted(n: int, what: str) -> str:
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{n} {what if n == 1 else plural}"

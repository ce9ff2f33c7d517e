"""How much features contribute to a measure of rankings, by query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core import frames
from ranklens.core.errors import UnknownNameError
from ranklens.core.explanations import ranked, signed
from ranklens.core.per_query import MetricResult, QueryIndex
from ranklens.core.presentation import fixed, html_table

SHOWN = 20
"""Features that a printed importance shows."""


@dataclass(frozen=True, eq=False, repr=False)
class ListwiseImportance(Mapping[str, MetricResult]):
    """The drop of a measure when a feature (or group) is shuffled, a `MetricResult` for each.

    ``found["price"]`` is the result of one feature, ``found["bm25+bm25_title"]`` that of a group, in any
    order of its members. All bear the same metric name, so that `ranklens.compare` takes any two of them.

    Attributes
    ----------
    measure : str
        The measure's canonical name.
    results : mapping of name to MetricResult
        In the order of the features.
    baseline : MetricResult
        The measure of the original rankings.
    groups : tuple of tuples of str
        The features that were shuffled as one.
    n_repeats, seed : int
        What reproduces the shuffles.
    n_model_rows, n_model_calls : int
        What the model was asked.
    """

    measure: str
    results: Mapping[str, MetricResult]
    baseline: MetricResult
    groups: tuple[tuple[str, ...], ...]
    n_repeats: int
    seed: int
    n_model_rows: int
    n_model_calls: int

    @classmethod
    def of(
        cls,
        *,
        measure: str,
        names: Sequence[str],
        groups: tuple[tuple[str, ...], ...],
        query_ids: QueryIndex,
        baseline: NDArray[np.float64],
        drops: NDArray[np.float64],
        n_repeats: int,
        seed: int,
        n_model_rows: int,
        n_model_calls: int,
    ) -> ListwiseImportance:
        """Make the result of arrays: `baseline` of shape (queries,), `drops` of shape (names, queries)."""
        metric = f"{measure} drop"
        results = {
            name: MetricResult.from_arrays(metric, query_ids, row)
            for name, row in zip(names, drops, strict=True)
        }
        return cls(
            measure,
            results,
            MetricResult.from_arrays(measure, query_ids, baseline),
            groups,
            n_repeats,
            seed,
            n_model_rows,
            n_model_calls,
        )

    def __getitem__(self, name: str) -> MetricResult:
        if name in self.results:
            return self.results[name]
        members = frozenset(name.split("+"))
        for group in self.groups:
            if frozenset(group) == members:
                return self.results["+".join(group)]
        raise UnknownFeatureError("feature or group", name, self.results)

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def importances(self) -> dict[str, float]:
        """The mean drop of each feature or group."""
        return {name: result.mean for name, result in self.results.items()}

    def ranked(self) -> tuple[tuple[str, float], ...]:
        """Return (name, importance) by absolute size, largest first, ties by name."""
        return ranked(self.importances)

    def n_moved(self, name: str) -> int:
        """Return in how many queries shuffling changed the measure."""
        return int(np.count_nonzero(self[name].values))

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, fit for JSON."""
        return {
            "measure": self.measure,
            "baseline": self.baseline.to_dict(),
            "n_queries": self.baseline.n_queries,
            "importances": self.importances,
            "per_query": {name: dict(result.per_query) for name, result in self.results.items()},
            "groups": [list(group) for group in self.groups],
            "n_repeats": self.n_repeats,
            "seed": self.seed,
            "n_model_rows": self.n_model_rows,
            "n_model_calls": self.n_model_calls,
        }

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with a row a feature or group, largest first (see `ranklens.core.frames`)."""
        return frames.to_frame(self._columns(), library)

    def plot(self, axes: Any = None, *, n: int = SHOWN) -> Any:
        """Draw the `n` largest importances as bars, and return the axes (of matplotlib)."""
        from ranklens.core.pictures import bars

        return bars(self.ranked()[:n], f"{self.measure} drop", axes)

    def _columns(self) -> dict[str, list[Any]]:
        names = [name for name, _ in self.ranked()]
        return {
            "feature": names,
            f"{self.measure} drop": [self.results[name].mean for name in names],
            "n_moved": [self.n_moved(name) for name in names],
            "n_queries": [self.baseline.n_queries] * len(names),
        }

    def __str__(self) -> str:
        n_queries = _counted(self.baseline.n_queries)
        lines = [
            f"{self.measure} {fixed(self.baseline.mean)} over {n_queries}; its drop when a feature is "
            f"shuffled within the queries ({self.n_repeats} repeats):"
        ]
        for name, value in self.ranked()[:SHOWN]:
            lines.append(f"{name} {signed(value, 4)} (moved {_counted(self.n_moved(name))})")
        if len(self) > SHOWN:
            lines.append(f"and {len(self) - SHOWN} smaller ones")
        return "\n".join(lines)

    def __repr__(self) -> str:
        top = ", ".join(f"{name} {signed(value, 4)}" for name, value in self.ranked()[:3])
        more = ", …" if len(self) > 3 else ""
        return f"<ListwiseImportance of {self.measure}: {top}{more}>"

    def _repr_html_(self) -> str:
        columns = self._columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return html_table(rows[:SHOWN])


class UnknownFeatureError(UnknownNameError, KeyError):
    """A name that is neither a feature nor a group of these importances."""

    __str__ = Exception.__str__


def _counted(n: int) -> str:
    return f"{n} quer{'y' if n == 1 else 'ies'}"

"""Which queries are gold, which have proxy values only, stratum by stratum."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.core.errors import DataWarning, InsufficientSampleError
from ranklens.core.per_query import MetricResult, QueryId
from ranklens.core.user_line import warn_user
from ranklens.stats.by_query import by_query
from ranklens.stats.paired import paired_values
from ranklens.stats.ppi.estimate import Sample


class Judged(NamedTuple):
    """The queries that both runs have under one kind of judgements, and their values, shape (n,)."""

    queries: tuple[QueryId, ...]
    a: NDArray[np.float64]
    b: NDArray[np.float64]

    def scaled(self, exponent: int) -> Judged:
        """Return the values times 2^`exponent`."""
        return Judged(self.queries, np.ldexp(self.a, exponent), np.ldexp(self.b, exponent))


@dataclass(frozen=True, slots=True)
class OneSided:
    """The queries that have values of one run only, under each kind of judgements."""

    proxy_a: frozenset[QueryId]
    proxy_b: frozenset[QueryId]
    gold_a: frozenset[QueryId]
    gold_b: frozenset[QueryId]

    @classmethod
    def of(
        cls, proxy: tuple[MetricResult, MetricResult], gold: tuple[MetricResult, MetricResult]
    ) -> OneSided:
        """Find them in the results of run A and run B."""
        found = []
        for a, b in (proxy, gold):
            in_a, in_b = frozenset(a.per_query), frozenset(b.per_query)
            found += [in_a - in_b, in_b - in_a]
        return cls(*found)

    def warn(self) -> None:
        """Give a `DataWarning` with the counts, if there are any."""
        kinds = (
            ("proxy", self.proxy_a, self.proxy_b, "left out"),
            ("gold", self.gold_a, self.gold_b, "not counted as gold"),
        )
        said = [
            f"{kind} values of one run only are {fate} (queries: {len(a)} of A, {len(b)} of B)"
            for kind, a, b, fate in kinds
            if a or b
        ]
        if said:
            warn_user("; ".join(said) + "; measure both runs on the same queries", DataWarning)


def judged(a: MetricResult, b: MetricResult, names: tuple[str, str]) -> Judged:
    """Pair the results of run A and run B by query."""
    return Judged(*paired_values(a, b, names))


def check_covered(gold: Sequence[QueryId], proxy: Sequence[QueryId]) -> None:
    """Raise a ValueError that names a gold query without proxy values."""
    uncovered = sorted(set(gold).difference(proxy), key=str)
    if uncovered:
        raise ValueError(
            f"gold query {uncovered[0]!r} has no proxy value in both runs ({len(uncovered)} such "
            f"{'query' if len(uncovered) == 1 else 'queries'}); judge the gold queries by the proxy too"
        )


def check_enough(
    label: Hashable, n_gold: int, lam: float | None, reference: str, *, stratified: bool
) -> None:
    """Raise InsufficientSampleError where the gold queries (of a stratum) are too few."""
    minimum = 3 if reference == "t" and lam is None else 2
    if n_gold < minimum:
        unit = f"gold queries in stratum {label!r}" if stratified else "gold queries"
        raise InsufficientSampleError(n_gold, minimum, unit=unit)


def samples_of(
    gold: Judged, proxy: Judged, strata: Mapping[QueryId, Hashable] | None
) -> dict[Hashable, Sample]:
    """Return the sample of each stratum, by label; a single one without strata."""
    if strata is not None:
        strata = by_query("strata", strata)
    labels = [_stratum(query, strata) for query in proxy.queries]
    position = {query: i for i, query in enumerate(gold.queries)}
    in_gold = np.array([query in position for query in proxy.queries], dtype=bool)
    samples = {}
    for label in sorted(set(labels), key=str):
        inside = np.array([other == label for other in labels], dtype=bool)
        covered = np.flatnonzero(inside & in_gold)
        rows = [position[proxy.queries[i]] for i in covered.tolist()]
        rest = inside & ~in_gold
        samples[label] = Sample(
            gold_a=gold.a[rows],
            gold_b=gold.b[rows],
            proxy_a=proxy.a[covered],
            proxy_b=proxy.b[covered],
            only_a=proxy.a[rest],
            only_b=proxy.b[rest],
        )
    return samples or {"": Sample(*(np.empty(0) for _ in range(6)))}


def _stratum(query: QueryId, strata: Mapping[QueryId, Hashable] | None) -> Hashable:
    if strata is None:
        return ""
    if query not in strata:
        raise ValueError(
            f"strata gives no stratum for query {query!r}; every query with proxy values needs one"
        )
    return strata[query]

"""Rank-biased overlap: how much two rankings agree, without judgements."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranklens.core import DataError
from ranklens.core.presentation import Presentable, fixed

Ranking = Sequence[Any] | Mapping[Any, float]
_Groups = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True, repr=False)
class RBO(Presentable):
    """The rank-biased overlap of two rankings; ``float()`` gives the extrapolated value.

    Attributes
    ----------
    ext : float
        RBO_ext: the agreement that was seen is taken to go on below the ends of the rankings.
    lower : float
        RBO_min: the value if nothing below the ends agreed.
    residual : float
        RBO_res: how much agreement below the ends could add; `upper` is the sum of the two.
    p : float
        The persistence of the user.
    """

    ext: float
    lower: float
    residual: float
    p: float

    @property
    def upper(self) -> float:
        """The value if all below the ends agreed as far as it can."""
        return self.lower + self.residual

    def __float__(self) -> float:
        return self.ext

    def __str__(self) -> str:
        return f"RBO {fixed(self.ext)} (between {fixed(self.lower)} and {fixed(self.upper)}, p {self.p:g})"


def rbo(ranking_a: Ranking, ranking_b: Ranking, p: float = 0.9) -> RBO:
    """Compare two rankings of items, which may have different lengths and ties.

    With A_d the agreement of the top d of both, ``RBO = (1 - p) Σ_d A_d p^(d - 1)``. Items tied at rank i
    all count from depth i on, and ``A_d = 2 |S_d ∩ L_d| / (|S_d| + |L_d|)``. For a short ranking of s items
    and a long one of l, RBO_ext lets the short one's unseen items agree at the rate A_s down to depth l, and
    everything agree below it at the rate reached there.

    Parameters
    ----------
    ranking_a, ranking_b : sequence or mapping
        Items from the top; a list, tuple or set among them is a group of tied items. Or a mapping from item
        to score, where equal scores tie.
    p : float
        Persistence, between 0 and 1 (excluded): the weight of depth d is (1 - p) p^(d - 1).

    Raises
    ------
    DataError
        When a ranking is empty, or has an item twice.

    References
    ----------
    Webber, Moffat and Zobel, A similarity measure for indefinite rankings, ACM TOIS 28(4), 2010.

    Examples
    --------
    >>> print(rbo(["x", "y", "z"], ["x", "z", "y"], p=0.5))
    RBO 0.8750 (between 0.8294 and 0.8750, p 0.5)
    >>> rbo({"x": 2.0, "y": 1.0, "z": 1.0}, ["x", ["y", "z"]]).ext
    1.0
    """
    if not 0 < p < 1:
        raise ValueError(f"p must lie between 0 and 1, both excluded, got {p}")
    groups = [_groups(ranking_a, "ranking_a"), _groups(ranking_b, "ranking_b")]
    short, long = sorted(groups, key=lambda ranking: sum(map(len, ranking)))
    overlaps, sizes = _overlaps(short, long)
    s = sum(map(len, short))
    return _summed(overlaps, sizes, s, p)


def _groups(ranking: Ranking, argument: str) -> _Groups:
    if isinstance(ranking, Mapping):
        by_score: dict[float, list[Any]] = {}
        for item, score in ranking.items():
            by_score.setdefault(float(score), []).append(item)
        if any(math.isnan(score) for score in by_score):
            raise DataError(f"{argument} has a score that is not a number; remove the item or score it")
        groups = [tuple(by_score[score]) for score in sorted(by_score, reverse=True)]
    else:
        if isinstance(ranking, str):
            raise TypeError(f"{argument} must be a sequence of items, got the text {ranking!r}")
        groups = [_tied(item) for item in ranking]
    items = [item for group in groups for item in group]
    if not items:
        raise DataError(f"{argument} is empty; rank-biased overlap needs at least one item on each side")
    seen: set[Any] = set()
    for item in items:
        if item in seen:
            raise DataError(f"{argument} has the item {item!r} twice; keep one of them")
        seen.add(item)
    return groups


def _tied(item: Any) -> tuple[Any, ...]:
    if isinstance(item, Collection) and not isinstance(item, (str, bytes)):
        return tuple(item)
    return (item,)


def _overlaps(short: _Groups, long: _Groups) -> tuple[list[int], list[tuple[int, int]]]:
    """Return, for each depth of the long ranking, the common items and the items of both (short, long)."""
    tops: tuple[set[Any], set[Any]] = (set(), set())
    arriving = [_arrivals(short), _arrivals(long)]
    overlaps, sizes, common = [], [], 0
    for depth in range(1, sum(map(len, long)) + 1):
        for side in (0, 1):
            for item in arriving[side].get(depth, ()):
                tops[side].add(item)
                common += item in tops[1 - side]
        overlaps.append(common)
        sizes.append((len(tops[0]), len(tops[1])))
    return overlaps, sizes


def _arrivals(groups: _Groups) -> dict[int, tuple[Any, ...]]:
    arrivals, depth = {}, 1
    for group in groups:
        if group:
            arrivals[depth] = group
            depth += len(group)
    return arrivals


def _summed(overlaps: list[int], sizes: list[tuple[int, int]], s: int, p: float) -> RBO:
    deepest, common = len(overlaps), overlaps[-1]
    agreement = overlaps[s - 1] * 2 / sum(sizes[s - 1])
    ext, low, high = [], [], []
    for depth, (overlap, (of_short, of_long)) in enumerate(zip(overlaps, sizes, strict=True), start=1):
        unseen = max(0, depth - s)
        weight = (1 - p) * p ** (depth - 1) * 2 / (of_short + unseen + of_long)
        ext.append(weight * (overlap + agreement * unseen))
        low.append(weight * overlap)
        high.append(weight * (overlap + unseen))
    ext.append(p**deepest * (common + agreement * (deepest - s)) / deepest)
    low.append(common * _tail(deepest, p))
    # Below both ends two items more can agree at each depth, until all do.
    full = s + deepest - common
    high += [
        (1 - p) * p ** (depth - 1) * (common + 2 * depth - s - deepest) / depth
        for depth in range(deepest + 1, full + 1)
    ]
    high.append(p**full)
    lower = math.fsum(low)
    return RBO(math.fsum(ext), lower, max(0.0, math.fsum(high) - lower), p)


def _tail(deepest: int, p: float) -> float:
    """Return (1 - p) Σ p^(d - 1) / d over all depths d below `deepest`."""
    seen = math.fsum(p**d / d for d in range(1, deepest + 1))
    return max(0.0, (1 - p) / p * (-math.log1p(-p) - seen))

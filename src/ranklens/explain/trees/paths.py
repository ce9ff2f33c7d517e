"""The conditions of every path from a root to a leaf, merged so that each feature has one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.explain.trees.codes import WORD_BITS, Coding
from ranklens.explain.trees.numbering import NAN_CODE
from ranklens.explain.trees.tree import NO_FEATURE, ZERO_IS_ORDINARY, Nodes
from ranklens.explain.trees.unsupported import UnsupportedTreesError

LONGEST_PATH = 1023
"""More features than any path asks; the table of payments has its square for a size."""

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Paths:
    """What leads to each leaf: one condition for each of at most `width` features.

    A condition accepts the codes from `low` to `high`, and the special codes whose bit is set in `special`.

    Attributes
    ----------
    feature : int array, shape (leaves, width)
        Places among the coded features; -1 fills up.
    low, high : int array, shape (leaves, width)
    special : uint64 array, shape (leaves, width, words)
    value : float array, shape (leaves,)
        What the leaf adds more than one leaf of its tree that is left out.
    """

    feature: Ints
    low: Ints
    high: Ints
    special: Words
    value: NDArray[np.float64]

    def __getitem__(self, rows: NDArray[np.generic]) -> Paths:
        return Paths(
            self.feature[rows], self.low[rows], self.high[rows], self.special[rows], self.value[rows]
        )

    @property
    def length(self) -> Ints:
        """The number of conditions of each leaf."""
        return np.asarray(np.count_nonzero(self.feature != NO_FEATURE, axis=1))


@dataclass(frozen=True)
class Branching:
    """Each node in codes: its feature's place, the last code that goes left, the special ones that do."""

    feature: Ints
    last_left: Ints
    special_left: Words


def branching_of(nodes: Nodes, coding: Coding) -> Branching:
    """Express the nodes in codes."""
    place = np.full(int(nodes.feature.max(initial=0)) + 2, NO_FEATURE, dtype=np.int64)
    place[[feature.column for feature in coding.features]] = np.arange(len(coding.features))
    feature = place[nodes.feature]
    last = np.zeros(feature.shape, dtype=np.int64)
    special = np.zeros((feature.size, coding.n_words), dtype=np.uint64)
    for index, codes in enumerate(coding.features):
        at = np.flatnonzero(feature == index)
        if codes.categories.size:
            # No ordinary code goes left: that of all other categories goes right.
            last[at] = codes.n_special - 1
            continue
        last[at] = codes.n_special + np.searchsorted(codes.thresholds, nodes.threshold[at])
        zero_left = nodes.zero_left[at]
        zero = np.where(zero_left == ZERO_IS_ORDINARY, nodes.threshold[at] >= 0.0, zero_left == 1)
        special[at, 0] |= np.where(zero & codes.zero, np.uint64(2), np.uint64(0))
    _add_categories(special, nodes, feature, coding)
    special[:, 0] |= np.where(nodes.nan_left, np.uint64(1 << NAN_CODE), np.uint64(0))
    return Branching(feature, last, special)


def _add_categories(special: Words, nodes: Nodes, feature: Ints, coding: Coding) -> None:
    for node, members in nodes.categories.items():
        listed = coding.features[feature[node]].categories
        for code in (1 + np.searchsorted(listed, np.asarray(members, dtype=np.float64))).tolist():
            special[node, code // WORD_BITS] |= np.uint64(1 << (code % WORD_BITS))


def merged_paths(nodes: Nodes, coding: Coding, branching: Branching) -> Paths:
    """Walk all trees down together, level by level, and merge conditions on the way.

    Leaves that no value reaches are left out. The values are those above one leaf of each tree, which is left
    out as well: a constant moves no contribution, and a leaf of few conditions is one that many rows reach.
    """
    width, words = 1, coding.n_words
    node = nodes.roots
    shape = (node.size, width)
    walk = Paths(
        feature=np.full(shape, NO_FEATURE, dtype=np.int64),
        low=np.zeros(shape, dtype=np.int64),
        high=np.zeros(shape, dtype=np.int64),
        special=np.zeros((*shape, words), dtype=np.uint64),
        value=np.zeros(node.size),
    )
    finished = []
    base = np.full(nodes.roots.size, np.nan)
    while node.size:
        leaf = branching.feature[node] == NO_FEATURE
        finished.append(_with_values(walk[leaf], _above_base(node[leaf], nodes, base)))
        node, walk = node[~leaf], walk[~leaf]
        if node.size:
            node, walk = _one_level(node, walk, nodes, coding, branching)
    return _trimmed(_stacked(finished, words))


def _one_level(
    node: Ints, walk: Paths, nodes: Nodes, coding: Coding, branching: Branching
) -> tuple[Ints, Paths]:
    feature = branching.feature[node]
    same = walk.feature == feature[:, None]
    known = same.any(axis=1)
    slot = np.where(known, same.argmax(axis=1), walk.length)
    if slot.max() == walk.feature.shape[1]:
        walk = _widened(walk)
    row = np.arange(node.size)
    low = np.where(known, walk.low[row, slot], coding.n_special[feature])
    high = np.where(known, walk.high[row, slot], coding.n_codes[feature] - 1)
    special = np.where(known[:, None], walk.special[row, slot], coding.every_special[feature])
    last, special_left = branching.last_left[node], branching.special_left[node]
    left = _narrowed(walk, slot, feature, low, np.minimum(high, last), special & special_left)
    right = _narrowed(walk, slot, feature, np.maximum(low, last + 1), high, special & ~special_left)
    nexts, walks = [nodes.left[node], nodes.right[node]], [left, right]
    reached = [_reachable(side, slot) for side in walks]
    both = [side[keep] for side, keep in zip(walks, reached, strict=True)]
    ends = np.concatenate([child[keep] for child, keep in zip(nexts, reached, strict=True)])
    return ends, _stacked(both, special.shape[1])


def _narrowed(walk: Paths, slot: Ints, feature: Ints, low: Ints, high: Ints, special: Words) -> Paths:
    row = np.arange(slot.size)
    copy = Paths(walk.feature.copy(), walk.low.copy(), walk.high.copy(), walk.special.copy(), walk.value)
    copy.feature[row, slot] = feature
    copy.low[row, slot] = low
    copy.high[row, slot] = high
    copy.special[row, slot] = special
    return copy


def _reachable(walk: Paths, slot: Ints) -> NDArray[np.bool_]:
    row = np.arange(slot.size)
    return (walk.low[row, slot] <= walk.high[row, slot]) | walk.special[row, slot].any(axis=1)


def _widened(walk: Paths) -> Paths:
    n, width = walk.feature.shape
    return Paths(
        feature=np.concatenate([walk.feature, np.full((n, width), NO_FEATURE, dtype=np.int64)], axis=1),
        low=np.concatenate([walk.low, np.zeros_like(walk.low)], axis=1),
        high=np.concatenate([walk.high, np.zeros_like(walk.high)], axis=1),
        special=np.concatenate([walk.special, np.zeros_like(walk.special)], axis=1),
        value=walk.value,
    )


def _above_base(ends: Ints, nodes: Nodes, base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract from leaves the value of the first leaf of their tree, which is noted in `base`."""
    tree = np.searchsorted(nodes.roots, ends, side="right") - 1
    first = np.flatnonzero(np.isnan(base[tree]))
    _, unique = np.unique(tree[first], return_index=True)
    first = first[unique]
    base[tree[first]] = nodes.value[ends[first]]
    return np.asarray(nodes.value[ends] - base[tree])


def _with_values(walk: Paths, value: NDArray[np.float64]) -> Paths:
    ends = Paths(walk.feature, walk.low, walk.high, walk.special, value)
    return ends[value != 0.0]


def _trimmed(walk: Paths) -> Paths:
    width = max(1, int(walk.length.max(initial=0)))
    if width > LONGEST_PATH:
        raise UnsupportedTreesError(f"a path asks {width} features, more than {LONGEST_PATH}")
    return Paths(
        walk.feature[:, :width],
        walk.low[:, :width],
        walk.high[:, :width],
        walk.special[:, :width],
        walk.value,
    )


def _stacked(parts: list[Paths], words: int) -> Paths:
    width = max((part.feature.shape[1] for part in parts), default=1)
    even = []
    for part in parts:
        while part.feature.shape[1] < width:
            part = _widened(part)
        even.append(part)
    return Paths(
        *(
            np.concatenate([getattr(part, name) for part in even])
            for name in ("feature", "low", "high", "special", "value")
        )
    )

"""A sum of decision trees: its scores, and what its explanation needs."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.explain.trees.codes import WORD_BITS, Coding, coding_of
from ranklens.explain.trees.layout import Block, blocks_of
from ranklens.explain.trees.on_host import HostBlock, host_block
from ranklens.explain.trees.paths import Branching, Paths, branching_of, merged_paths
from ranklens.explain.trees.reading import Reading
from ranklens.explain.trees.scratch import ScratchPool
from ranklens.explain.trees.tree import NO_FEATURE, Nodes, Tree, joined

_ROWS_AT_ONCE = 1024
# A row's temporaries: for each tree the node, what it looks at and where it goes; for each feature the code.
_NODE_BYTES = 96
_CODE_BYTES = 24


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """A score that is a constant plus what one leaf of each tree adds.

    Attributes
    ----------
    nodes : Nodes
        The nodes of all trees.
    n_features : int
        Columns of the model's rows, used or not.
    offset : float
        The constant.
    single : bool
        Whether the model rounds its input to float32 before it compares.
    missing : float
        A number that the model takes for a missing value, as it does NaN; NaN where there is none.
    downwards : bool
        Whether no number below zero is a category; else those above -1 are category 0.

    Examples
    --------
    >>> import numpy as np
    >>> stump = Tree(
    ...     feature=np.asarray([2, -1, -1]),
    ...     threshold=np.asarray([0.5, 0.0, 0.0]),
    ...     left=np.asarray([1, 0, 0]),
    ...     right=np.asarray([2, 0, 0]),
    ...     value=np.asarray([0.0, 2.0, 7.0]),
    ...     nan_left=np.asarray([True, False, False]),
    ... )
    >>> TreeEnsemble.of([stump], 3).scores(np.asarray([[0.0, 0.0, 0.5], [0.0, 0.0, 0.9]]))
    array([2., 7.])
    """

    nodes: Nodes
    n_features: int
    offset: float = 0.0
    single: bool = False
    missing: float = math.nan
    downwards: bool = False

    @classmethod
    def of(
        cls,
        trees: Iterable[Tree],
        n_features: int,
        *,
        offset: float = 0.0,
        single: bool = False,
        downwards: bool = False,
    ) -> TreeEnsemble:
        """Join parsed trees."""
        return cls(joined(list(trees)), n_features, offset, single, downwards=downwards)

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return self.nodes.roots.size

    def largest_sum(self) -> float:
        """Return what the scores cannot exceed by size: the sum of each tree's largest leaf."""
        sizes = (
            np.maximum.reduceat(np.abs(self.nodes.value), self.nodes.roots) if self.n_trees else np.zeros(1)
        )
        return abs(self.offset) + float(sizes.sum())

    @functools.cached_property
    def coding(self) -> Coding:
        """The codes of the feature values that the trees tell apart."""
        return coding_of(self.nodes, Reading(self.single, self.missing, self.downwards))

    @functools.cached_property
    def branching(self) -> Branching:
        """Where each node sends which codes."""
        return branching_of(self.nodes, self.coding)

    @functools.cached_property
    def paths(self) -> Paths:
        """The merged conditions of every leaf."""
        return merged_paths(self.nodes, self.coding, self.branching)

    @functools.cached_property
    def scratches(self) -> ScratchPool:
        """What the threads that explain it use again and again."""
        return ScratchPool()

    def blocks(self, player_of: tuple[int, ...]) -> tuple[list[Block], NDArray[np.int64]]:
        """Lay out the leaves for a game in which column i belongs to player ``player_of[i]``.

        Returns the blocks, whose players are counted among those that the trees look at, and these.
        """
        return _blocks(self, player_of)

    def host_blocks(self, player_of: tuple[int, ...]) -> tuple[list[HostBlock], NDArray[np.int64]]:
        """Do the same for NumPy's own loop."""
        return _host_blocks(self, player_of)

    def scores(self, points: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scores of host rows, shape (n, features), by walking down the trees."""
        points = np.asarray(points)
        row_bytes = _NODE_BYTES * self.n_trees + _CODE_BYTES * len(self.coding.features)
        at_once = rows_within(row_bytes, _ROWS_AT_ONCE, share=0.5)
        found = [self._scores(points[few.start : few.stop]) for few in cut(range(points.shape[0]), at_once)]
        return np.concatenate(found) if found else np.empty(0)

    def _scores(self, points: NDArray[Any]) -> NDArray[np.float64]:
        codes = self.coding.on_host(points).astype(np.int64)
        node = np.broadcast_to(self.nodes.roots[:, None], (self.n_trees, points.shape[0])).copy()
        tree, row = np.nonzero(self.branching.feature[node] != NO_FEATURE)
        while tree.size:
            at = node[tree, row]
            left = self._goes_left(at, codes[self.branching.feature[at], row])
            at = np.where(left, self.nodes.left[at], self.nodes.right[at])
            node[tree, row] = at
            inner = self.branching.feature[at] != NO_FEATURE
            tree, row = tree[inner], row[inner]
        return np.asarray(self.offset + self.nodes.value[node].sum(axis=0))

    def _goes_left(self, node: NDArray[np.int64], code: NDArray[np.int64]) -> NDArray[np.bool_]:
        word, bit = np.divmod(code, WORD_BITS)
        inside = np.minimum(word, self.coding.n_words - 1)
        special = self.branching.special_left[node, inside] >> bit.astype(np.uint64) & np.uint64(1)
        ordinary = code >= self.coding.n_special[self.branching.feature[node]]
        return np.where(ordinary, code <= self.branching.last_left[node], special.astype(np.bool_))


@functools.lru_cache(maxsize=8)
def _blocks(ensemble: TreeEnsemble, player_of: tuple[int, ...]) -> tuple[list[Block], NDArray[np.int64]]:
    columns = [feature.column for feature in ensemble.coding.features]
    used, player = np.unique(np.asarray(player_of, dtype=np.int64)[columns], return_inverse=True)
    return list(blocks_of(ensemble.paths, player)), used


@functools.lru_cache(maxsize=8)
def _host_blocks(
    ensemble: TreeEnsemble, player_of: tuple[int, ...]
) -> tuple[list[HostBlock], NDArray[np.int64]]:
    blocks, used = _blocks(ensemble, player_of)
    return [host_block(block, ensemble.coding) for block in blocks], used

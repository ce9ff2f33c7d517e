"""Feature values as small integers: all that a tree can tell apart.

Code 0 is NaN, code 1 a missing zero where the feature has such, the next ones are listed categories; these
are the special codes, of which a condition accepts any subset. Every other value's code is the number of
special codes plus the number of thresholds below it, and a condition accepts an interval of those. Codes are
integers made from float64 values, so that every backend takes the same branches.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.explain.trees.numbering import Numbering
from ranklens.explain.trees.reading import Reading
from ranklens.explain.trees.tree import NO_FEATURE, ZERO_IS_ORDINARY, Nodes
from ranklens.explain.trees.unsupported import UnsupportedTreesError
from ranklens.kernels.tree_codes import ZERO_WIDTH

WORD_BITS = 64


@dataclass(frozen=True)
class FeatureCodes:
    """How the values of one column are numbered."""

    column: int
    thresholds: NDArray[np.float64]
    zero: bool
    categories: NDArray[np.float64]

    @property
    def n_special(self) -> int:
        """NaN, a missing zero, the listed categories."""
        return 1 + self.zero + self.categories.size

    @property
    def n_codes(self) -> int:
        """Special codes, and one more ordinary one than there are thresholds."""
        return self.n_special + self.thresholds.size + 1


@dataclass(frozen=True)
class Coding:
    """The columns that the trees look at, and the codes of their values."""

    features: tuple[FeatureCodes, ...]
    reading: Reading
    """What the model makes of a value before it compares it."""

    @property
    def n_words(self) -> int:
        """How many 64-bit words hold a set of special codes, one bit to spare."""
        most = max((feature.n_special for feature in self.features), default=1)
        return most // WORD_BITS + 1

    @functools.cached_property
    def n_special(self) -> NDArray[np.int64]:
        """The number of special codes of each column."""
        return np.asarray([feature.n_special for feature in self.features], dtype=np.int64)

    @functools.cached_property
    def n_codes(self) -> NDArray[np.int64]:
        """The number of codes of each column."""
        return np.asarray([feature.n_codes for feature in self.features], dtype=np.int64)

    @functools.cached_property
    def every_special(self) -> NDArray[np.uint64]:
        """The set of all special codes of each column, shape (features, words)."""
        bits = np.arange(self.n_words * WORD_BITS) < self.n_special[:, None]
        return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        """The smallest unsigned type that holds every code."""
        most = self.n_codes.max(initial=1)
        # The last number of a type stands for no code at all.
        return np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.uint32

    @functools.cached_property
    def numbering(self) -> Numbering:
        """The tables from which the host makes codes."""
        return Numbering.of(self.features, self.dtype)

    def on_host(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of `points` (m, columns), shape (features, m)."""
        return self.numbering.codes(points, self.reading)


def coding_of(nodes: Nodes, reading: Reading) -> Coding:
    """Number the values that `nodes` tell apart."""
    used = np.unique(nodes.feature[nodes.feature != NO_FEATURE])
    listed: dict[int, set[int]] = {}
    for node, members in nodes.categories.items():
        listed.setdefault(int(nodes.feature[node]), set()).update(members)
    order = np.lexsort((nodes.threshold, nodes.feature))
    starts = np.searchsorted(nodes.feature[order], np.append(used, used[-1:] + 1))
    features = []
    for place, column in enumerate(used.tolist()):
        at = order[starts[place] : starts[place + 1]]
        categories = np.asarray(sorted(listed.get(column, ())), dtype=np.float64)
        thresholds = np.unique(nodes.threshold[at]) if column not in listed else np.empty(0)
        zero = _zeros_are_missing(nodes.zero_left[at], nodes.threshold[at])
        features.append(FeatureCodes(column, thresholds, zero, categories))
    return Coding(tuple(features), reading)


def _zeros_are_missing(zero_left: NDArray[np.int64], threshold: NDArray[np.float64]) -> bool:
    ordinary = zero_left == ZERO_IS_ORDINARY
    if ordinary.all():
        return False
    if ((threshold[ordinary] >= -ZERO_WIDTH) & (threshold[ordinary] < ZERO_WIDTH)).any():
        raise UnsupportedTreesError(
            "a feature's zeros are missing values in one split and compared in another"
        )
    return True

"""Groups of rows in few sizes: on JAX another number of rows, values or nodes compiles every step anew.

Rows are repeated, which writes a result twice, and more nodes and points than needed are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.arrays.compile import steady_rows
from ranklens.kernels.exact_recurrences import Nodes
from ranklens.stats.exact.condensed import CondensedGroup
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.smooth import NODES_OF_SHORT, NodeGroup

Floats = NDArray[np.float64]

_NODES, _POINTS = (16, 32, 64), (16, 40)


def steady_groups(groups: Sequence[NodeGroup], backend: Backend) -> list[NodeGroup]:
    """Return at most two groups of few numbers of nodes and of rows on JAX, the same ones elsewhere."""
    if backend.name != "jax":
        return list(groups)
    short = [group for group in groups if group.nodes == NODES_OF_SHORT]
    long = [group for group in groups if group.nodes != NODES_OF_SHORT]
    found = [NodeGroup(*short[0][:2], *_rows_of(short))] if short else []
    if long:
        n = _up(max(group.nodes.n for group in long), _NODES)
        found.append(NodeGroup(Nodes(n, 1), n - 1, *_rows_of(long)))
    return found


def steady_condensed(groups: Sequence[CondensedGroup], backend: Backend) -> list[CondensedGroup]:
    """Return one group of one of few numbers of points, nodes and rows on JAX, the same ones elsewhere.

    The points stand for their rows at the nodes that were asked for, so that no further ones count.
    """
    if backend.name != "jax" or not groups:
        return list(groups)
    n_points = _up(max(group.n_points for group in groups), _POINTS)
    n_nodes = _up(max(group.n_nodes for group in groups), _NODES)
    own_nodes = np.concatenate([np.full(len(group.places), group.n_nodes) for group in groups])
    return [CondensedGroup(n_points, n_nodes, *_rows_of(groups), _repeated(own_nodes))]


def _rows_of(groups: Sequence[NodeGroup] | Sequence[CondensedGroup]) -> tuple[Counts, Floats]:
    """Return the places of the rows of all groups, the last of them repeated, and what goes with each."""
    places = np.concatenate([group.places for group in groups])
    return _repeated(places), _repeated(np.concatenate([group.beyond for group in groups]))


def _repeated(column: NDArray[Any]) -> NDArray[Any]:
    return np.pad(column, (0, steady_rows(len(column)) - len(column)), mode="edge")


def _up(n: int, choices: tuple[int, ...]) -> int:
    return next((choice for choice in choices if choice >= n), n)

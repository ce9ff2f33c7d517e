"""Long rows that a few weighted values stand for in an inversion: which, how many, and with which nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, cut
from ranklens.kernels.exact_moments import chebyshev_moments, quadrature_times
from ranklens.kernels.exact_recurrences import Nodes
from ranklens.stats.exact.blocks import Blocks
from ranklens.stats.exact.quadrature import chebyshev_points, points_needed
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.smooth import SmoothRows, half_odd, shipped_columns

Floats = NDArray[np.float64]

_CHOICES = np.array([8, 10, 12, 14, 16, 18, 20, 24, 32, 48, 64])
_SCANNED, _INTERVALS = 512, 8
_BEFORE = np.array([0.5, 2.5, 4.5, 6.5])
_EDGES = np.concatenate([_BEFORE, _CHOICES + 0.5, np.geomspace(64, _SCANNED, _INTERVALS)[1:] + 0.5])
"""In steps: between which frequencies the modulus is bounded, before the last of the nodes and past them."""

_POINTS = np.array([6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 0])
"""None where more would be needed."""

_NEGLIGIBLE = 1e-11
"""What a modulus may be at the nodes that are left out."""

_ROWS_AT_ONCE = 64


class CondensedGroup(NamedTuple):
    """Rows of which as many weighted values are inverted with as many nodes.

    Attributes
    ----------
    n_points, n_nodes : int
    places : numpy.ndarray of int64, shape (k,)
    beyond : numpy.ndarray of float64, shape (k,)
        What the modulus is at most at frequencies past the nodes, up to 512 steps.
    own_nodes : numpy.ndarray of int64, shape (k,), or None
        How many of the nodes count in each row; None where all do.
    """

    n_points: int
    n_nodes: int
    places: Counts
    beyond: Floats
    own_nodes: Counts | None = None

    def frequencies(self, step: Floats) -> tuple[Floats, Floats | None]:
        """Return the nodes of each row, shape (n_nodes, k), and 1 for those that count and 0 for the others,
        which repeat its last; None where all count.
        """
        odd = half_odd(self.n_nodes)
        if self.own_nodes is None:
            return odd * step, None
        counted = (odd < self.own_nodes).astype(np.float64)
        return np.minimum(odd, self.own_nodes - 0.5) * step, counted

    def parts(self, backend: Backend) -> list[slice]:
        """Cut the rows into as many as are inverted at once."""
        most = _ROWS_AT_ONCE if backend.name == "numpy" else len(self.places)
        return [slice(part.start, part.stop) for part in cut(range(len(self.places)), most)]

    def quadrature(self, rows: SmoothRows, backend: Backend) -> tuple[Any, Any]:
        """Return the values (points, k) that stand for each of its rows, and how often each does."""
        xp, ship = backend.xp, backend.asarray
        largest = rows.values[-1]

        def moments(some: slice) -> Any:
            return chebyshev_moments(
                shipped_columns(rows.values, some, backend), ship(largest[some]), self.n_points
            )

        # One row at a time: its sums then are the same in any company, and it stays in the cache.
        found = rows.in_parts(moments, Nodes(self.n_points, 1), backend, cells_at_once=1)
        points, to_weights = chebyshev_points(self.n_points)
        squares = points[:, None] * (largest * largest)
        together = found[0] if len(found) == 1 else xp.concat(found, axis=1)
        return ship(np.sqrt(squares)), quadrature_times(together, ship(to_weights), ship(squares))


def condensed_groups(
    rows: SmoothRows, blocks: Blocks, rate: Floats | None, step: Floats, tolerance: Floats | float
) -> tuple[list[CondensedGroup], Counts]:
    """Group rows by how many points and nodes they need, and return the places of those that need too many.

    Parameters
    ----------
    rows : SmoothRows
    blocks : Blocks
        Of all rows.
    rate : numpy.ndarray of float64, shape (rows,), or None
        The tilt; None without one.
    step : numpy.ndarray of float64, shape (rows,)
        The distance of the nodes, which begin at half of it.
    tolerance : float or array of float, shape (rows,)
        What the characteristic function may be off by at each node.
    """
    n_before, n_choices = len(_BEFORE), len(_CHOICES)
    edges = _EDGES[:, None] * step
    moduli = blocks.moduli(rate, edges)
    beyond = np.maximum.accumulate(moduli[: n_before - 1 : -1])[::-1][:n_choices]
    chosen = np.argmax(beyond <= _NEGLIGIBLE, axis=0)
    served = beyond[chosen, np.arange(len(step))] <= _NEGLIGIBLE
    # The last node before each edge, of those edges up to which nodes are taken.
    nodes = edges[1 : n_before + n_choices] - step
    taken = np.arange(len(nodes))[:, None] < n_before + chosen
    needed = points_needed(rows.values[-1], rate, nodes, moduli[: len(nodes)], taken, tolerance)
    n_points = _POINTS[np.searchsorted(_POINTS[:-1], needed)] * served
    keys = n_points * (_CHOICES[-1] + 1) + _CHOICES[chosen]
    groups = []
    for key in sorted({*keys[n_points > 0].tolist()}):
        places = np.flatnonzero(keys == key)
        points, n_nodes = divmod(key, int(_CHOICES[-1]) + 1)
        groups.append(CondensedGroup(points, n_nodes, places, beyond[chosen[places], places]))
    return groups, np.flatnonzero(n_points == 0)

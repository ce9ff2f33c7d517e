"""The closed form on any backend: codes to the device, chunks within the memory budget, one array kernel."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled, rows_within
from ranklens.explain.trees.device_codes import DeviceCoding
from ranklens.explain.trees.device_paths import path_arrays
from ranklens.kernels.tree_paths import PathArrays, by_pair, path_contributions

if TYPE_CHECKING:
    from ranklens.explain.trees.ensemble import TreeEnsemble

PAIRS_AT_ONCE = 32
_COMPILED_AT_ONCE = 128
_ON_ACCELERATOR = 2**14
_SHARE = 0.5
_FLOAT_BYTES = 8
# Temporaries of a pair, for each condition, slot of a leaf, leaf, and payment.
_CONDITION_BYTES = 64
_SLOT_BYTES = 8
_LEAF_BYTES = 64
_PAYMENT_BYTES = 40

Array = Any


class Parts(NamedTuple):
    """Contributions of some pairs after others.

    Attributes
    ----------
    starts : tuple of int
        The first pair of each part. Where parts overlap they agree; rows past the last pair mean nothing.
    arrays : tuple of arrays, each of shape (some pairs, players)
    n : int
        The number of pairs.
    """

    starts: tuple[int, ...]
    arrays: tuple[Array, ...]
    n: int

    def on_host(self, arrays: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Put the parts together, once they are on the host as `arrays`."""
        whole = np.zeros((self.n, self.arrays[0].shape[1]))
        for start, array in zip(self.starts, arrays, strict=True):
            whole[start : start + array.shape[0]] = array[: self.n - start]
        return whole

    def on_device(self, backend: Backend) -> Array:
        """Put the parts together where they are."""
        ends = [*self.starts[1:], self.n]
        cut = [a[: end - start, :] for a, start, end in zip(self.arrays, self.starts, ends, strict=True)]
        return cut[0] if len(cut) == 1 else backend.xp.concat(cut, axis=0)


def parts_on_device(
    ensemble: TreeEnsemble, player_of: NDArray[np.int64], a: Array, b: Array, backend: Backend
) -> Parts:
    """Return the contributions of all pairs; `a` and `b` lie on the host or on the device.

    Inside ``backend.precise()``.
    """
    tables = _tables(ensemble, tuple(player_of.tolist()), backend)
    n = a.shape[0]
    if not tables.rectangles or not n:
        shape = (max(n, 1), tables.row.shape[0])
        return Parts((0,), (backend.xp.zeros(shape, dtype=backend.float_dtype, device=backend.device),), n)
    size = _pairs_at_once(tables, n, backend)
    starts, arrays = _starts(n, size, backend), []
    for start in starts:
        stop = min(start + size, n)
        rows = (points if stop - start == n else points[start:stop, :] for points in (a, b))
        codes = [tables.coding.codes(points, _steady(stop - start, backend)) for points in rows]
        arrays.append(_explained(tables, codes, backend))
    return Parts(tuple(starts), tuple(arrays), n)


def _starts(n: int, size: int, backend: Backend) -> list[int]:
    starts = list(range(0, n, size))
    # A last part of another size would compile anew.
    return [*starts[:-1], max(0, n - size)] if backend.name == "jax" else starts


def _explained(tables: Tables, codes: list[Array], backend: Backend) -> Array:
    kernel = compiled(path_contributions, backend, static=("n_players",))
    total = kernel(tables.rectangles[0], *codes, n_players=tables.n_used)
    for paths in tables.rectangles[1:]:
        total = total + kernel(paths, *codes, n_players=tables.n_used)
    return compiled(by_pair, backend)(total, tables.row)


class Tables(NamedTuple):
    """What a device needs to know of trees and players.

    Attributes
    ----------
    rectangles : tuple of PathArrays
    n_used : int
        The number of players that the trees look at.
    row : int64 array, shape (players,)
        The place of each player among those; their number for one that is not among them.
    coding : DeviceCoding
    """

    rectangles: tuple[PathArrays, ...]
    n_used: int
    row: Array
    coding: DeviceCoding


@functools.lru_cache(maxsize=8)
def _tables(ensemble: TreeEnsemble, player_of: tuple[int, ...], backend: Backend) -> Tables:
    blocks, used = ensemble.blocks(player_of)
    row = np.full(max(player_of, default=-1) + 1, used.size)
    row[used] = np.arange(used.size)
    coding = DeviceCoding(ensemble.coding, backend)
    return Tables(tuple(path_arrays(blocks, backend)), used.size, backend.asarray(row), coding)


def _pairs_at_once(tables: Tables, n: int, backend: Backend) -> int:
    n_players = tables.row.shape[0]
    largest = max(_bytes_per_pair(paths, n_players) for paths in tables.rectangles)
    most = _COMPILED_AT_ONCE if backend.name == "jax" else PAIRS_AT_ONCE
    most = _ON_ACCELERATOR if backend.on_accelerator else most
    most = min(most, _steady(n, backend))
    fitting = rows_within(max(largest, tables.coding.bytes_per_row), most, share=_SHARE)
    # The largest of the steady sizes that fits.
    return _steady(fitting // 4 + 1, backend) if backend.name == "jax" else fitting


def _steady(n: int, backend: Backend) -> int:
    """Return the smallest of 2, 8, 32, 128, ... that is at least `n`: few programs serve all calls."""
    if backend.name != "jax":
        return n
    size = 2
    while size < n:
        size *= 4
    return size


def _bytes_per_pair(paths: PathArrays, n_players: int) -> int:
    members, slots, leaves = paths.clause.shape
    return int(
        _CONDITION_BYTES * paths.feature.shape[0]
        + (_SLOT_BYTES + 2 * members) * slots * leaves
        + _LEAF_BYTES * leaves
        + _PAYMENT_BYTES * paths.slot.shape[0] * paths.slot.shape[1]
        + 2 * _FLOAT_BYTES * n_players
    )

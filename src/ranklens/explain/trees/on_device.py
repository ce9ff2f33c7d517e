"""The closed form on any backend: codes to the device, chunks within the memory budget, one array kernel."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled, cut, rows_within
from ranklens.explain.trees.device_codes import DeviceCoding
from ranklens.explain.trees.device_paths import path_arrays
from ranklens.kernels.tree_paths import PathArrays, path_contributions

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


def contributions_on_device(
    ensemble: TreeEnsemble, player_of: tuple[int, ...], a: Array, b: Array, backend: Backend
) -> tuple[Array, NDArray[np.int64]]:
    """Return the contributions (pairs, players that the trees look at), and which players these are.

    `a` and `b` lie on the host or on the device.
    """
    rectangles, used, coding = _prepared(ensemble, player_of, backend)
    xp, n = backend.xp, a.shape[0]
    if not rectangles or not n:
        return xp.zeros((n, used.size), dtype=backend.float_dtype, device=backend.device), used
    parts = []
    for some in cut(range(n), _pairs_at_once(rectangles, used.size, coding, n, backend)):
        codes = [
            coding.codes(points[some.start : some.stop, :], _steady(len(some), backend)) for points in (a, b)
        ]
        parts.append(_explained(rectangles, codes, used.size, backend)[: len(some), :])
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0), used


def _explained(
    rectangles: tuple[PathArrays, ...], codes: list[Array], n_players: int, backend: Backend
) -> Array:
    kernel = compiled(path_contributions, backend, static=("n_players",))
    total = kernel(rectangles[0], *codes, n_players=n_players)
    for paths in rectangles[1:]:
        total = total + kernel(paths, *codes, n_players=n_players)
    return backend.xp.permute_dims(total, (1, 0))


@functools.lru_cache(maxsize=8)
def _prepared(
    ensemble: TreeEnsemble, player_of: tuple[int, ...], backend: Backend
) -> tuple[tuple[PathArrays, ...], NDArray[np.int64], DeviceCoding]:
    blocks, used = ensemble.blocks(player_of)
    return tuple(path_arrays(blocks, backend)), used, DeviceCoding(ensemble.coding, backend)


def _pairs_at_once(
    rectangles: tuple[PathArrays, ...], n_players: int, coding: DeviceCoding, n: int, backend: Backend
) -> int:
    largest = max(_bytes_per_pair(paths, n_players) for paths in rectangles)
    most = _COMPILED_AT_ONCE if backend.name == "jax" else PAIRS_AT_ONCE
    most = _ON_ACCELERATOR if backend.on_accelerator else most
    fitting = rows_within(max(largest, coding.bytes_per_row), min(most, _steady(n, backend)), share=_SHARE)
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

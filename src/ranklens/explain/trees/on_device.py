"""The closed form on any backend: codes to the device, chunks within the memory budget, one array kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled, cut, rows_within
from ranklens.explain.trees.layout import Block
from ranklens.explain.trees.weights import payoffs
from ranklens.kernels.tree_paths import PathArrays, path_contributions

LEAVES_AT_ONCE = 1024
_SHARE = 0.5
_FLOAT_BYTES = 8
# Temporaries of a pair, for each condition, entry of a path, and leaf.
_CONDITION_BYTES = 64
_ENTRY_BYTES = 40
_LEAF_BYTES = 64


def contributions_on_device(
    blocks: list[Block], codes_a: Any, codes_b: Any, n_players: int, backend: Backend
) -> Any:
    """Return the contributions (pairs, players) on the device of the int32 codes (features, pairs)."""
    xp, m = backend.xp, codes_a.shape[1]
    kernel = compiled(path_contributions, backend, static=("n_players",))
    total = xp.zeros((n_players, m), dtype=backend.float_dtype, device=backend.device)
    for paths in path_arrays(blocks, backend):
        at_once = rows_within(_bytes_per_pair(paths, n_players), m, share=_SHARE)
        parts = [
            kernel(
                paths,
                codes_a[:, some.start : some.stop],
                codes_b[:, some.start : some.stop],
                n_players=n_players,
            )
            for some in cut(range(m), at_once)
        ]
        total = total + (parts[0] if len(parts) == 1 else xp.concat(parts, axis=1))
    return xp.permute_dims(total, (1, 0))


def _bytes_per_pair(paths: PathArrays, n_players: int) -> int:
    members, slots, leaves = paths.clause.shape
    conditions = paths.feature.shape[0]
    return int(
        _CONDITION_BYTES * conditions
        + (_ENTRY_BYTES + 2 * members) * slots * leaves
        + _LEAF_BYTES * leaves
        + 2 * _FLOAT_BYTES * n_players
    )


def path_arrays(blocks: list[Block], backend: Backend) -> Iterator[PathArrays]:
    """Yield the leaves of blocks, a few at a time, as rectangles on a device."""
    for block in blocks:
        for few in cut(range(block.value.size), LEAVES_AT_ONCE):
            yield _rectangle(block, few, backend)


def _rectangle(block: Block, leaves: range, backend: Backend) -> PathArrays:
    clause = _clauses(block, leaves)
    used, local = np.unique(np.where(clause < 0, -1, block.members[:, clause]), return_inverse=True)
    # Slots and members that a leaf lacks accept everything.
    missing = used < 0
    n_codes = np.iinfo(np.int32).max
    share_b, share_a = payoffs(clause.shape[0])
    arrays = PathArrays(
        feature=np.where(missing, 0, block.feature[used]).astype(np.int32),
        low=np.where(missing, 0, block.low[used]).astype(np.int32),
        high=np.where(missing, n_codes, block.high[used]).astype(np.int32),
        special=np.ascontiguousarray(block.special[used].T),
        clause=local.reshape(block.members.shape[0], *clause.shape).astype(np.int32),
        player=np.where(clause < 0, 0, block.player[clause]).astype(np.int32),
        value=block.value[leaves.start : leaves.stop],
        share_b=share_b.reshape(-1),
        share_a=share_a.reshape(-1),
    )
    return PathArrays(*(backend.asarray(array) for array in arrays))


def _clauses(block: Block, leaves: range) -> NDArray[np.int64]:
    """Return the clause in each slot of some leaves, -1 where there is none, shape (slots, leaves)."""
    n_slots = sum(slot.size > leaves.start for slot in block.slots)
    clause = np.full((max(1, n_slots), len(leaves)), -1, dtype=np.int64)
    for row, slot in zip(clause, block.slots, strict=False):
        some = slot[leaves.start : leaves.stop]
        row[: some.size] = some
    return clause

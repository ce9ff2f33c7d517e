"""Leaves as rectangles on a device, in few shapes, so that a compiled program serves many of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, cut
from ranklens.arrays.compile import steady_rows
from ranklens.explain.trees.layout import Block
from ranklens.explain.trees.weights import payoffs
from ranklens.kernels.tree_paths import PathArrays

LEAVES_AT_ONCE = 1024
PAID_TOGETHER = 16
"""Payments to one player that are summed before the players are told apart by a matrix product."""

Ints = NDArray[np.int64]


def path_arrays(blocks: list[Block], backend: Backend) -> Iterator[PathArrays]:
    """Yield the leaves of blocks, a few at a time, as rectangles on a device."""
    for block in blocks:
        for few in cut(range(block.value.size), LEAVES_AT_ONCE):
            yield _rectangle(block, few, backend)


def _rectangle(block: Block, leaves: range, backend: Backend) -> PathArrays:
    clause = _clauses(block, leaves, backend)
    used, local = np.unique(np.where(clause < 0, -1, block.members[:, clause]), return_inverse=True)
    used = np.pad(used, (0, _steady(used.size, backend) - used.size), constant_values=-1)
    # Slots and members that a leaf lacks accept everything.
    missing = used < 0
    n_codes = np.iinfo(np.int32).max
    share_b, share_a = payoffs(clause.shape[0])
    value = np.zeros(clause.shape[1])
    value[: len(leaves)] = block.value[leaves.start : leaves.stop]
    payments = _payments(np.where(clause < 0, -1, block.player[clause]), backend)
    arrays = PathArrays(
        feature=np.where(missing, 0, block.feature[used]).astype(np.int32),
        low=np.where(missing, 0, block.low[used]).astype(np.int32),
        high=np.where(missing, n_codes, block.high[used]).astype(np.int32),
        special=np.ascontiguousarray(block.special[used].T),
        clause=local.reshape(block.members.shape[0], *clause.shape).astype(np.int32),
        value=value,
        share_b=share_b.reshape(-1),
        share_a=share_a.reshape(-1),
        payee=payments.payee.astype(np.int32),
        slot=payments.slot.astype(np.int32),
        leaf=(payments.slot % clause.shape[1]).astype(np.int32),
        paid=payments.paid.astype(np.uint8),
    )
    return PathArrays(*(backend.asarray(array) for array in arrays))


def _clauses(block: Block, leaves: range, backend: Backend) -> Ints:
    """Return the clause in each slot of some leaves, -1 where there is none, shape (slots, leaves)."""
    n_slots = sum(slot.size > leaves.start for slot in block.slots)
    shape = (_steady(max(1, n_slots), backend), _steady(len(leaves), backend))
    clause = np.full(shape, -1, dtype=np.int64)
    for row, slot in zip(clause, block.slots, strict=False):
        some = slot[leaves.start : leaves.stop]
        row[: some.size] = some
    return clause


class _Payments(NamedTuple):
    payee: Ints
    slot: Ints
    paid: NDArray[np.bool_]


def _payments(player: Ints, backend: Backend) -> _Payments:
    """Group the slots of all leaves by the player there (-1: none), `PAID_TOGETHER` at most in each group."""
    slot = np.flatnonzero(player >= 0)
    owner = player.reshape(-1)[slot]
    order = np.argsort(owner, kind="stable")
    slot, owner = slot[order], owner[order]
    payees, first, counts = np.unique(owner, return_index=True, return_counts=True)
    groups = -(-counts // PAID_TOGETHER)
    start = np.cumsum(groups) - groups
    place = np.repeat(start, counts) * PAID_TOGETHER + np.arange(slot.size) - np.repeat(first, counts)
    shape = (_steady(int(groups.sum()), backend), PAID_TOGETHER)
    found, paid = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
    found.reshape(-1)[place], paid.reshape(-1)[place] = slot, True
    payee = np.zeros(shape[0], dtype=np.int64)
    payee[: int(groups.sum())] = np.repeat(payees, groups)
    return _Payments(payee, found, paid)


def _steady(n: int, backend: Backend) -> int:
    return steady_rows(n) if backend.name == "jax" else n

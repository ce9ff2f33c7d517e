"""Sums and products whose last bit depends on the ranking alone.

A library's own sum groups its terms by the width of the padding, the memory layout and the processor. These
group them by position: term 0 with 1, 2 with 3, then the pairs, and so on. Padding with zeros (sums) or
behind the last term (products) changes nothing, so neither do chunks, other cutoffs, other runs or backends.
Each of them may be compiled: without a product next to a sum there is nothing to contract into one rounding.
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays import backend_of, compiled, namespace

Array = Any


def paired_sum(terms: Array) -> Array:
    """Sum along the last axis, neighbours first; shape (..., width) to (...)."""
    return compiled(_paired_sum, backend_of(terms))(terms)


def _paired_sum(terms: Array) -> Array:
    xp = namespace(terms)
    while terms.shape[-1] > 1:
        sums = terms[..., 0 : terms.shape[-1] // 2 * 2 : 2] + terms[..., 1::2]
        terms = xp.concat([sums, terms[..., -1:]], axis=-1) if terms.shape[-1] % 2 else sums
    return terms[..., 0]


def running_product(factors: Array) -> Array:
    """Multiply up along the last axis, in steps of 1, 2, 4, …; the shape stays."""
    return compiled(_running_product, backend_of(factors))(factors)


def _running_product(factors: Array) -> Array:
    xp = namespace(factors)
    step = 1
    while step < factors.shape[-1]:
        grown = factors[..., step:] * factors[..., :-step]
        factors = xp.concat([factors[..., :step], grown], axis=-1)
        step *= 2
    return factors


def powers(base: float, positions: Array) -> Array:
    """Return base to the 0, 1, 2, … for `positions` 1, 2, 3, …"""
    xp = namespace(positions)
    return running_product(xp.where(positions > 1.0, positions * 0.0 + base, 1.0))


def at_ranks(ranks: Array, table: Array) -> Array:
    """Look up the table entry of each rank (the first for rank 1); padding gets the last entry."""
    return compiled(_at_ranks, backend_of(ranks))(ranks, table)


def _at_ranks(ranks: Array, table: Array) -> Array:
    xp = namespace(ranks)
    index = xp.astype(xp.minimum(ranks, table.shape[0]) - 1.0, xp.int32)
    return xp.reshape(xp.take(table, xp.reshape(index, (-1,)), axis=0), ranks.shape)

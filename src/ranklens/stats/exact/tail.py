"""What an exact p-value counts: the subsets of absolute differences whose sum is small enough."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.kernels.ties import BAND
from ranklens.stats.exact.steps import commensurable_multiples, known_multiples

_FIXED_POINT_BITS = 61
_MANY = 24


@dataclass(frozen=True)
class SignedSums:
    """The differences as integers of a common step, zeros dropped.

    Attributes
    ----------
    magnitudes : numpy.ndarray of int64, shape (n,)
        Their absolute values, ascending.
    observed : int
        The sum of the signed differences.
    band : int
        Sums that differ by this much tie; 0 where the integers are exact.
    lattice : bool
        Whether the integers are the differences themselves and share no divisor. Otherwise they are rounded
        to the 61st binary digit of Σ|d|.
    """

    magnitudes: NDArray[np.int64]
    observed: int
    band: int
    lattice: bool

    @property
    def total(self) -> int:
        """The largest sum that signs can give."""
        return int(self.magnitudes.sum())


@dataclass(frozen=True)
class FlipTail:
    """P(T ≥ threshold) for T = Σ ±magnitudes and a positive threshold.

    `strict` asks for sums beyond the observed one and its ties, as the complement of a one-sided p needs.
    """

    sums: SignedSums
    strict: bool

    @property
    def n(self) -> int:
        """The number of signs."""
        return int(self.sums.magnitudes.shape[0])

    @property
    def total(self) -> int:
        """The largest sum."""
        return self.sums.total

    @functools.cached_property
    def limit(self) -> int:
        """The largest sum of flipped magnitudes that belongs to the tail; negative when nothing does."""
        beyond = abs(self.sums.observed)
        if self.strict:
            return (self.total - beyond - self.sums.band - 1) // 2
        return (self.total - beyond + self.sums.band) // 2

    @functools.cached_property
    def groups(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct magnitudes, ascending, and how often each occurs."""
        values, counts = np.unique(self.sums.magnitudes, return_counts=True)
        return values, counts.astype(np.int64)

    @functools.cached_property
    def spread(self) -> float:
        """The standard deviation of T."""
        magnitudes = self.sums.magnitudes.astype(np.float64)
        return math.sqrt(float(np.sum(magnitudes * magnitudes)))


class Mass(NamedTuple):
    """A probability ``ways / 2^exponent``, which may lie far below the smallest float.

    `error` bounds what `ways` may be off by; an int is exact.
    """

    ways: int | float
    exponent: int
    error: float
    step: str


def signed_sums(deltas: NDArray[np.float64], eps: float) -> SignedSums:
    """Turn differences into integers, exactly where they lie on a lattice.

    Parameters
    ----------
    deltas : numpy.ndarray of float64, shape (n,)
        Finite, at least one of them not zero.
    eps : float
        The rounding unit of the type in which they were computed.
    """
    nonzero = deltas[deltas != 0.0]
    multiples = known_multiples(nonzero, eps)
    if multiples is None and len(nonzero) >= _MANY:
        multiples = commensurable_multiples(nonzero, eps)
    if multiples is not None:
        kept = multiples[multiples != 0]
        kept //= np.gcd.reduce(kept)
        return SignedSums(np.sort(np.abs(kept)), int(kept.sum()), 0, True)
    scaled = np.ldexp(nonzero, -int(np.frexp(np.max(np.abs(nonzero)))[1]))
    magnitudes = np.sort(np.abs(scaled))
    bits = _FIXED_POINT_BITS - math.frexp(float(magnitudes.sum()))[1]
    fixed = np.rint(np.ldexp(scaled, bits)).astype(np.int64)
    ordered = np.sort(np.abs(fixed))
    band = math.ceil(BAND * eps * float(ordered.sum()))
    return SignedSums(ordered, int(fixed.sum()), band, False)

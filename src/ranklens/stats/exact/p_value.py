"""The p-value of the sign-flip test over all 2^n sign assignments, computed and not sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, resolve_backend, to_host
from ranklens.stats.exact.p_values import cheap_rows, exact_p_values
from ranklens.stats.options import ALTERNATIVES, check_choice
from ranklens.stats.rows.jobs import together
from ranklens.stats.sample import as_sample, eps_of, require_finite


@dataclass(frozen=True, slots=True)
class ExactP:
    """A p-value without Monte-Carlo noise.

    Attributes
    ----------
    p_value : float
        Never 0: below the smallest normal number it stays there.
    p_error : float
        A bound of its absolute error; 0 where subsets were counted.
    log10_p : float
        Its logarithm, which goes on below the smallest normal number.
    step : str
        How it was computed: ``"closed form"``, ``"subset count"``, ``"lattice convolution"``, ``"meet in the
        middle"``, ``"characteristic function"``, ``"tilted characteristic function"``, ``"prefix count"`` or
        ``"conditional characteristic function"``.
    """

    p_value: float
    p_error: float
    log10_p: float
    step: str


def exact_p_value(deltas: Any, alternative: str = "two-sided") -> ExactP:
    """Compute the sign-flip p-value over all sign assignments.

    ``p = #{sign assignments at least as extreme as the observed one} / 2^n``. Zero differences change nothing
    and are dropped; sums that differ by at most 8 · eps · Σ|d| tie.

    Parameters
    ----------
    deltas : sequence or array, shape (n,)
        Per-query differences B - A; finite. Arrays are worked on where they lie. float32 and narrower arrays
        are compared with the tie band of their own type.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        ``"greater"`` tests for B above A.

    Returns
    -------
    ExactP

    Raises
    ------
    ValueError
        For values that are not finite, another shape, or an unknown alternative.

    Notes
    -----
    The first of these that is cheap enough is taken: counting on a lattice; counting the few subsets of |d|
    that fit on the losing side; meeting in the middle up to 40 differences, or 44 where the next step leaves
    more than 0.4 % in doubt; Fourier inversion, exponentially tilted below 1e-6. The last two carry the error
    bound that was reached; where it is large, as with differences of very different sizes, the largest are
    chosen one by one and the rest is inverted. A row of a batch takes the same step as it would alone, and
    has the same p-value to the last bit.

    Examples
    --------
    >>> exact_p_value([0.1, 0.2, 0.3, -0.2, 0.1, 0.3, -0.1, 0.2]).p_value
    0.171875
    >>> exact_p_value([0.1, 0.2, -0.3], "greater").p_value
    0.625
    >>> round(exact_p_value([0.5] * 2000).log10_p, 4)
    -601.759
    """
    check_choice("alternative", alternative, ALTERNATIVES)
    backend = resolve_backend(deltas)
    with backend.precise():
        sample = as_sample(deltas, backend, minimum=1)
        return exact_p_of(sample, eps_of(deltas, backend), alternative, backend)


def exact_p_of(sample: Any, eps: float, alternative: str, backend: Backend) -> ExactP:
    """Do `exact_p_value` for a sample on its backend, where `eps` is the rounding unit of its type."""
    (found,) = together([exact_p_values(_row(sample, backend), eps, alternative, backend)])
    return ExactP(float(found.p_value[0]), float(found.p_error[0]), float(found.log10_p[0]), found.step[0])


def exact_is_cheap(deltas: Any) -> bool:
    """Whether the exact p-value costs no more than 10,000 sign flips, or at most 5 ms, which nobody notices.

    Parameters
    ----------
    deltas : sequence or array, shape (n,)
        As for `exact_p_value`.

    Examples
    --------
    >>> exact_is_cheap([0.1, 0.2, -0.3, 0.0])
    True
    """
    backend = resolve_backend(deltas)
    with backend.precise():
        row = _row(as_sample(deltas, backend, minimum=1), backend)
    return bool(cheap_rows(row, eps_of(deltas, backend))[0])


def _row(sample: Any, backend: Backend) -> NDArray[np.float64]:
    """Bring a sample to the host as the only row of a batch; what lies there has been checked."""
    (host,) = to_host(sample)
    if backend.name != "numpy":
        require_finite(host)
    return np.asarray(host, dtype=np.float64)[None, :]

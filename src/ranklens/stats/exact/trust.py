"""Whether the error bound of an exact p-value is small enough to go by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core.errors import RankLensError

Floats = NDArray[np.float64]

_PART_OF_P, _NEGLIGIBLE = 0.01, 1e-6


class UncertainPValueError(RankLensError, ValueError):
    """A p-value over all sign flips cannot be computed well enough to be called exact."""

    def __init__(self, p_value: float, p_error: float, row: int | None = None, name: str = "") -> None:
        self.p_value = p_value
        self.p_error = p_error
        self.row = row
        self.name = name
        which = f" of {name}" if name else "" if row is None else f" of comparison {row}"
        super().__init__(
            f"the exact p-value{which} cannot be computed well enough: {p_value:.3g} may be off by "
            f"{p_error:.2g}, as happens where differences take few values but for a little noise, or a few "
            'of them dominate; use method="monte-carlo", or "auto", which samples here'
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.p_value, self.p_error, self.row, self.name)

    def named(self, name: str) -> UncertainPValueError:
        """Return the same error for a comparison that goes by a name."""
        return type(self)(self.p_value, self.p_error, self.row, name)


def uncertain(p_value: Floats | float, p_error: Floats | float) -> NDArray[np.bool_]:
    """Whether p-values may be off by more than a hundredth of themselves, and by more than one in a million.

    Examples
    --------
    >>> uncertain(np.array([0.5, 0.5, 1e-7]), np.array([0.2, 1e-4, 1e-7])).tolist()
    [True, False, False]
    """
    return np.asarray((p_error > _PART_OF_P * p_value) & (p_error > _NEGLIGIBLE))


def require_certain(p_value: Floats, p_error: Floats, rows: NDArray[np.int64] | None = None) -> None:
    """Raise UncertainPValueError for the first p-value that is not; `rows` are the numbers they go by."""
    for i in np.flatnonzero(uncertain(p_value, p_error))[:1].tolist():
        row = None if rows is None else int(rows[i])
        raise UncertainPValueError(float(p_value[i]), float(p_error[i]), row)

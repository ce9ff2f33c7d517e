"""What a model makes of a feature's value before it compares it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Reading:
    """How a model reads its input.

    Attributes
    ----------
    single : bool
        Whether it rounds to float32 first.
    missing : float
        A number that it takes for a missing value, as it does NaN; NaN where there is no such number.
    downwards : bool
        Whether a number between two categories counts as the lower one, so that -0.5 is none; else it counts
        as the one towards zero, and -0.5 as category 0.

    Examples
    --------
    >>> Reading(missing=-1.0).on_host(np.asarray([0.5, -1.0]))
    array([0.5, nan])
    """

    single: bool = False
    missing: float = math.nan
    downwards: bool = False

    def on_host(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return `values` as float64, as the model compares them."""
        if self.single:
            # Beyond float32 lies infinity, on whose side of every threshold the number was already.
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        read = np.asarray(values, dtype=np.float64)
        return read if math.isnan(self.missing) else np.where(read == self._marked, np.nan, read)

    def on_device(self, values: Any, xp: Any) -> Any:
        """Do the same to a device's own array."""
        read = xp.astype(values, xp.float64)
        if self.single:
            read = xp.astype(xp.astype(read, xp.float32), xp.float64)
        return read if math.isnan(self.missing) else xp.where(read == self._marked, xp.nan, read)

    @property
    def _marked(self) -> float:
        return float(np.float32(self.missing)) if self.single else self.missing

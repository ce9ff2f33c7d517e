"""Masked arrays of NumPy: honoured where a mask has a meaning, refused where it would be lost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklens.arrays import is_array, to_host


def without_masks(deltas: Any, mask: Any) -> tuple[Any, Any]:
    """Return rows of differences as a plain array, and True where they are measured.

    Parameters
    ----------
    deltas : array or sequence of arrays, shape (comparisons, queries)
        What a `numpy.ma` array masks is not measured; any other array is returned as it is.
    mask : array of bool or None
        What the caller says is measured.

    Examples
    --------
    >>> without_masks(np.ma.array([[1.0, 2.0]], mask=[[False, True]]), None)
    (array([[1., 0.]]), array([[ True, False]]))
    """
    if isinstance(deltas, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in deltas):
        shapes = {np.shape(row) for row in deltas}
        if len(shapes) > 1:
            raise ValueError(
                f"deltas must be rows of numbers, all of one length, got shapes {sorted(shapes)}"
            )
        deltas = np.ma.stack(deltas)
    if not isinstance(deltas, np.ma.MaskedArray):
        return deltas, mask
    measured = ~np.ma.getmaskarray(deltas)
    if mask is not None:
        said = to_host(mask)[0] if is_array(mask) else np.asarray(mask)
        # What is no mask of these rows is left to be refused by name.
        fits = said.dtype == np.bool_ and said.shape in (measured.shape, measured.shape[1:])
        measured = measured & said if fits else said
    return np.asarray(deltas.filled(0)), measured


def refuse_masked(name: str, values: Any, advice: str) -> None:
    """Raise a ValueError for a masked array, whose masked values would be computed with."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array, and a mask has no meaning here; {advice}")

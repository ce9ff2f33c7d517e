"""Checking a sample of per-query differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, is_array, namespace, resolve_backend, to_host
from ranklens.core import InsufficientSampleError
from ranklens.stats.lattice import EPS, comparable_sample
from ranklens.stats.masked import refuse_masked

_SHOWN = 5


def check_deltas(deltas: Any, *, minimum: int = 1, query_ids: Sequence[str] | None = None) -> Any:
    """Return `deltas` as a one-dimensional, finite floating array in its own namespace.

    Multiples of a step that float32 or a narrower type has rounded come back as what they were.

    Parameters
    ----------
    deltas : sequence or array, shape (n,)
        Per-query differences. Integers and booleans are widened. A list goes to the current backend.
    minimum : int, default 1
        The smallest n that the caller can work with.
    query_ids : sequence of str, optional
        The queries' names, for the message about values that are not finite.

    Raises
    ------
    InsufficientSampleError
        For fewer than `minimum` differences.
    ValueError
        For another shape, for values that are not numbers, for NaN and infinity.

    Examples
    --------
    >>> check_deltas([1, 0, True])
    array([1., 0., 1.])
    """
    backend = resolve_backend(deltas)
    with backend.precise():
        array = as_sample(deltas, backend, minimum=minimum, query_ids=query_ids)
        if backend.name != "numpy":
            require_finite(to_host(array)[0], query_ids)
        eps = eps_of(deltas, backend)
        if eps > EPS:
            values, factor, _ = comparable_sample(array, backend, eps)
            array = values / factor
    return array


def as_sample(deltas: Any, backend: Backend, *, minimum: int, query_ids: Sequence[str] | None = None) -> Any:
    """Return `deltas` as a floating array of shape (n,) on `backend`.

    What lies on the host is checked for values that are not finite; looking at a device's would wait for it.
    """
    refuse_masked("deltas", deltas, "leave out what is not measured: deltas.compressed()")
    values = deltas if is_array(deltas) else _host_numbers(deltas)
    if values.ndim == 0 and isinstance(deltas, Iterable):
        raise ValueError(
            f"deltas must be a sequence or an array of numbers, got {type(deltas).__name__}; "
            "paired_deltas makes one of two mappings"
        )
    if values.ndim != 1:
        raise ValueError(
            f"deltas must be one-dimensional, got shape {tuple(values.shape)}; pass one row at a time"
        )
    n = values.shape[0]
    if n < minimum:
        if minimum == 1:
            raise ValueError("deltas is empty; pass at least one per-query difference")
        raise InsufficientSampleError(n, minimum)
    return _as_floats(values, backend, query_ids)


def eps_of(deltas: Any, backend: Backend) -> float:
    """Return the spacing of the type in which `deltas` were computed: float64's for lists and integers."""
    if not is_array(deltas):
        return EPS if backend.name == "numpy" else float(backend.xp.finfo(backend.float_dtype).eps)
    if isinstance(deltas, np.ndarray):
        if deltas.dtype == np.float64:
            return EPS
        return max(EPS, float(np.finfo(deltas.dtype).eps)) if deltas.dtype.kind == "f" else EPS
    dtype = deltas.dtype if backend.xp.isdtype(deltas.dtype, "real floating") else backend.float_dtype
    return float(backend.xp.finfo(dtype).eps)


def finite_part(values: Any) -> tuple[Any, Any]:
    """Return `values` with zeros for what is not finite, and the number of these, both on their device."""
    xp = namespace(values)
    finite = xp.isfinite(values)
    return xp.where(finite, values, 0.0), xp.count_nonzero(~finite)


def require_finite(values: NDArray[Any], query_ids: Sequence[str] | None = None) -> None:
    """Raise a ValueError that counts and names the values that are NaN or infinite."""
    finite = np.isfinite(values)
    if finite.all():
        return
    places = np.flatnonzero(~finite).tolist()
    kind = "position" if query_ids is None else "query"
    names = [str(place) if query_ids is None else str(query_ids[place]) for place in places[:_SHOWN]]
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    raise ValueError(
        f"deltas has {len(places)} of {values.shape[0]} values that are not finite "
        f"(at {kind} {', '.join(names)}{more}); drop these queries or repair the values"
    )


def _as_floats(values: Any, backend: Backend, query_ids: Sequence[str] | None) -> Any:
    """Widen real numbers, integers and booleans to the backend's floating type."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "fiub":
            advice = "; convert it: numpy.asarray(deltas, dtype=float)" if values.dtype == object else ""
            raise ValueError(f"deltas must be real numbers, got an array of {values.dtype}{advice}")
        wide = values.astype(np.float64, copy=False)
        require_finite(wide, query_ids)
        return backend.asarray(wide)
    xp = backend.xp
    if not xp.isdtype(values.dtype, ("bool", "integral", "real floating")):
        raise ValueError(f"deltas must be real numbers, got an array of {values.dtype}")
    return backend.asarray(values, dtype=backend.float_dtype)


def _host_numbers(values: Any) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"deltas must be a sequence of numbers, all of one length: {error}") from error
    return array.astype(np.float64) if array.size == 0 else array

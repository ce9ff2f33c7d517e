"""A plain function as a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ranklens.arrays import Backend, open_backend
from ranklens.explain.models.base import Model

_TORCH_TYPES = ("dtype", "scalar type", "Double and Float", "Float and Double")


class CallableAdapter(Model):
    """Any function from an (n, k) array to n scores.

    Parameters
    ----------
    fn : callable
        Takes points of shape (n, k), and returns shape (n,) or (n, 1). It may change its argument, which is
        its own copy.
    names : iterable of str
        The k features.
    backend : str or Backend, optional
        In whose arrays the function wants its points: ``"numpy"``, ``"jax"``, ``"torch"``, ... By default
        those of the values that are explained; what is not an array becomes one of the current backend.

    Examples
    --------
    >>> import numpy as np
    >>> model = CallableAdapter(lambda x: x[:, 0] * x[:, 1] + 0.1 * x[:, 2], ["bm25", "freshness", "price"])
    >>> model.score(np.asarray([[2.0, 0.2, 1.0]]))
    array([0.5])
    """

    kind = "the function"

    def __init__(
        self, fn: Callable[[Any], Any], names: Iterable[str], backend: str | Backend | None = None
    ) -> None:
        super().__init__(names, open_backend(backend) if isinstance(backend, str) else backend)
        self.fn = fn

    def advice(self, error: Exception) -> str:
        if self._backend is None and "Tensor" in str(error):
            return (
                "; a function that wants its points from torch: CallableAdapter(fn, names, backend='torch')"
            )
        if self.backend.name == "torch" and any(word in str(error) for word in _TORCH_TYPES):
            return (
                "; the points have the type of the values that are explained, float64 by default: pass the "
                "torch module itself, which is asked in its own type, or convert them inside the function "
                "(x.float())"
            )
        return ""

    def predict(self, points: Any) -> Any:
        answer = self.fn(points)
        # A function may hand out the same buffer each time.
        return answer.copy() if isinstance(answer, np.ndarray) else answer

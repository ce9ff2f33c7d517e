"""ONNX models, run by onnxruntime."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from ranklens.arrays import open_backend
from ranklens.core import DataError, MissingDependencyError, ModelError
from ranklens.explain.models.base import Model
from ranklens.explain.models.registry import needed

_FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}


class OnnxModel(Model):
    """An ONNX graph from rows of features to one score a row.

    The graph has one input of shape (n, k), or an input of shape (n, 1) for each feature. Points are made in
    the input's floating type. The scores are the last output, or the one named.

    Parameters
    ----------
    model : str, path, bytes, onnx.ModelProto or onnxruntime.InferenceSession
    names : iterable of str, optional
        The k features. Needed unless there is an input for each.
    output : str, optional
        Which output holds the scores.

    Raises
    ------
    DataError
        When no model can be read.
    MissingDependencyError
        When onnxruntime is not installed.
    ModelError
        When the inputs are no floating numbers, or there is no such output.
    """

    kind = "the ONNX model"

    def __init__(self, model: Any, names: Iterable[str] | None = None, *, output: str | None = None) -> None:
        self.session = _session(model)
        inputs = self.session.get_inputs()
        given = [each.name for each in inputs] if names is None and len(inputs) > 1 else names
        super().__init__(needed(given, "an ONNX model of one input"), open_backend("numpy"))
        if len(inputs) not in (1, len(self.names)):
            raise ModelError(f"the ONNX model has {len(inputs)} inputs, and names holds {len(self.names)}")
        strange = [f"{each.name} of {each.type}" for each in inputs if each.type not in _FLOATS]
        if strange:
            raise ModelError(f"the ONNX model has the input {strange[0]}; floating numbers are needed")
        self._inputs = [each.name for each in inputs]
        self._dtype = _FLOATS[inputs[0].type]
        outputs = [each.name for each in self.session.get_outputs()]
        if output is not None and output not in outputs:
            raise ModelError(f"the ONNX model has no output {output!r}; it has {', '.join(outputs)}")
        self._output = output or outputs[-1]

    @property
    def dtype(self) -> Any:
        """The floating type of the inputs."""
        return self._dtype

    def predict(self, points: Any) -> Any:
        points = np.ascontiguousarray(points, dtype=self._dtype)
        columns = [points] if len(self._inputs) == 1 else [points[:, [i]] for i in range(points.shape[1])]
        (answer,) = self.session.run([self._output], dict(zip(self._inputs, columns, strict=True)))
        if isinstance(answer, list):
            raise ModelError(
                f"the ONNX model's output {self._output!r} is a {type(answer[0]).__name__} a row, as of "
                "classes; convert it with zipmap off, and name the output of the scores"
            )
        return answer


def _session(model: Any) -> Any:
    if hasattr(model, "get_inputs"):
        return model
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise MissingDependencyError("onnxruntime", "an ONNX model", "pip install onnxruntime") from error
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    source = os.fspath(model) if isinstance(model, os.PathLike) else model
    try:
        return runtime.InferenceSession(source, providers=["CPUExecutionProvider"])
    except Exception as error:
        # The library's errors derive from nothing narrower.
        named = f"{source!r}" if isinstance(source, str) else "what was given"
        said = str(error).strip().partition("\n")[0]
        raise DataError(
            f"{named} cannot be read as an ONNX model; it may be damaged or cut off ({said})"
        ) from error


def adapt_model(model: Any, names: Iterable[str] | None, params: Any) -> OnnxModel:
    """Adapt a model or a session."""
    return OnnxModel(model, names)

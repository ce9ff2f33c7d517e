"""ONNX graphs through onnxruntime, as plain functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklens.core import DataError, ModelError
from ranklens.explain.models.files import read_model
from ranklens.explain.models.onnx import OnnxModel

onnx = pytest.importorskip("onnx", reason="onnx, which builds the graphs, is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

FLOAT = onnx.TensorProto.FLOAT
DOUBLE = onnx.TensorProto.DOUBLE


def graph(nodes: list[Any], inputs: dict[str, Any], outputs: list[str], kind: int) -> Any:
    """Build a model whose inputs have the given numbers of columns."""
    made = onnx.helper.make_graph(
        nodes,
        "ranker",
        [onnx.helper.make_tensor_value_info(name, kind, [None, k]) for name, k in inputs.items()],
        [onnx.helper.make_tensor_value_info(name, kind, None) for name in outputs],
    )
    opset = onnx.helper.make_opsetid("", 17)
    return onnx.helper.make_model(made, opset_imports=[opset], ir_version=9)


def product(kind: int = DOUBLE) -> Any:
    """x0 · x1, of an input of two columns, through two slices."""
    node = onnx.helper.make_node
    return graph(
        [
            node("Split", ["x"], ["left", "right"], axis=1),
            node("Mul", ["left", "right"], ["score"]),
        ],
        {"x": 2},
        ["score"],
        kind,
    )


def test_a_graph_scores_rows() -> None:
    model = OnnxModel(product(), ["bm25", "freshness"])
    rows = np.asarray([[2.0, 0.25], [3.0, 5.0]])
    np.testing.assert_array_equal(model.score(rows), [0.5, 15.0])
    assert model.dtype == np.float64
    assert model.trees() is None


def test_points_have_the_type_of_the_input(tmp_path: Path) -> None:
    onnx.save(product(FLOAT), tmp_path / "ranker.onnx")
    model = read_model(tmp_path / "ranker.onnx", ["bm25", "freshness"])
    assert model.dtype == np.float32
    np.testing.assert_array_equal(model.score(np.asarray([[0.1, 1.0]])), [np.float32(0.1)])


def test_one_input_a_feature() -> None:
    sub = onnx.helper.make_node("Sub", ["bm25", "price"], ["score"])
    model = OnnxModel(graph([sub], {"bm25": 1, "price": 1}, ["score"], FLOAT))
    assert model.names == ("bm25", "price")
    np.testing.assert_array_equal(model.score(np.asarray([[3.0, 1.0]])), [2.0])


def test_the_output_can_be_named() -> None:
    node = onnx.helper.make_node
    both = graph(
        [node("Neg", ["x"], ["low"]), node("Abs", ["x"], ["high"])], {"x": 1}, ["low", "high"], FLOAT
    )
    rows = np.asarray([[2.0]])
    assert OnnxModel(both, ["x"]).score(rows).tolist() == [2.0]
    assert OnnxModel(both, ["x"], output="low").score(rows).tolist() == [-2.0]
    with pytest.raises(ModelError, match="no output 'middle'; it has low, high"):
        OnnxModel(both, ["x"], output="middle")


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(ValueError, match="names is missing"):
        OnnxModel(product())
    twice = onnx.helper.make_node("Concat", ["x", "x"], ["score"], axis=1)
    wide = OnnxModel(graph([twice], {"x": 2}, ["score"], FLOAT), ["a", "b"])
    with pytest.raises(ModelError, match=r"shape \(1, 4\) for 1 rows"):
        wide.score(np.asarray([[1.0, 2.0]]))
    add = onnx.helper.make_node("Add", ["x", "x"], ["score"])
    whole = graph([add], {"x": 1}, ["score"], onnx.TensorProto.INT64)
    with pytest.raises(ModelError, match=r"input x of tensor\(int64\)"):
        OnnxModel(whole, ["x"])
    with pytest.raises(ModelError, match="raised"):
        OnnxModel(product(), ["a", "b", "c"]).score(np.asarray([[1.0, 2.0, 3.0]]))


@pytest.mark.parametrize("whole", [False, True])
def test_a_graph_that_is_cut_off_is_said_to_be_damaged(tmp_path: Path, whole: bool) -> None:
    data = product().SerializeToString()[:-30]
    path = tmp_path / "cut.onnx"
    path.write_bytes(data)
    with pytest.raises(DataError, match="cannot be read as an ONNX model; it may be damaged or cut off"):
        OnnxModel(str(path) if whole else data, ["x0", "x1"])

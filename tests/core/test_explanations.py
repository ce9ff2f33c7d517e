"""What an explanation shows, and the forms it can take."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from ranklens.core.explanations import PairwiseExplanation, PairwiseExplanations
from ranklens.explain import CallableAdapter, pairwise, pairwise_many

NAMES = ["bm25", "freshness", "price"]
MODEL = CallableAdapter(lambda x: x[:, 0] * x[:, 1] + 0.1 * x[:, 2], NAMES)


@pytest.fixture(name="exact")
def exact_one() -> PairwiseExplanation:
    return pairwise(MODEL, (2.0, 0.2, 1.0), (1.5, 0.9, 1.0))


@pytest.fixture(name="sampled")
def sampled_one() -> PairwiseExplanation:
    return pairwise(MODEL, (2.0, 0.2, 1.0), (1.5, 0.9, 3.0), method="orders", n_permutations=9)


def test_prints_the_scores_and_each_contribution(
    exact: PairwiseExplanation, sampled: PairwiseExplanation
) -> None:
    assert str(exact).splitlines() == [
        "score 0.500 → 1.450, delta +0.950 (exact, 6 model rows)",
        "freshness +1.225",
        "bm25 -0.275",
        "price +0.000",
    ]
    # No scatter in nine orders is no proof that there is none, so that an error is left.
    assert "price +0.200 ± 0.014" in str(sampled)
    assert repr(exact) == "<PairwiseExplanation: delta +0.95 (freshness +1.225, bm25 -0.275, price +0)>"


def test_small_contributions_are_printed_with_digits_that_show_them() -> None:
    found = pairwise(CallableAdapter(lambda x: 1e-5 * x.sum(axis=1), ["x", "y"]), (0, 0), (1, 2))
    assert "y +0.00002000" in str(found)


def test_many_features_are_cut_after_the_largest() -> None:
    k = 30
    weights = np.arange(1.0, k + 1)
    model = CallableAdapter(lambda x: x @ weights, [f"x{i}" for i in range(k)])
    lines = str(pairwise(model, np.zeros(k), np.ones(k), method="orders")).splitlines()
    assert lines[1].startswith("x29 +30.000 ± ")
    assert lines[-1] == "and 10 smaller ones"
    assert len(lines) == 22


def test_ranked_breaks_ties_by_name() -> None:
    model = CallableAdapter(lambda x: x[:, 0] - x[:, 1] + 2 * x[:, 2], ["b", "a", "c"])
    # The sizes of a and b differ by rounding.
    assert [name for name, _ in pairwise(model, (0, 0, 0), (1, 1, 1)).ranked()] == ["c", "a", "b"]


def test_dictionary_is_json(exact: PairwiseExplanation, sampled: PairwiseExplanation) -> None:
    for found in (exact, sampled):
        read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert read["contributions"] == dict(found.contributions)
        assert read["n_model_rows"] == found.n_model_rows
        assert (read["standard_errors"] is None) == found.exact


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_frame_has_a_row_a_feature(exact: PairwiseExplanation, library: str) -> None:
    pytest.importorskip(library)
    frame = exact.to_frame(library)
    columns = (
        frame.to_pydict() if library == "pyarrow" else {name: list(frame[name]) for name in frame.columns}
    )
    assert columns["name"] == ["freshness", "bm25", "price"]
    assert columns["contribution"] == [value for _, value in exact.ranked()]
    assert columns["value_b"] == [0.9, 1.5, 1.0]


def test_html_is_an_escaped_table() -> None:
    found = pairwise(CallableAdapter(lambda x: x[:, 0], ["<b>"]), (0,), (1,))
    assert "&lt;b&gt;" in found._repr_html_()


def test_survives_pickling(exact: PairwiseExplanation, sampled: PairwiseExplanation) -> None:
    for found in (exact, sampled):
        assert pickle.loads(pickle.dumps(found)) == found
    many = pairwise_many(MODEL, [[2.0, 0.2, 1.0]], [[1.5, 0.9, 1.0]])
    assert pickle.loads(pickle.dumps(many))[0] == exact


def test_cannot_be_changed(exact: PairwiseExplanation) -> None:
    with pytest.raises(TypeError):
        exact.contributions["bm25"] = 0.0  # type: ignore[index]


def test_intervals_are_those_of_student(sampled: PairwiseExplanation, exact: PairwiseExplanation) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert sampled.standard_errors is not None
    assert sampled.degrees_of_freedom == 8
    low, high = sampled.interval("bm25", confidence=0.9)
    reach = stats.t.ppf(0.95, 8) * sampled.standard_errors["bm25"]
    assert (low, high) == pytest.approx(
        (sampled.contributions["bm25"] - reach, sampled.contributions["bm25"] + reach)
    )
    assert exact.interval("bm25") == (exact.contributions["bm25"],) * 2
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        sampled.interval("bm25", confidence=95)
    one_order = pairwise(MODEL, (2.0, 0.2, 1.0), (1.5, 0.9, 3.0), method="orders", n_permutations=1)
    with pytest.raises(ValueError, match="too few samples"):
        one_order.interval("bm25")


def test_is_a_shap_explanation_too() -> None:
    shap = pytest.importorskip("shap", reason="shap is not installed")
    a, b = np.asarray([[2.0, 0.2, 1.0], [1.0, 1.0, 1.0]]), np.asarray([[1.5, 0.9, 1.0], [0.0, 2.0, 0.5]])
    many = pairwise_many(MODEL, a, b)
    one, all_of_them = many[0].to_shap(), many.to_shap()
    assert isinstance(one, shap.Explanation)
    assert one.feature_names == NAMES
    np.testing.assert_array_equal(one.data, b[0])
    np.testing.assert_allclose(one.base_values + one.values.sum(), many[0].score_b)
    np.testing.assert_array_equal(all_of_them.values, many.contributions)
    np.testing.assert_array_equal(all_of_them[1].data, b[1])


def test_a_group_has_no_single_value_to_show() -> None:
    pytest.importorskip("shap", reason="shap is not installed")
    found = pairwise(MODEL, (2.0, 0.2, 1.0), (1.5, 0.9, 1.0), groups=[("bm25", "price")])
    assert np.isnan(found.to_shap().data).tolist() == [True, False]
    assert found.to_frame("polars")["value_a"].to_list() == [0.2, None]


def test_many_are_a_sequence_and_a_frame() -> None:
    many = pairwise_many(MODEL, [[2.0, 0.2, 1.0]] * 3, [[1.5, 0.9, 1.0]] * 3)
    assert isinstance(many, PairwiseExplanations)
    assert len(many) == len(list(many)) == len(many[:]) == 3
    assert many[-1] == many[1]
    # A and B of the first are asked twice.
    assert many.n_model_rows.tolist() == [6, 4, 4]
    with pytest.raises(IndexError):
        many[3]
    assert repr(many) == "<PairwiseExplanations: 3 pairs, 3 names>"
    frame = many.to_frame("polars")
    assert frame.columns == ["pair", "name", "contribution"]
    assert frame.height == 9
    np.testing.assert_array_equal(many.delta, many.score_b - many.score_a)

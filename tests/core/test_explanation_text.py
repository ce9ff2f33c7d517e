"""Numbers of an explanation are read at a glance, however small or large they are."""

from __future__ import annotations

import pytest

from ranklens.core import UnknownNameError
from ranklens.core.explanations import PairwiseExplanation, decimals, signed, unsigned


def explained(unit: float, errors: dict[str, float] | None = None) -> PairwiseExplanation:
    parts = {"bm25": 1.5 * unit, "price": -0.25 * unit}
    values = {"bm25": 1.0, "price": 2.0}
    return PairwiseExplanation(
        unit, 2.25 * unit, 1.25 * unit, parts, errors is None, errors, 4, "exact", values, values
    )


@pytest.mark.parametrize("unit", [1e-20, 1e-300, 1e20, 1e300])
def test_tiny_and_huge_scores_have_an_exponent(unit: float) -> None:
    text = str(explained(unit, {"bm25": 0.1 * unit, "price": 0.0}))
    assert f"score {unit:.3e} → {2.25 * unit:.3e}, delta +{1.25 * unit:.3e}" in text
    assert f"bm25 +{1.5 * unit:.3e} ± {0.1 * unit:.3e}" in text
    assert f"price -{0.25 * unit:.3e} ± 0.000e+00" in text


@pytest.mark.parametrize(("largest", "digits"), [(1e-12, 15), (9e-13, -1), (1.0, 3), (1e6, 3), (1e18, 3)])
def test_decimals_end_where_numbers_are_too_long(largest: float, digits: int) -> None:
    assert decimals([largest]) == digits


def test_a_rounded_zero_is_positive_with_an_exponent_too() -> None:
    assert signed(-0.0, -1) == "+0.000e+00"
    assert unsigned(12.5, -1) == "1.250e+01"


def test_the_interval_of_an_unknown_feature_says_so() -> None:
    with pytest.raises(UnknownNameError, match="unknown feature 'pric'; did you mean price"):
        explained(1.0).interval("pric")

"""Comparison results: verdicts, one line of text, JSON, notebooks."""

import dataclasses
import json
import math
import pickle

import pytest

from ranklens.core import BootstrapInterval, ComparisonResult, PPIComparison
from ranklens.core.disagreement import disagreement_note

INTERVAL = BootstrapInterval(0.02, 0.01, 0.03, 0.05, 50, 10_000, 7)
COMPARISON = ComparisonResult(
    "nDCG@10",
    0.4,
    0.42,
    0.02,
    0.01,
    0.03,
    0.05,
    0.004,
    50,
    1,
    2,
    10_000,
    10_000,
    7,
    wins=30,
    ties=5,
    losses=15,
)
PPI = PPIComparison("AP", 0.4, 0.42, 0.02, 0.01, 0.03, 0.05, 0.004, 0.9, 400, 40)


@pytest.mark.parametrize("result", [INTERVAL, COMPARISON, PPI], ids=lambda r: type(r).__name__)
def test_a_result_is_frozen_slotted_and_picklable(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.alpha = 0.1
    assert not hasattr(result, "__dict__")
    assert pickle.loads(pickle.dumps(result)) == result
    assert hash(result) == hash(dataclasses.replace(result))


@pytest.mark.parametrize("result", [INTERVAL, COMPARISON, PPI], ids=lambda r: type(r).__name__)
def test_a_result_prints_as_one_line(result):
    assert "\n" not in str(result)
    assert repr(result) == f"<{type(result).__name__}: {result}>"


@pytest.mark.parametrize("result", [INTERVAL, COMPARISON, PPI], ids=lambda r: type(r).__name__)
def test_a_result_is_json_with_every_field(result):
    read = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    for item in dataclasses.fields(result):
        assert read[item.name] == getattr(result, item.name)


def test_an_open_interval_is_valid_json():
    one_sided = dataclasses.replace(COMPARISON, ci_high=math.inf, alternative="greater")
    assert json.loads(json.dumps(one_sided.to_dict(), allow_nan=False))["ci_high"] is None


def test_the_verdict_goes_by_q_once_there_is_one():
    assert COMPARISON.significant
    assert not dataclasses.replace(COMPARISON, q_value=0.06).significant
    assert dataclasses.replace(COMPARISON, p_value=0.2, q_value=0.01).significant
    assert PPI.significant
    assert not dataclasses.replace(PPI, q_value=0.06).significant


def test_the_verdict_is_strict():
    assert not dataclasses.replace(COMPARISON, p_value=0.05).significant
    assert not dataclasses.replace(PPI, p_value=0.05).significant


def test_a_row_that_was_not_tested_says_so():
    row = dataclasses.replace(COMPARISON, p_value=None, ci_low=None, ci_high=None, n_queries=3)
    assert not row.tested
    assert not row.significant
    assert str(row).endswith("(3 queries: too few to test)")


def test_the_relative_difference_needs_a_baseline_above_zero():
    assert COMPARISON.relative_delta == pytest.approx(0.05)
    assert dataclasses.replace(COMPARISON, mean_a=0.0).relative_delta is None
    assert dataclasses.replace(COMPARISON, mean_a=None, delta=None).relative_delta is None


def test_an_interval_excludes_zero_only_when_zero_lies_outside():
    assert INTERVAL.excludes_zero
    assert dataclasses.replace(INTERVAL, low=-0.03, high=-0.01).excludes_zero
    assert not dataclasses.replace(INTERVAL, low=0.0).excludes_zero


def test_negative_zero_is_never_printed():
    row = dataclasses.replace(COMPARISON, delta=-0.0, ci_low=-0.00001, ci_high=0.00001)
    assert "-0.0" not in str(row)


def test_names_from_the_data_are_escaped_in_notebooks():
    row = dataclasses.replace(COMPARISON, run_b="<script>alert(1)</script>")
    assert "<script>" not in row._repr_html_()


def test_an_interval_without_zero_beside_a_large_p_value_is_explained():
    row = dataclasses.replace(COMPARISON, p_value=0.25, n_queries=3, wins=3, ties=0, losses=0)
    note = disagreement_note(row)
    assert "3 non-zero differences cannot give a p-value below 0.2500" in note
    assert note in str(row)
    sampled = dataclasses.replace(row, p_value=0.2469, n_permutations=10_000)
    assert "p-value below 0.2500 but for the noise of random flips, and a" in disagreement_note(sampled)


def test_an_interval_with_zero_beside_a_small_p_value_is_explained():
    row = dataclasses.replace(COMPARISON, ci_low=-0.01)
    assert disagreement_note(row).startswith("the interval includes 0 though p 0.0040 is below 0.05")


def test_an_interval_without_zero_beside_a_p_value_of_too_few_flips_is_explained():
    row = dataclasses.replace(COMPARISON, p_value=0.1, n_permutations=9)
    assert "9 random flips cannot give a p-value below 0.1000" in disagreement_note(row)


def test_a_near_miss_is_explained_by_the_width_of_the_interval():
    row = dataclasses.replace(COMPARISON, p_value=0.06)
    assert "interval of 50 queries is somewhat too narrow" in disagreement_note(row)


def test_agreement_needs_no_note():
    assert disagreement_note(COMPARISON) is None
    assert disagreement_note(dataclasses.replace(COMPARISON, ci_low=-0.01, p_value=0.3)) is None
    assert disagreement_note(dataclasses.replace(COMPARISON, ci_low=None, ci_high=None, p_value=None)) is None


def test_what_the_proxy_alone_would_have_claimed_is_printed():
    assert "the proxy alone says +0.0500" in str(dataclasses.replace(PPI, proxy_delta=0.05))


def test_sentences_fit_their_numbers():
    few = ComparisonResult(
        "AP", 0.4, 0.6, 0.2, 0.1, 0.3, 0.05, 0.5, 3, 0, 0, 0, 1, 0, wins=3, interval="expanded"
    )
    assert "1 random flip cannot" in str(few)
    assert "and an expanded interval" in str(dataclasses.replace(few, n_permutations=0, method="exact"))
    exact = BootstrapInterval(0.02, 0.01, 0.03, 0.05, 50, 0, 0)
    assert "50 queries, infinitely many resamples" in str(exact)

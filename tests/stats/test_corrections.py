"""The corrections, their rounding, and the families of mixed results."""

import dataclasses
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.core import CoarsePValueWarning, ComparisonResult, PPIComparison
from ranklens.core.comparison_table import ComparisonTable
from ranklens.stats import adjust, benjamini_hochberg, benjamini_yekutieli, holm

ROW = ComparisonResult("AP", 0.2, 0.25, 0.05, 0.02, 0.08, 0.05, 0.01, 50, 0, 0, 10_000, 10_000, 0)
PPI = PPIComparison("AP", 0.4, 0.42, 0.02, 0.01, 0.03, 0.05, 0.04, 0.9, 400, 40)

# The example of Benjamini and Hochberg (1995), section 3.2.
# fmt: off
PAPER = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
    0.7590, 1,
]
PAPER_Q = [
    0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.06385714, 0.06385714, 0.0645, 0.0765, 0.486, 0.58118182,
    0.714875, 0.75323077, 0.81321429, 1,
]
# fmt: on


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.01, 0.04, 0.5], [0.03, 0.06, 0.5]),
        ([0, 0, 0.01, 0.01, 0.04, 1], [0, 0, 0.015, 0.015, 0.048, 1]),
        (PAPER, PAPER_Q),
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
        ([], []),
    ],
)
def test_known_q_values(p, q):
    assert benjamini_hochberg(p) == pytest.approx(tuple(q), abs=5e-9)


def test_the_papers_example_rejects_four():
    assert sum(q < 0.05 for q in benjamini_hochberg(PAPER)) == 4


def test_equal_up_to_rounding_means_one_verdict():
    q = benjamini_hochberg([0.01, 0.02, 0.03, 0.04, 0.05])
    assert q == (0.05,) * 5
    assert [value < 0.05 for value in q] == [False] * 5


@given(st.integers(1, 400), st.sampled_from([0.05, 0.01, 0.1, 0.001]))
def test_a_staircase_that_meets_alpha_everywhere_gives_one_verdict(m, alpha):
    # p(i) = i alpha / m is q = alpha for all, in decimal arithmetic.
    q = benjamini_hochberg([i * alpha / m for i in range(1, m + 1)])
    assert len({value < alpha for value in q}) == 1


@given(st.floats(0, 1))
def test_one_p_value_is_its_own_q_value(p):
    assert benjamini_hochberg([p]) == (p,)


def fractions_of_a_family(p: list[float]) -> list[float]:
    """The definition, by the double loop."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    q = [0.0] * len(p)
    for position, i in enumerate(order):
        tail = [p[j] * len(p) / (k + 1) for k, j in enumerate(order) if k >= position]
        q[i] = min(1.0, min(tail))
    return q


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.05, 0.5, 1.0]), max_size=25))
def test_q_values_follow_the_definition_in_the_order_of_the_input(p):
    assert benjamini_hochberg(p) == pytest.approx(fractions_of_a_family(p), rel=1e-14, abs=1e-300)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=25))
def test_q_values_are_at_least_p_and_ordered_like_p(p):
    q = benjamini_hochberg(p)
    assert all(b >= a for a, b in zip(p, q, strict=True))
    assert all(q[i] <= q[j] for i in range(len(p)) for j in range(len(p)) if p[i] <= p[j])


@pytest.mark.parametrize("p", [math.nextafter(1, 2), 1 + 2e-16, 1 + 4 * 2**-52])
def test_a_rounding_error_above_one_is_clipped(p):
    assert benjamini_hochberg([p, 0.5]) == (1.0, 1.0)


@pytest.mark.parametrize("p", [float("nan"), -1e-300, 1.0000001, 1 + 5 * 2**-52, float("inf")])
def test_anything_else_outside_zero_and_one_is_named_by_its_index(p):
    with pytest.raises(ValueError, match=r"p_values\[2\] must lie in \[0, 1\]"):
        benjamini_hochberg([0.1, 0.2, p])


def test_arrays_of_any_backend_are_taken(backend):
    values = backend.asarray(np.array([0.01, 0.04, 0.5]))
    assert benjamini_hochberg(values) == pytest.approx((0.03, 0.06, 0.5))


def test_both_kinds_of_comparison_are_one_family():
    row, ppi = adjust([ROW, PPI])
    assert (row.q_value, ppi.q_value) == (0.02, 0.04)
    assert (row.correction, row.family) == ("bh", "2 comparisons")
    assert dataclasses.replace(row, q_value=None, correction=None, family=None) == ROW
    assert dataclasses.replace(ppi, q_value=None) == PPI


def test_a_comparison_without_a_p_value_takes_no_part():
    few = dataclasses.replace(ROW, p_value=None, ci_low=None, ci_high=None, n_permutations=0)
    first, untested, last = adjust([ROW, few, dataclasses.replace(ROW, p_value=0.5)], family="AP by locale")
    assert untested == few
    assert (first.q_value, last.q_value) == (0.02, 0.5)
    assert first.family == "AP by locale (2 comparisons)"


def test_nothing_to_adjust():
    assert adjust([]) == ()


def test_a_table_stays_a_table():
    table = adjust(ComparisonTable([ROW, ROW]), family="AP")
    assert isinstance(table, ComparisonTable)
    assert [row.q_value for row in table] == [0.01, 0.01]


def test_a_matrix_of_p_values_is_refused():
    with pytest.raises(ValueError, match=r"p_values must be one-dimensional, got shape \(2, 2\)"):
        benjamini_hochberg(np.full((2, 2), 0.5))


def family(n: int, flips: int) -> list[ComparisonResult]:
    lone = dataclasses.replace(ROW, p_value=1 / (flips + 1), n_permutations=flips)
    return [lone, *[dataclasses.replace(ROW, p_value=1.0, n_permutations=flips)] * (n - 1)]


def test_too_few_flips_for_a_lone_effect_warn_with_the_number_needed():
    with pytest.warns(CoarsePValueWarning, match='n_permutations of at least 200000, or method="exact"'):
        lone = adjust(family(10_000, 9_999))[0]
    assert not lone.significant


def test_one_flip_less_than_needed_warns_and_cannot_reject():
    with pytest.warns(CoarsePValueWarning, match="at least 200000"):
        lone = adjust(family(10_000, 199_999))[0]
    assert lone.q_value == 0.05
    assert not lone.significant


def test_as_many_flips_as_needed_reject_without_a_warning():
    assert adjust(family(10_000, 200_000))[0].significant


def test_exact_p_values_need_no_flips():
    rows = [dataclasses.replace(row, n_permutations=0) for row in family(10_000, 9_999)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjusted = adjust(rows)
    assert all(row.q_value is not None for row in adjusted)


def test_holm_steps_down():
    assert holm([0.01, 0.02, 0.03]) == (0.03, 0.04, 0.04)
    assert holm([0.03, 0.01, 0.02]) == (0.04, 0.03, 0.04)
    assert holm([0.4, 0.9, 0.5]) == (1.0, 1.0, 1.0)


def test_holm_gives_equal_multiples_one_verdict():
    # (m - i + 1) p(i) is 0.05 for every i in decimal arithmetic.
    p = [0.05 / (5 - i) for i in range(5)]
    assert set(holm(p)) == {0.05}


@pytest.mark.parametrize(
    ("correction", "method"),
    [(benjamini_hochberg, "fdr_bh"), (benjamini_yekutieli, "fdr_by"), (holm, "holm")],
)
def test_corrections_agree_with_statsmodels(correction, method):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(0)
    for m in range(1, 25):
        p = np.round(rng.random(m) ** 3, 2)
        expected = multitest.multipletests(p, method=method)[1]
        assert correction(p) == pytest.approx(tuple(expected), rel=1e-13, abs=1e-300)


def test_dependence_costs_the_harmonic_number():
    p = [0.001, 0.004, 0.019, 0.03]
    expected = [q * (1 + 1 / 2 + 1 / 3 + 1 / 4) for q in benjamini_hochberg(p)]
    assert benjamini_yekutieli(p) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("correction", [benjamini_hochberg, benjamini_yekutieli, holm])
def test_every_correction_refuses_the_same_and_takes_nothing(correction):
    assert correction([]) == ()
    with pytest.raises(ValueError, match=r"p_values\[1\] must lie in \[0, 1\], got nan"):
        correction([0.1, float("nan")])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_bound_on_any_false_rejection_asks_for_more_than_a_rate(p):
    assert all(q <= h * (1 + 1e-14) for q, h in zip(benjamini_hochberg(p), holm(p), strict=True))


def test_a_correction_is_recorded_and_an_unknown_one_is_named():
    rows = [ROW, dataclasses.replace(ROW, p_value=0.04)]
    assert [(row.q_value, row.correction) for row in adjust(rows, correction="holm")] == [
        (0.02, "holm"),
        (0.04, "holm"),
    ]
    with pytest.raises(ValueError, match="correction must be one of bh, by, holm, got 'bonferroni'"):
        adjust(rows, correction="bonferroni")


def test_the_flips_needed_follow_the_correction():
    # 100 (1 + 1/2 + ... + 1/100) / 0.05 = 10374.8
    with pytest.warns(CoarsePValueWarning, match="at least 10374"):
        adjust(family(100, 10_000), correction="by")

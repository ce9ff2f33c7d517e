"""Arguments of the wrong kind are named, with what would be right."""

import numpy as np
import pytest

import ranklens as rl
from ranklens.stats.permutation import sign_flip_test

DELTAS = [0.1, 0.2, 0.3, -0.2, 0.1, 0.3, -0.1, 0.2, 0.15, 0.4]


def result(value, first=0):
    return rl.MetricResult("AP", {f"q{first + i}": value for i in range(20)})


@pytest.mark.parametrize("name", [None, 3, ["numpy"]])
def test_a_backend_is_named_by_text(name):
    with pytest.raises(TypeError, match="name must be one of numpy, "):
        rl.use_backend(name)


@pytest.mark.parametrize("n_bytes", ["1GB", None, True, float("nan")])
def test_a_memory_budget_is_a_number(n_bytes):
    with pytest.raises(TypeError, match="n_bytes must be a number of bytes"):
        rl.memory_budget(n_bytes)


@pytest.mark.parametrize("correct", [rl.benjamini_hochberg, rl.benjamini_yekutieli, rl.holm])
def test_p_values_are_numbers_in_a_sequence(correct):
    for wrong in (None, 0.05, "0.1"):
        with pytest.raises(TypeError, match="p_values must be a sequence of p-values"):
            correct(wrong)
    for wrong in (["0.1"], [None], [0.5, True]):
        with pytest.raises(TypeError, match=r"p_values\[\d\] must be a number in \[0, 1\]"):
            correct(wrong)
    assert correct([np.float32(0.5), 1]) == correct([0.5, 1.0])


def test_adjust_takes_comparisons():
    with pytest.raises(TypeError, match="results must be comparisons, got 1; plain p-values take"):
        rl.adjust([1, 2])
    with pytest.raises(TypeError, match="results must be a sequence of comparisons, got NoneType"):
        rl.adjust(None)


def test_adjust_without_a_correction_changes_nothing():
    row = rl.compare(result(0.1), result(0.2), method="exact")
    assert rl.adjust([row], correction=None) == (row,)


def test_compare_many_names_what_it_lacks():
    runs = {"a": result(0.1), "b": result(0.2)}
    with pytest.raises(rl.UnknownNameError, match="unknown baseline '3'"):
        rl.compare_many(runs, baseline=3)
    with pytest.raises(ValueError, match="measures is empty"):
        rl.compare_many(runs, measures=[])
    with pytest.raises(TypeError, match="evaluations must map run names"):
        rl.compare_many([result(0.1), result(0.2)])


def test_an_interval_needs_two_resamples():
    with pytest.raises(ValueError, match="n_resamples must be a whole number of at least 2, got 1"):
        rl.paired_bootstrap(DELTAS, n_resamples=1)
    with pytest.raises(ValueError, match="n_resamples must be a whole number of at least 2, got 1"):
        rl.compare(result(0.1), result(0.2), n_resamples=1)


@pytest.mark.parametrize("find", [rl.compare, rl.paired_deltas])
def test_runs_without_a_common_query_are_shown(find):
    with pytest.raises(
        rl.InsufficientSampleError,
        match=r"0 queries in common \(A has 'q0', 'q1', 'q2', …; B has 'q100', 'q101', 'q102', …\)",
    ):
        find(result(0.1), result(0.2, first=100))


def test_auto_is_exact_where_that_is_cheap():
    exact = rl.paired_bootstrap(DELTAS, method="exact")
    assert rl.paired_bootstrap(DELTAS, method="auto") == exact
    assert rl.permutation_test(DELTAS, method="auto") == rl.permutation_test(DELTAS, method="exact")
    many = np.random.default_rng(0).normal(0.01, 1.0, 40)
    assert sign_flip_test(many, method="auto", n_permutations=99).method == "monte-carlo"
    assert rl.paired_bootstrap(many, method="auto", n_resamples=99).n_resamples == 99
    drawn = rl.paired_bootstrap(DELTAS, method="auto", interval="studentized", n_resamples=99)
    assert drawn.n_resamples == 99
    with pytest.raises(ValueError, match="not finite"):
        rl.permutation_test([0.1, float("nan")], method="auto")

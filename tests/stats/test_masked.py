"""What is not measured, and what is corrected together, in arrays of differences."""

from __future__ import annotations

import numpy as np
import pytest

import ranklens as rl

QUIET = {"method": "monte-carlo", "correction": None, "n_resamples": 200, "n_permutations": 200}
COLUMNS = ("delta", "ci_low", "ci_high", "p_value", "effect", "wins", "ties", "losses", "n_queries")


def same(one, other):
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("given", [None, "row", "all"])
def test_what_a_masked_array_masks_is_not_measured(given):
    rng = np.random.default_rng(0)
    deltas = rng.normal(0.2, 1.0, (3, 40))
    hidden = deltas > 1.0
    measured = {"row": rng.random(40) < 0.9, "all": rng.random((3, 40)) < 0.9}.get(given)
    both = ~hidden if measured is None else ~hidden & measured
    expected = rl.compare_deltas(deltas, mask=both, **QUIET)
    masked = np.ma.array(deltas, mask=hidden)
    same(rl.compare_deltas(masked, mask=measured, **QUIET), expected)
    same(rl.compare_deltas(list(masked), mask=measured, **QUIET), expected)
    assert expected.n_queries.tolist() == np.count_nonzero(both, axis=1).tolist()


@pytest.mark.parametrize(
    "call",
    [
        rl.permutation_test,
        rl.paired_bootstrap,
        rl.standard_deviation,
        lambda values: rl.permutation_test([1.0] * 5, weights=values),
        lambda values: rl.MetricResult.from_arrays("AP", list("abcde"), values),
    ],
)
def test_a_mask_that_would_be_lost_is_refused(call):
    with pytest.raises(ValueError, match="masked array"):
        call(np.ma.array([1.0, 2.0, 3.0, 4.0, 5.0], mask=[0, 0, 1, 0, 0]))


@pytest.mark.parametrize("family", ["all", "abc", b"abc", 3, [[1], [2], [3]], ["a", "b"]])
def test_a_family_is_a_sequence_of_labels(family):
    with pytest.raises(ValueError, match="family"):
        rl.compare_deltas(np.ones((3, 20)), family=family)

"""A q-value of max-T, and an interval that holds with others, say what they were sampled from."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ranklens as rl
from ranklens.core import CoarsePValueWarning

ALONE = (None, None)


def runs(n=40):
    rng = np.random.default_rng(1)
    base = rng.random(n)
    return {
        name: rl.MetricResult("AP", dict(zip(map(str, range(n)), base + shift * rng.random(n), strict=True)))
        for name, shift in (("a", 0.0), ("b", 0.1), ("c", 0.3))
    }


def of_q(row):
    return row.q_permutations, row.q_seed


@pytest.mark.parametrize("method", ["exact", "auto", "monte-carlo"])
def test_sampled_q_values_record_their_flips_and_seed(method):
    options = {"method": method, "n_permutations": 99, "seed": 7}
    table = rl.compare_many(runs(), correction="maxt", **options)
    assert {of_q(row) for row in table} == {(99, 7)}
    assert "q: step-down max-T over 99 random sign flips, seed 7, within" in str(table)
    deltas = np.stack([row.values for row in runs().values()]) - 0.3
    found = rl.compare_deltas(deltas, correction="maxt", **options)
    assert found.q_permutations == found.to_dict()["q_permutations"] == 99
    assert "step-down max-T over 99 random sign flips" in str(found)
    assert (found.q_value >= 1 / 100).all()


def test_segments_share_the_flips_of_one_seed():
    a, b, _ = runs().values()
    halves = {query: "odd" if int(query) % 2 else "even" for query in a.per_query}
    table = rl.compare_segments(a, b, halves, correction="maxt", seed=3, n_permutations=500)
    assert {of_q(row) for row in table} == {(500, 3)}
    assert len({row.seed for row in table}) == 2


def test_few_queries_are_enumerated():
    table = rl.compare_many(runs(12), correction="maxt", method="exact", min_queries=2)
    assert {of_q(row) for row in table} == {(0, 0)}
    assert "q: step-down max-T over all sign flips within" in str(table)


def test_other_corrections_have_no_flips_of_their_own():
    table = rl.compare_many(runs(), correction="maxt")
    assert {of_q(row) for row in rl.adjust(table)} == {ALONE}
    assert {of_q(row) for row in rl.compare_many(runs())} == {ALONE}
    assert rl.compare_deltas(np.ones((2, 20))).q_permutations is None


@pytest.mark.parametrize("method", ["exact", "monte-carlo"])
@pytest.mark.parametrize(("n_permutations", "warned"), [(10, True), (19, True), (20, False)])
def test_too_few_flips_for_any_verdict_are_warned_of(method, n_permutations, warned):
    for call in (
        lambda **options: rl.compare_many(runs(), **options),
        lambda **options: rl.compare_deltas(np.ones((2, 20)), **options),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(correction="maxt", method=method, n_permutations=n_permutations)
        assert [item.category for item in caught] == [CoarsePValueWarning] * warned


def test_intervals_together_say_what_they_are_made_of():
    table = rl.compare_many(runs())
    known = rl.simultaneous(table, runs(), n_permutations=999, seed=5)
    for row in known:
        shown = row.to_dict()
        assert (shown["simultaneous_permutations"], shown["simultaneous_seed"]) == (999, 5)
    assert "(the largest t under 999 random sign flips, seed 5)" in str(known)
    alone = rl.simultaneous(known)
    assert {(row.simultaneous_permutations, row.simultaneous_seed) for row in alone} == {ALONE}
    assert "(Bonferroni, Student's t)" in str(alone)

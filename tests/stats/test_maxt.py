"""Step-down max-T: against enumeration by hand, and its error rate in a simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ranklens as rl
from ranklens.core import MetricResult, QueryIndex
from ranklens.stats import compare_many, compare_segments


def adjusted(deltas, **options):
    kept = {"method": "exact", "correction": "maxt", "min_queries": 2} | options
    return rl.compare_deltas(deltas, **kept).q_value


def enumerated(deltas, side=np.abs):
    """Westfall and Young's algorithm 2.8 with every sign assignment."""
    deltas = np.asarray(deltas, dtype=float)
    norms = np.sqrt((deltas**2).sum(axis=1))
    observed = side(deltas.sum(axis=1) / norms)
    order = np.argsort(-observed, kind="stable")
    signs = np.array(list(itertools.product((1, -1), repeat=deltas.shape[1])))
    statistics = side(signs @ deltas.T / norms)[:, order]
    maxima = np.maximum.accumulate(statistics[:, ::-1], axis=1)[:, ::-1]
    p = np.maximum.accumulate((maxima >= observed[order] - 1e-12).mean(axis=0))
    q = np.empty(len(deltas))
    q[order] = p
    return q


def test_two_copies_count_once():
    assert adjusted([[1, 2, 3, 4, 5]] * 2).tolist() == [0.0625, 0.0625]


def test_scale_does_not_matter():
    rows = np.array([[1.0, 2, 3, 4, 5], [5.0, -1, 2, 2, 3]])
    np.testing.assert_array_equal(adjusted(rows), adjusted(rows * [[1e-3], [1e3]]))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("alternative", "side"),
    [("two-sided", np.abs), ("greater", np.positive), ("less", np.negative)],
)
def test_small_families_agree_with_enumeration(seed, alternative, side):
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.normal(0.5, 1, (4, 9)), np.round(rng.normal(0.5, 1, (3, 9)))])
    rows = rows[np.abs(rows).sum(axis=1) > 0]
    found = adjusted(rows, alternative=alternative)
    expected = np.maximum(enumerated(rows, side), [
        rl.permutation_test(row, method="exact", alternative=alternative) for row in rows
    ])  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_sampled_flips_come_near_enumeration(backend):
    rows = np.random.default_rng(5).normal(0.4, 1, (5, 12))
    found = adjusted(backend.asarray(rows), method="monte-carlo", n_permutations=4000, n_resamples=20)
    expected = enumerated(rows)
    assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / 4000) + 1 / 4000).all()


def test_correlated_comparisons_lose_less_than_by_holm():
    rng = np.random.default_rng(6)
    rows = rng.normal(0.35, 1.0, 60) + 0.05 * rng.normal(size=(20, 60))
    holm = rl.compare_deltas(rows, method="exact", correction="holm").q_value
    max_t = rl.compare_deltas(rows, method="exact", correction="maxt").q_value
    assert (max_t < 0.3 * holm).all()


def test_zero_rows_and_single_rows():
    q = adjusted([[0.0] * 6, [1.0] * 6])
    assert q.tolist() == [1.0, 2 / 64]


@pytest.mark.slow
def test_the_chance_of_any_false_rejection_is_bounded():
    rng = np.random.default_rng(7)
    n_trials, rejected, found = 300, 0, 0
    for trial in range(n_trials):
        shared = rng.normal(size=30)
        rows = 0.7 * shared + rng.normal(size=(10, 30))
        rows[:3] += 1.0
        q = rl.compare_deltas(
            rows, method="monte-carlo", correction="maxt", n_permutations=999, n_resamples=10, seed=trial
        ).q_value
        rejected += bool((q[3:] < 0.05).any())
        found += bool((q[:3] < 0.05).any())
    # The 99.9% quantile of a binomial of 300 trials at 0.05.
    assert rejected <= 28
    assert found >= 0.8 * n_trials


def results(shift, seed, n=40):
    queries = QueryIndex([f"q{i:02}" for i in range(n)])
    return MetricResult.from_arrays("AP", queries, np.random.default_rng(seed).normal(0.5 + shift, 0.1, n))


def test_a_table_of_runs_and_segments_takes_it():
    runs = {name: results(0.03 * i, i) for i, name in enumerate("abcd")}
    locale = {f"q{i:02}": ("de", "fr")[i % 2] for i in range(40)}
    table = compare_many(runs, baseline="a", segments={"locale": locale}, correction="maxt", min_queries=10)
    assert {row.family for row in table} == {"AP (3 comparisons)", "AP by locale (6 comparisons)"}
    assert all(row.correction == "maxt" and row.p_value <= row.q_value for row in table)
    overall = table.filter(segment=None)
    deltas = np.stack([runs[name].values - runs["a"].values for name in "bcd"])
    expected = rl.compare_deltas(deltas, correction="maxt", min_queries=10).q_value
    assert [row.q_value for row in overall] == pytest.approx(expected.tolist(), rel=1e-12)
    by_locale = compare_segments(
        runs["a"], runs["d"], {"locale": locale}, correction="maxt", min_queries=10, run_a="a", run_b="d"
    )
    assert [row.correction for row in by_locale] == ["maxt", "maxt"]


def test_units_are_flipped_together_in_a_family():
    rng = np.random.default_rng(8)
    rows, weights, clusters = rng.normal(0.4, 1.0, (5, 14)), rng.uniform(0.5, 3.0, 14), np.arange(14) // 2
    found = adjusted(rows, weights=weights, clusters=clusters)
    totals = (rows * weights).reshape(5, 7, 2).sum(axis=2)
    alone = [rl.permutation_test(row, method="exact", weights=weights, clusters=clusters) for row in rows]
    np.testing.assert_allclose(found, np.maximum(enumerated(totals), alone), rtol=1e-12)


def test_a_margin_shifts_what_a_family_flips():
    rows = np.random.default_rng(9).normal(0.1, 0.5, (4, 9))
    found = adjusted(rows, margin=0.3, alternative="greater")
    np.testing.assert_allclose(found, enumerated(rows + 0.3, np.positive), rtol=1e-12)


def test_equivalence_in_a_family_asks_both_questions_of_every_row():
    rows = np.random.default_rng(10).normal(0.0, 0.4, (3, 10))
    found = adjusted(rows, margin=0.5)
    both = enumerated(np.concatenate([rows + 0.5, 0.5 - rows]), np.positive).reshape(2, 3)
    np.testing.assert_allclose(found, both.max(axis=0), rtol=1e-12)


def test_tables_take_it_with_weights_and_clusters():
    runs = {name: results(0.03 * i, i) for i, name in enumerate("abc")}
    queries = list(runs["a"].per_query)
    design = {
        "weights": {query: 1.0 + i % 3 for i, query in enumerate(queries)},
        "clusters": {query: i // 2 for i, query in enumerate(queries)},
    }
    options = {"correction": "maxt", "min_queries": 5, "method": "monte-carlo"}
    locale = {query: ("de", "fr")[i % 2] for i, query in enumerate(queries)}
    table = compare_many(runs, baseline="a", segments={"locale": locale}, **design, **options)
    deltas = np.stack([runs[name].values - runs["a"].values for name in "bc"])
    arrays = {name: list(values.values()) for name, values in design.items()}
    expected = rl.compare_deltas(deltas, **arrays, **options).q_value
    assert [row.q_value for row in table[:2]] == expected.tolist()
    by_locale = compare_segments(
        runs["a"], runs["c"], {"locale": locale}, run_a="a", run_b="c", **design, **options
    )
    assert all(row.p_value <= row.q_value < 1.0 for row in by_locale)
    assert [row.p_value for row in by_locale] == [row.p_value for row in table[4:]]

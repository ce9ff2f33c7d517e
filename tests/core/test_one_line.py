"""One line says what was tested and of what sample; numbers agree with their nouns."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import ranklens as rl
from ranklens.core import ComparisonResult
from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.comparison_text import how_made, notes


def pair(n=40, shift=0.02):
    rng = np.random.default_rng(3)
    a = rng.random(n)
    b = a + shift + 0.05 * rng.normal(size=n)
    ids = [f"q{i:02}" for i in range(n)]
    return [rl.MetricResult("AP", dict(zip(ids, values, strict=True))) for values in (a, b)]


SESSIONS = {f"q{i:02}": i // 2 for i in range(40)}
TRAFFIC = {f"q{i:02}": 1 + i % 3 for i in range(40)}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"margin": 0.05}, " for equivalence: -0.05 < delta < 0.05 ("),
        ({"margin": 0.05, "alternative": "greater"}, " for non-inferiority: delta > -0.05 ("),
        ({"margin": 0.05, "alternative": "less"}, " for non-superiority: delta < 0.05 ("),
        ({"alternative": "greater"}, " for delta > 0 ("),
        ({"alternative": "less"}, " for delta < 0 ("),
        ({"clusters": SESSIONS}, "over 40 queries in 20 clusters)"),
        ({"weights": TRAFFIC}, "over 40 queries, weighted)"),
        ({"weights": TRAFFIC, "clusters": SESSIONS}, "over 40 queries in 20 clusters, weighted)"),
    ],
)
def test_the_line_names_margin_side_weights_and_clusters(options, said):
    found = rl.compare(*pair(), **options)
    assert said in str(found)
    assert said not in str(rl.compare(*pair()))
    corrected = dataclasses.replace(found, q_value=0.5)
    assert said in str(corrected)


def test_a_bootstrap_interval_names_its_units():
    rng = np.random.default_rng(0)
    found = rl.paired_bootstrap(rng.normal(size=40), clusters=np.arange(40) // 2)
    assert "40 queries in 20 units" in str(found)


@pytest.mark.parametrize(
    ("mean_a", "mean_b", "share"), [(-0.3, 0.0, 1.0), (-0.2, -0.3, -0.5), (0.2, 0.3, 0.5)]
)
def test_a_relative_difference_has_the_sign_of_the_difference(mean_a, mean_b, share):
    row = ComparisonResult("x", mean_a, mean_b, mean_b - mean_a, -1, 1, 0.05, 0.5, 30, 0, 0, 0, 0, 0)
    assert row.relative_delta == pytest.approx(share)
    table = rl.compare_deltas(np.full((1, 20), mean_b - mean_a), mean_a=[mean_a])
    assert table.relative_delta[0] == pytest.approx(share)


NUMBERS = {
    "alpha": (np.float64(0.05), np.float32(0.125)),
    "n_resamples": (np.int64(100), np.uint8(50)),
    "n_permutations": (np.int64(100), np.int16(99)),
    "seed": (np.int64(3),),
    "min_queries": (np.int64(3),),
    "margin": (np.float32(0.5), np.float64(0.1)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_numpy_become_numbers_of_python(name):
    for value in NUMBERS[name]:
        options = {"method": "monte-carlo", name: value}
        table = rl.compare_many(dict(zip("ab", pair(), strict=True)), **options)
        results = [rl.compare(*pair(), **options), *table, *rl.simultaneous(table)]
        for found in results:
            json.dumps(found.to_dict())
            assert type(found.significant) is bool
            for item in dataclasses.fields(found):
                assert type(getattr(found, item.name)).__module__ == "builtins", item.name


def test_intervals_and_proxies_hold_numbers_of_python():
    a, b = pair()
    found = rl.paired_bootstrap([0.1] * 20, alpha=np.float64(0.05), n_resamples=np.int64(100))
    corrected = rl.ppi_compare(a, b, a, b, alpha=np.float64(0.05), lam=np.float64(0.5))
    for result in (found, corrected):
        json.dumps(result.to_dict())
        assert type(result.alpha) is float


def test_a_result_made_by_hand_of_numpy_numbers_is_json_too():
    row = ComparisonResult(
        "x", np.float64(0.1), np.float32(0.2), np.float64(0.1), np.float64(0), np.float64(1), 0.05,
        np.float64(0.01), np.int64(30), 0, 0, 0, 0, np.int64(0),
    )  # fmt: skip
    read = json.loads(json.dumps(row.to_dict()))
    assert read["significant"] is row.significant is True


def test_one_of_a_thing_is_singular():
    row = rl.compare_many(dict(zip("ab", pair(1), strict=True)))[0]
    assert "(1 query: too few to test)" in str(row)
    assert repr(ComparisonTable([row])) == "<ComparisonTable: 1 comparison, 0 significant>"
    odd = ComparisonResult("x", 0, 1, 1, 0.5, 1.5, 0.05, 0.5, 30, 0, 0, 9, 1, 0, wins=20)
    assert "in 1 more row " in " ".join(notes([odd] * 6))
    assert "by 1 random flip;" in " ".join(how_made([odd]))
    found = rl.evaluate_many({"a": {"q1": {"d1": 1.0}}}, {"q1": {"d1": 1}}, ["AP"])
    assert str(found) == "1 run measured by AP on 1 judged query"
    assert "AP 1.0000 over 1 query (" in str(found["a"])


def test_only_a_p_value_near_alpha_is_called_near_the_boundary():
    row = ComparisonResult("x", 0, 1, 1, 0.5, 1.5, 0.05, 0.44, 60, 0, 0, 0, 0, 0, wins=40, losses=20)
    assert "boundary" not in str(row)
    assert "boundary" in str(dataclasses.replace(row, p_value=0.06))


def test_wilcoxon_beside_a_margin_says_what_it_is_about():
    row = rl.compare(*pair(), margin=0.05, beside="wilcoxon")
    assert "pseudo-median" in " ".join(how_made([row]))
    assert "pseudo-median" not in " ".join(how_made([rl.compare(*pair(), beside="wilcoxon")]))


def test_huge_numbers_are_printed_with_an_exponent():
    assert len(str(rl.MetricResult("x", {"q": 1e308}))) < 40
    a, b = ({f"q{i}": scale * (1 + i % 2) for i in range(20)} for scale in (1e300, 2e300))
    assert len(str(rl.compare(rl.MetricResult("x", a), rl.MetricResult("x", b)))) < 200

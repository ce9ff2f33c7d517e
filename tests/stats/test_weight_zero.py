"""A query of weight 0 takes no part, and a design that changes nothing changes no digit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import ranklens as rl

N = 40
IDS = [f"q{i:02}" for i in range(N)]
rng = np.random.default_rng(8)
VALUES = np.array([[0.0], [0.1], [0.15]]) + rng.random((3, N))
TRAFFIC = np.where(np.arange(N) % 8 < 5, 1 + np.arange(N) % 3, 0)
EVEN = np.where(np.arange(N) % 8 < 5, 2.5, 0.0)
SESSIONS = [f"s{i // 3}" for i in range(N)]
FIELD = ["x" if i % 3 else "y" for i in range(N)]


def runs(keep=range(N)):
    return {
        name: rl.MetricResult("AP", {IDS[i]: row[i] for i in keep})
        for name, row in zip("abc", VALUES, strict=True)
    }


def mapped(values, keep=range(N)):
    return {IDS[i]: values[i] for i in keep}


@pytest.mark.parametrize("weights", [TRAFFIC, EVEN], ids=["uneven", "even"])
@pytest.mark.parametrize("clusters", [None, SESSIONS], ids=["queries", "clusters"])
@pytest.mark.parametrize("method", ["exact", "monte-carlo"])
def test_without_weight_is_without_the_query(weights, clusters, method):
    keep = np.flatnonzero(weights > 0).tolist()
    options = {"method": method, "n_resamples": 300, "n_permutations": 300, "min_queries": 2}

    def design(keep=range(N)):
        found = {"weights": mapped(weights, keep)}
        return found if clusters is None else found | {"clusters": mapped(clusters, keep)}

    a, b, _ = runs().values()
    few_a, few_b, _ = runs(keep).values()
    found = rl.compare(a, b, **design(), **options)
    assert found == rl.compare(few_a, few_b, **design(keep), **options)
    assert found.n_queries == found.wins + found.ties + found.losses == len(keep)
    segments, few_segments = {"f": mapped(FIELD)}, {"f": mapped(FIELD, keep)}
    for correction in ("bh", "maxt"):
        more = options | {"correction": correction}
        many = rl.compare_many(runs(), segments=segments, **design(), **more)
        assert list(many) == list(rl.compare_many(runs(keep), segments=few_segments, **design(keep), **more))
        by_segment = rl.compare_segments(a, b, segments, **design(), **more)
        few_by_segment = rl.compare_segments(few_a, few_b, few_segments, **design(keep), **more)
        assert list(by_segment) == list(few_by_segment)
        assert rl.simultaneous(many, runs(), segments=segments, **design())[0].simultaneous_low is not None


@pytest.mark.parametrize("weights", [TRAFFIC, EVEN], ids=["uneven", "even"])
@pytest.mark.parametrize("clusters", [None, SESSIONS], ids=["queries", "clusters"])
@pytest.mark.parametrize("masked", [False, True])
def test_without_weight_is_without_the_column(user_backend, weights, clusters, masked):
    keep = np.flatnonzero(weights > 0)
    deltas = VALUES[1:] - VALUES[0]
    mask = rng.random(deltas.shape) < 0.9 if masked else np.ones(deltas.shape, dtype=bool)
    options = {"method": "monte-carlo", "n_resamples": 200, "n_permutations": 200, "min_queries": 2}
    with user_backend.precise():
        whole, part = (user_backend.asarray(rows) for rows in (deltas, np.ascontiguousarray(deltas[:, keep])))
    few = None if clusters is None else [clusters[i] for i in keep]
    found = rl.compare_deltas(whole, mask=mask, weights=weights, clusters=clusters, **options)
    expected = rl.compare_deltas(part, mask=mask[:, keep], weights=weights[keep], clusters=few, **options)
    assert found.to_dict() == expected.to_dict()
    assert found.n_queries.tolist() == np.count_nonzero(mask[:, keep], axis=1).tolist()


@pytest.mark.parametrize("method", ["auto", "exact", "monte-carlo"])
@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_equal_weights_and_lone_queries_change_no_digit(method, interval):
    options = {"method": method, "interval": interval, "n_resamples": 300, "n_permutations": 300}
    plain = rl.compare_many(runs(), **options)
    deltas = VALUES[1:] - VALUES[0]
    rows = rl.compare_deltas(deltas, **options).to_dict()
    for design in (
        {"weights": dict.fromkeys(IDS, 0.3)},
        {"clusters": {query: query for query in IDS}},
        {"weights": dict.fromkeys(IDS, 7), "clusters": {query: query[::-1] for query in IDS}},
    ):
        assert list(rl.compare_many(runs(), **design, **options)) == list(plain)
        by_position = {name: list(values.values()) for name, values in design.items()}
        assert list(rl.compare_many(runs(), **by_position, **options)) == list(plain)
        found = rl.compare_deltas(deltas, **by_position, **options)
        assert dataclasses.replace(found, n_units=None).to_dict() == rows
        assert found.n_units.tolist() == [N, N]


def test_weights_that_are_all_zero_are_refused():
    a, b, _ = runs().values()
    for call in (
        lambda zero: rl.compare(a, b, weights=dict.fromkeys(IDS, zero)),
        lambda zero: rl.compare_many(runs(), weights=dict.fromkeys(IDS, zero)),
        lambda zero: rl.compare_deltas(VALUES, weights=[zero] * N),
    ):
        with pytest.raises(ValueError, match="positive and finite sum"):
            call(0.0)

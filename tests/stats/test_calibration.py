"""What the numbers promise holds in simulations: error rates, coverage, false discoveries."""

import math
import runpy
from pathlib import Path

import attainable
import numpy as np
import pytest
from attainable import FLIPS, binomial_band
from scipy import special

from ranklens.stats import benjamini_hochberg, paired_bootstrap, permutation_test

pytestmark = pytest.mark.slow

ALPHAS = (0.05, 0.01, 0.001)


def p_value(deltas, method, seed):
    return permutation_test(deltas, method=method, n_permutations=FLIPS, seed=seed)


def assert_level(p_values, levels, alpha):
    rate, level = np.mean(np.asarray(p_values) <= alpha), float(np.mean(levels))
    low, high = binomial_band(len(p_values), level)
    assert low <= rate <= high, f"rejected {rate:.4f} at alpha {alpha}, attainable {level:.4f}"


def mostly_zeros(rng, n):
    return rng.normal(size=n) * (rng.random(n) < 0.1)


CONTINUOUS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    "mostly zeros": mostly_zeros,
}


@pytest.mark.parametrize(
    ("method", "n"),
    [*[("exact", n) for n in (5, 10, 20)], *[("monte-carlo", n) for n in (5, 10, 20, 50)]],
)
@pytest.mark.parametrize("null", CONTINUOUS)
def test_type_one_error_under_a_symmetric_null(null, method, n):
    rng = np.random.default_rng([n, len(null)])
    samples = [CONTINUOUS[null](rng, n) for _ in range(3000)]
    p = [p_value(sample, method, seed) for seed, sample in enumerate(samples)]
    for alpha in ALPHAS:
        levels = [
            attainable.rejection_without_ties(int(np.count_nonzero(sample)), alpha, method)
            for sample in samples
        ]
        assert_level(p, levels, alpha)


def test_the_attainable_levels_are_the_known_ones():
    assert attainable.rejection_without_ties(5, 0.05, "exact") == 0.0
    assert attainable.rejection_without_ties(10, 0.05, "exact") == 25 / 512
    rng = np.random.default_rng(0)
    for n, known in ((10, 0.0165), (20, 0.0253), (50, 0.0318)):
        ones = rng.binomial(n, 2 / 3, size=20_000)
        levels = [attainable.rejection_on_a_lattice((1,) * int(k), 0.05, "exact") for k in ones]
        assert np.mean(levels) == pytest.approx(known, abs=3e-4)


@pytest.mark.parametrize("method", ["exact", "monte-carlo"])
@pytest.mark.parametrize("n", [10, 20, 50])
def test_type_one_error_with_three_values(method, n):
    rng = np.random.default_rng(n)
    samples = rng.integers(-1, 2, size=(3000, n))
    p = [p_value(sample.astype(float), method, seed) for seed, sample in enumerate(samples)]
    for alpha in ALPHAS:
        levels = [attainable.rejection_on_a_lattice(tuple(abs(s).tolist()), alpha, method) for s in samples]
        assert_level(p, levels, alpha)


def topics(data_dir, name):
    table = np.genfromtxt(data_dir / "per-topic-scores" / f"{name}.csv", delimiter=",", skip_header=1)
    assert table.ndim == 2
    return table


def random_pairs(table, rng, n):
    for _ in range(n):
        i, j = rng.choice(table.shape[1], 2, replace=False)
        yield (table[:, j] - table[:, i]) * rng.choice([-1.0, 1.0], table.shape[0])


@pytest.mark.parametrize("method", ["exact", "monte-carlo"])
def test_type_one_error_on_real_precision_at_ten(data_dir, method):
    samples = list(random_pairs(topics(data_dir, "adhoc7_p10"), np.random.default_rng(1), 1500))
    p = [p_value(sample, method, seed) for seed, sample in enumerate(samples)]
    tenths = [tuple(np.rint(abs(sample) * 10).astype(int).tolist()) for sample in samples]
    for alpha in ALPHAS:
        assert_level(p, [attainable.rejection_on_a_lattice(t, alpha, method) for t in tenths], alpha)


@pytest.mark.parametrize("name", ["adhoc5_ap", "web2013_err20"])
def test_type_one_error_on_real_graded_measures(data_dir, name):
    samples = list(random_pairs(topics(data_dir, name), np.random.default_rng(2), 4000))
    p = [p_value(sample, "monte-carlo", seed) for seed, sample in enumerate(samples)]
    for alpha in ALPHAS:
        nonzero = [int(np.count_nonzero(abs(sample) > 1e-12)) for sample in samples]
        assert_level(p, [attainable.rejection_without_ties(n, alpha, "monte-carlo") for n in nonzero], alpha)


def test_a_skewed_null_is_rejected_too_often():
    # Symmetry is what is tested, and an exponential sample around its mean is not symmetric.
    rng = np.random.default_rng(3)
    p = [p_value(rng.exponential(size=20) - 1.0, "exact", 0) for _ in range(6000)]
    low, high = binomial_band(6000, 0.0855)
    assert low <= np.mean(np.asarray(p) <= 0.05) <= high


def test_agreement_with_the_paired_t_test_on_every_pair_of_a_real_experiment(data_dir):
    table = topics(data_dir, "adhoc5_ap")
    i, j = np.triu_indices(table.shape[1], 1)
    deltas = np.ascontiguousarray((table[:, j] - table[:, i]).T)
    assert deltas.shape == (1830, 50)
    p = np.array([permutation_test(row, n_permutations=40_000, seed=0) for row in deltas])
    t = deltas.mean(axis=1) / (deltas.std(axis=1, ddof=1) / math.sqrt(50))
    of_t_test = 2 * special.stdtr(49, -abs(t))
    kept = p >= 1e-4
    assert math.sqrt(np.mean((p - of_t_test)[kept] ** 2)) == pytest.approx(0.0103, abs=2e-4)


def test_monte_carlo_agrees_with_the_exact_p_value_on_real_differences(data_dir):
    samples = list(random_pairs(topics(data_dir, "adhoc5_ap"), np.random.default_rng(7), 100))
    samples += random_pairs(topics(data_dir, "adhoc7_p10"), np.random.default_rng(8), 100)
    flips = 20_000
    for seed, sample in enumerate(samples):
        exact = permutation_test(sample, method="exact")
        sampled = permutation_test(sample, n_permutations=flips, seed=seed)
        # The observed signs count as one flip of the sampled p-value.
        assert abs(sampled - exact) <= 5 * math.sqrt(exact * (1 - exact) / flips) + 1 / flips


def false_discoveries(p, is_null):
    rejected = np.array([q < 0.1 for q in benjamini_hochberg(p)])
    return np.sum(rejected & is_null) / max(1, np.sum(rejected))


def test_the_false_discovery_rate_is_the_share_of_true_nulls_times_alpha():
    # With independent and continuous p-values the rate is known exactly.
    rng = np.random.default_rng(4)
    is_null = np.arange(50) < 30
    shares = []
    for _ in range(4000):
        z = rng.normal(np.where(is_null, 0.0, 3.0))
        shares.append(false_discoveries(2 * special.ndtr(-abs(z)), is_null))
    error = np.std(shares, ddof=1) / math.sqrt(len(shares))
    assert np.mean(shares) == pytest.approx(0.06, abs=3.29 * error)


def test_the_false_discovery_rate_of_sign_flip_tests_is_bounded():
    rng = np.random.default_rng(5)
    is_null = np.arange(20) < 10
    shares = []
    for _ in range(300):
        deltas = rng.laplace(np.where(is_null, 0.0, 0.8)[:, None], 1.0, size=(20, 20))
        shares.append(false_discoveries([p_value(row, "exact", 0) for row in deltas], is_null))
    error = np.std(shares, ddof=1) / math.sqrt(len(shares))
    assert np.mean(shares) <= 0.05 + 3.29 * error
    assert np.mean(shares) >= 0.05 - 3.29 * error - 0.01


# Rates over 10,000 samples that benchmarks/calibration.py prints: percentile intervals cover too little.
COVERAGE = {
    ("normal", 20): 0.930, ("normal", 50): 0.942, ("normal", 200): 0.948,
    ("exponential", 20): 0.902, ("exponential", 50): 0.928, ("exponential", 200): 0.944,
    ("lattice (P@10)", 20): 0.930, ("lattice (P@10)", 50): 0.944, ("lattice (P@10)", 200): 0.954,
}  # fmt: skip
CALIBRATION = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "calibration.py"))


@pytest.mark.parametrize(("shape", "n"), COVERAGE)
def test_coverage_of_the_percentile_interval(shape, n):
    draw, true_mean = CALIBRATION["SHAPES"][shape]
    low, high = binomial_band(1500, COVERAGE[shape, n])
    assert low <= CALIBRATION["coverage"]("percentile", draw, true_mean, n, 1500) <= high


# The same for the other kinds, of 20 queries; of studentized ones over 4,000 samples.
COVERAGE_OF_TWENTY = {
    ("expanded", "normal"): 0.951, ("bca", "normal"): 0.928, ("studentized", "normal"): 0.950,
    ("expanded", "exponential"): 0.924, ("bca", "exponential"): 0.914, ("studentized", "exponential"): 0.941,
}  # fmt: skip


@pytest.mark.parametrize(("interval", "shape"), COVERAGE_OF_TWENTY)
def test_coverage_of_the_other_intervals(interval, shape):
    draw, true_mean = CALIBRATION["SHAPES"][shape]
    low, high = binomial_band(1000, COVERAGE_OF_TWENTY[interval, shape])
    assert low <= CALIBRATION["coverage"](interval, draw, true_mean, 20, 1000) <= high


def test_studentized_intervals_cover_best_on_skewed_differences():
    draw, true_mean = CALIBRATION["SHAPES"]["exponential"]
    covered = {
        interval: CALIBRATION["coverage"](interval, draw, true_mean, 20, 1000)
        for interval in CALIBRATION["INTERVALS"]
    }
    # All of the same samples, so that the differences are less noisy than the rates.
    assert covered["percentile"] < covered["bca"] < covered["studentized"]
    assert covered["expanded"] < covered["studentized"]


@pytest.mark.filterwarnings("ignore::ranklens.core.SmallSampleWarning")
@pytest.mark.parametrize(("reference", "known"), [("normal", 0.923), ("t", 0.9465)])
def test_coverage_of_the_prediction_powered_interval_of_twenty_gold_queries(reference, known):
    low, high = binomial_band(2000, known)
    assert low <= CALIBRATION["ppi_coverage"](20, reference, 2000) <= high


def sessions_of_three(rng, n_sessions=24):
    """Differences of mean zero whose queries resemble each other within a session."""
    shared = rng.normal(size=n_sessions)
    return np.repeat(shared, 3) + 0.5 * rng.normal(size=3 * n_sessions)


def test_flipping_sessions_together_keeps_the_level_that_flipping_queries_loses():
    rng = np.random.default_rng(11)
    sessions = np.repeat(np.arange(24), 3)
    together, apart = [], []
    for seed in range(2000):
        deltas = sessions_of_three(rng)
        options = {"n_permutations": FLIPS, "seed": seed}
        together.append(permutation_test(deltas, clusters=sessions, **options))
        apart.append(permutation_test(deltas, **options))
    for alpha in ALPHAS[:2]:
        level = attainable.rejection_without_ties(24, alpha, "monte-carlo")
        assert_level(together, [level], alpha)
    assert np.mean(np.asarray(apart) <= 0.05) > 0.15


def test_weights_and_a_margin_on_its_border_keep_the_level():
    rng = np.random.default_rng(12)
    weights = rng.pareto(2.0, 40) + 0.2
    weighted, bordering, equivalent = [], [], []
    for seed in range(2000):
        deltas = rng.normal(size=40)
        options = {"n_permutations": FLIPS, "seed": seed}
        weighted.append(permutation_test(deltas, weights=weights, **options))
        bordering.append(permutation_test(deltas - 0.5, margin=0.5, alternative="greater", **options))
        equivalent.append(permutation_test(deltas - 1.0, margin=1.0, **options))
    for p in (weighted, bordering, equivalent):
        assert_level(p, [attainable.rejection_without_ties(40, 0.05, "monte-carlo")], 0.05)


def test_intervals_of_clusters_cover_what_those_of_queries_miss():
    rng = np.random.default_rng(13)
    sessions = np.repeat(np.arange(24), 3)
    inside = {"studentized": 0, "percentile": 0, "ignored": 0}
    n_samples = 800
    for seed in range(n_samples):
        deltas = sessions_of_three(rng)
        for name in inside:
            design = {} if name == "ignored" else {"clusters": sessions, "interval": name}
            found = paired_bootstrap(deltas, n_resamples=999, seed=seed, **design)
            inside[name] += found.low <= 0.0 <= found.high
    low, high = binomial_band(n_samples, 0.945)
    assert low <= inside["studentized"] / n_samples <= high
    low, high = binomial_band(n_samples, 0.93)
    assert low <= inside["percentile"] / n_samples <= high
    assert inside["ignored"] / n_samples < 0.85

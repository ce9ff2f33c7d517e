"""`pairwise` beside shap and shapiq: time of exact explanations, error of sampled ones, cover of intervals.

Exact: 256 pairs of 12 differing features under a small JAX network, beside a loop over `shap.ExactExplainer`
and the bare network on the same 1,048,576 rows in its best chunk; all take turns. Sampled: pairs of documents
under LightGBM's own ranking example (the closed form is the truth; a generated collection stands in where the
files are not found) and under a network of 40 features (the truth is a sample 200 times as large). Budgets
are 2, 4, 8 and 16 forward and backward walks, so that `shap.PermutationExplainer` spends them to the last
row, and each error is shown with ours as a share of it. `shapiq.OddSHAP` takes part where shapiq has it.
With `--draw N` the models are trained anew, LightGBM's on a draw of the queries, and other pairs are drawn,
none of which the methods were chosen on.
Run: python benchmarks/explain_pairwise.py [--fast] [--only TABLE] [--data FOLDER] [--rounds N] [--pairs N]
[--seeds N] [--draw N]
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from explain_listwise import CHECKOUT, PARAMETERS, example, generated, rows_and_grades
from numpy.typing import NDArray

from ranklens.explain import CallableAdapter, Model, adapt, pairwise, pairwise_many

Floats = NDArray[np.float64]
K = 12
WALKS = (2, 4, 8, 16)
CHUNKS = (4096, 16_384, 32_768, 65_536)


def seconds(job: Callable[[], Any]) -> float:
    """Time one call."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def small_network(seed: int, n_features: int) -> tuple[Callable[[Any, Any], Any], dict[str, Any]]:
    """Return a JAX network of two hidden layers, and its single-precision parameters."""
    import jax
    import jax.numpy as jnp

    def network(params: Any, x: Any) -> Any:
        hidden = jax.nn.relu(x @ params["first"])
        return jax.nn.relu(hidden @ params["second"]) @ params["last"]

    rng = np.random.default_rng(seed)
    shapes = {"first": (n_features, 32), "second": (32, 32), "last": (32,)}
    return network, {
        name: jnp.asarray(rng.normal(size=shape) / np.sqrt(shape[0]), dtype=jnp.float32)
        for name, shape in shapes.items()
    }


def exact_table(n_pairs: int, rounds: int) -> None:
    """Print the times of exact explanations."""
    import jax
    import jax.numpy as jnp

    network, params = small_network(0, K)
    a, b = np.random.default_rng(1).normal(size=(2, n_pairs, K)).astype(np.float32)
    model = adapt(network, [f"x{i}" for i in range(K)], params=params)
    rows = np.random.default_rng(2).normal(size=(n_pairs * 2**K, K)).astype(np.float32)
    mapped = jax.jit(lambda params, chunks: jax.lax.map(lambda chunk: network(params, chunk), chunks))

    def bare(size: int) -> Callable[[], Any]:
        chunks = jnp.asarray(rows.reshape(-1, min(size, len(rows)), K))
        return lambda: mapped(params, chunks).block_until_ready()

    jobs: dict[str, Callable[[], Any]] = {"ranklens": lambda: pairwise_many(model, a, b)}
    jobs |= {f"the bare network, {size} rows a chunk": bare(size) for size in CHUNKS}
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()
    for _ in range(rounds):
        for name, job in jobs.items():
            times[name].append(seconds(job))
    medians = {name: statistics.median(values) for name, values in times.items()}
    if importlib.util.find_spec("shap"):
        some = min(n_pairs, 32)
        medians["a loop over shap.ExactExplainer"] = shap_exact(network, params, a[:some], b[:some]) * n_pairs
    print(f"Exact, {n_pairs} pairs, k = {K}, a JAX network, this machine's CPU\n")
    print("| by | ms | times ranklens |\n| --- | ---: | ---: |")
    for name, value in medians.items():
        print(f"| {name} | {1000 * value:.1f} | {value / medians['ranklens']:.2f} |")


def shap_exact(network: Any, params: Any, a: Any, b: Any) -> float:
    """Return shap's seconds a pair, its network jitted and warm."""
    import jax
    import shap

    jitted = jax.jit(network)

    def one(i: int) -> Any:
        masker = shap.maskers.Independent(a[i : i + 1], max_samples=1)
        explainer = shap.ExactExplainer(lambda x: np.asarray(jitted(params, x)), masker)
        return explainer(b[i : i + 1], silent=True)

    one(0)
    return statistics.median(seconds(lambda i=i: one(i)) for i in range(len(a)))


@dataclass(frozen=True)
class Game:
    """One pair of documents: what a sampler may ask, and the truth; players are the k differing features."""

    score: Callable[[Floats], Floats]
    a: Floats
    b: Floats
    truth: Floats

    @property
    def k(self) -> int:
        return len(self.a)

    def value(self, coalitions: Any) -> Floats:
        return self.score(np.where(np.asarray(coalitions) > 0.5, self.b, self.a))

    def ours(self, seed: int, n_rows: int, method: str = "auto") -> Any:
        model = CallableAdapter(self.score, [f"x{i}" for i in range(self.k)])
        return pairwise(model, self.a, self.b, seed=seed, max_rows=n_rows, method=method)


def ranking_model(folder: Path, n_trees: int, draw: int) -> tuple[Model, Callable[[Floats], Floats], Floats]:
    """Train a lambdarank model; return it, its scores on one thread, and its documents."""
    import lightgbm

    train = example(folder)[0] if (folder / "rank.train.gz").is_file() else generated()[0]
    if draw:
        chosen = np.random.default_rng(draw).permutation(len(train))[: max(1, len(train) // 2)]
        train = [train[i] for i in chosen]
    rows, grades, sizes = rows_and_grades(train)
    options = PARAMETERS | {"seed": draw}
    booster = lightgbm.train(options, lightgbm.Dataset(rows, grades, group=sizes), n_trees)
    return adapt(booster), lambda x: booster.predict(x, num_threads=1), rows


def tree_games(folder: Path, n_games: int, n_trees: int, draw: int) -> list[Game]:
    """Return pairs of documents that differ in more features than are counted in full."""
    model, score, rows = ranking_model(folder, n_trees, draw)
    rng = np.random.default_rng(draw)
    games: list[Game] = []
    while len(games) < n_games:
        a, b = rows[rng.integers(0, len(rows), 2)]
        differ = np.flatnonzero(a != b)
        if len(differ) <= 14:
            continue
        found = pairwise(model, a, b, method="tree").contributions
        truth = np.asarray(list(found.values()))[differ]

        def part(x: Floats, a: Floats = a, differ: Any = differ) -> Floats:
            points = np.tile(a, (len(x), 1))
            points[:, differ] = x
            return score(points)

        games.append(Game(part, a[differ], b[differ], truth))
    return games


def network_games(n_games: int, times: int, draw: int) -> list[Game]:
    """Return random pairs under a network of 40 features."""
    rng = np.random.default_rng(3 + draw)
    n = 40
    first, second, last = (
        rng.normal(size=(n, 32)) / np.sqrt(n),
        rng.normal(size=(32, 32)) / 5,
        rng.normal(size=32),
    )

    def score(x: Floats) -> Floats:
        return np.maximum(np.maximum(2 * x @ first, 0) @ second, 0) @ last

    games = []
    for _ in range(n_games):
        a, b = rng.normal(size=(2, n))
        unknown = Game(score, a, b, np.zeros(n))
        large = unknown.ours(10**6, times * (2 * n + 1) * WALKS[-1], "regression").contributions
        games.append(Game(score, a, b, np.asarray(list(large.values()))))
    return games


def shap_permutation(game: Game, seed: int, n_walks: int) -> Floats:
    import shap

    explainer = shap.PermutationExplainer(game.value, np.zeros((1, game.k)), seed=seed)
    found = explainer(np.ones((1, game.k)), max_evals=n_walks * (2 * game.k + 1), silent=True)
    return np.asarray(found.values[0])


def by_shapiq(kind: str) -> Callable[[Game, int, int], Floats]:
    """Return a sampler of shapiq: "KernelSHAP", or "OddSHAP" where it has that."""

    def run(game: Game, seed: int, n_walks: int) -> Floats:
        make = of_shapiq(kind)
        empty = game.value([[0]])[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = make(n=game.k, random_state=seed)
            found = sampler.approximate(n_walks * (2 * game.k + 1), lambda z: game.value(z) - empty)
        return np.asarray([found[(i,)] for i in range(game.k)])

    return run


def of_shapiq(kind: str) -> Any:
    """Return one of shapiq's approximators, or None where it is too old or not there at all."""
    if not importlib.util.find_spec("shapiq"):
        return None
    # The package itself answers None for names that it does not know.
    return getattr(importlib.import_module("shapiq.approximator"), kind, None)


def samplers() -> dict[str, Callable[[Game, int, int], Floats]]:
    """Return ours first, then the peers that are installed."""

    def ours(method: str) -> Callable[[Game, int, int], Floats]:
        def run(game: Game, seed: int, n_walks: int) -> Floats:
            found = game.ours(seed, n_walks * (2 * game.k + 1), method)
            return np.asarray(list(found.contributions.values()))

        return run

    found = {"ranklens": ours("auto"), "ranklens, antithetic orders": ours("antithetic")}
    if importlib.util.find_spec("shap"):
        found["shap.PermutationExplainer"] = shap_permutation
    for kind in ("KernelSHAP", "OddSHAP"):
        if of_shapiq(kind) is not None:
            found[f"shapiq.{kind}"] = by_shapiq(kind)
    return found


def error_table(title: str, games: list[Game], n_seeds: int) -> None:
    """Print the median of |estimate - truth|² / |truth|² at equal model rows, and ours beside the others'."""
    errors: dict[str, list[float]] = {}
    for name, sampler in samplers().items():
        for walks in WALKS:
            found = [
                float(np.sum((sampler(game, seed, walks) - game.truth) ** 2) / np.sum(game.truth**2))
                for i, game in enumerate(games)
                for seed in range(i, n_seeds * len(games), len(games))
            ]
            errors.setdefault(name, []).append(statistics.median(found))
    mean_k = np.mean([game.k for game in games])
    print(f"\nSampled, {title}, {len(games)} pairs, {n_seeds} seeds each, k about {mean_k:.0f}:", end=" ")
    print("median squared error; in brackets, ours as a share of it\n")
    print("| by | " + " | ".join(f"{2 * walks}k rows" for walks in WALKS) + " |")
    print("| --- |" + " ---: |" * len(WALKS))
    for name, values in errors.items():
        pairs = zip(values, errors["ranklens"], strict=True)
        print(f"| {name} | " + " | ".join(f"{value:.4f} ({own / value:.2f})" for value, own in pairs) + " |")


def cover_table(sets: dict[str, list[Game]], n_values: int) -> None:
    """Print how many 95 % intervals hold the truth, over features that have an effect."""
    print(f"\n95 % intervals, {n_values} contributions each\n")
    print("| model | method | rows | covered |\n| --- | --- | ---: | ---: |")
    for title, games in sets.items():
        for method, rows_a_player in (
            *(("antithetic", rows) for rows in (5, 8, 16, 32)),
            *(("regression", rows) for rows in (4, 8, 16, 32)),
        ):
            held: list[bool] = []
            seed = 0
            while len(held) < n_values:
                for game in games:
                    seed += 1
                    found = game.ours(seed, rows_a_player * (game.k + 1) + 3, method)
                    for name, truth in zip(found.contributions, game.truth, strict=True):
                        low, high = found.interval(name)
                        if truth != 0.0:
                            held.append(low <= truth <= high)
            share = np.mean(held)
            print(
                f"| {title} | {method} | {rows_a_player}k | {100 * share:.1f} % of {len(held)} |", flush=True
            )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--fast", action="store_true", help="few pairs, one round: shows that the script works"
    )
    parser.add_argument("--data", type=Path, help="the folder with LightGBM's rank.train.gz")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=2, help="samples of each pair")
    parser.add_argument("--draw", type=int, default=0, help="another number draws other models and pairs")
    parser.add_argument("--only", choices=("exact", "errors", "cover"), help="one of the tables")
    options = parser.parse_args()
    root = Path(os.environ.get("RANKLENS_TEST_DATA", CHECKOUT.parent / "shared" / "data"))
    folder = options.data or root / "ltr-lightgbm-lambdarank"
    if importlib.util.find_spec("jax") and options.only in (None, "exact"):
        exact_table(*(16, 1) if options.fast else (256, options.rounds))
    if options.only != "exact":
        sampled_tables(folder, options)
    missing = [name for name in ("jax", "lightgbm", "shap", "shapiq") if not importlib.util.find_spec(name)]
    if of_shapiq("OddSHAP") is None:
        missing.append("shapiq.OddSHAP (shapiq 1.6 or later)")
    if missing:
        print(f"\nNot installed, so not in the tables: {', '.join(missing)}")


def sampled_tables(folder: Path, options: argparse.Namespace) -> None:
    """Print the errors and the cover of samples."""
    n_games = 2 if options.fast else options.pairs
    sets = {"a network of 40 features": network_games(n_games, 2 if options.fast else 200, options.draw)}
    if importlib.util.find_spec("lightgbm"):
        sets["LightGBM lambdarank"] = tree_games(folder, n_games, 10 if options.fast else 100, options.draw)
    for title, games in sets.items() if options.only != "cover" else ():
        error_table(title, games, 1 if options.fast else options.seeds)
    if options.only != "errors":
        cover_table(sets, 50 if options.fast else 1000)


if __name__ == "__main__":
    main()

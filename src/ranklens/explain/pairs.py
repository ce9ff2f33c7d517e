"""Why one document is above another: Shapley values of the step from A's features to B's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ranklens.arrays import Seed, resolve_backend, seed_of
from ranklens.core import DataError
from ranklens.core.explanations import PairwiseExplanation, PairwiseExplanations
from ranklens.explain.asking import require_repeatable
from ranklens.explain.category_codes import coded
from ranklens.explain.closed_form import closed_form, explain_trees
from ranklens.explain.method import DEFAULT_ROWS, ENDS, Budget, check_positive
from ranklens.explain.models.base import Model
from ranklens.explain.models.registry import adapt
from ranklens.explain.models.watched import Progress, Watched
from ranklens.explain.players import Players, players_of
from ranklens.explain.rows import (
    Rows,
    differing,
    feature_names,
    many_rows,
    n_features,
    one_row,
    promoted,
    rows_there,
)
from ranklens.explain.solving import explain_rows

Groups = Iterable[Iterable[str]]


def pairwise(
    model: Any,
    a: Any,
    b: Any,
    *,
    n_permutations: int | None = None,
    seed: Seed = 0,
    groups: Groups | None = None,
    method: str = "auto",
    max_rows: int = DEFAULT_ROWS,
    batch_rows: int | None = None,
    progress: Progress | None = None,
) -> PairwiseExplanation:
    """Say how much each feature moved the score on the way from document A to document B.

    The contributions are the Shapley values of the game v(S) = the score of the point whose features in S
    come from B and the rest from A (Shapley 1953)::

        φ_i = Σ over S without i of |S|! (k - |S| - 1)! / k! · (v(S ∪ {i}) - v(S))

    They sum to ``score_b - score_a``. Only the k features that differ take part; the others get exactly 0.

    Parameters
    ----------
    model : Model or object
        See `adapt`. A plain function takes its feature names from `a`, where that has names.
    a, b : mapping, sequence, array or frame of one row
        The features of the two documents. Names are aligned with the model's, never by position.
    n_permutations : int, optional
        The number of random orders, instead of `max_rows`; of antithetic ones the next even number.
    seed : int, numpy.random.SeedSequence, numpy.random.Generator or None, default 0
        For sampling; the same seed takes the same coalitions on every backend.
    groups : iterable of iterables of str, optional
        Features that change together, as one player with one contribution.
    method : {"auto", "exact", "tree", "antithetic", "orders", "regression"}
        ``"exact"`` scores all 2^k coalitions, ``"tree"`` uses the closed form of a tree ensemble. The others
        sample: random orders, each with its reverse or not, or least squares over pairs of complementary
        coalitions. ``"auto"`` takes trees where it can, else counts all where 2^k is at most
        max(4096, max_rows), else samples: regression from 6 rows a feature on, antithetic orders below.
    max_rows : int, default 4096
        The whole budget of model rows. Up to 12 features that differ are counted in full whatever it is, so
        that no more than max(4096, max_rows) rows are sent; A and B once more among them, to see whether the
        model repeats itself, where that leaves room (with 12 features it takes ``max_rows=4098``).
    batch_rows : int, optional
        The most rows of one call; there are ceil(n_model_rows / batch_rows) of them. By default what fits
        the memory budget, at least 4096. A JAX model also runs on rows that fill arrays up to one of few
        lengths, so that few are compiled for; neither this nor `max_rows` nor `n_model_rows` counts them.
    progress : callable, optional
        Called as ``progress(done, total)`` after each call, with the model rows that are done. Trees in
        closed form ask for none.

    Returns
    -------
    PairwiseExplanation

    Raises
    ------
    ModelError
        When the model raises, or answers with anything but one finite score a row.
    DataError
        When a feature is missing, unknown to the model, or no number.
    ValueError
        For other options, or a budget that is too small for the method.

    Notes
    -----
    The mixed points may be unrealistic: the model is asked where it was not trained.

    Examples
    --------
    >>> names = ["bm25", "freshness", "price"]
    >>> model = adapt(lambda x: x[:, 0] * x[:, 1] + 0.1 * x[:, 2], names)
    >>> for name, value in pairwise(model, (2.0, 0.2, 1.0), (1.5, 0.9, 1.0)).ranked():
    ...     print(f"{name} {value:+.3f}")
    freshness +1.225
    bm25 -0.275
    price +0.000
    """
    budget = Budget(method, max_rows, n_permutations)
    found = _explained(model, a, b, groups, budget, batch_rows, seed, progress, single=True)
    explanation: PairwiseExplanation = found[0]
    return explanation


def pairwise_many(
    model: Any,
    a: Any,
    b: Any,
    *,
    n_permutations: int | None = None,
    seed: Seed = 0,
    groups: Groups | None = None,
    method: str = "auto",
    max_rows: int = DEFAULT_ROWS,
    batch_rows: int | None = None,
    progress: Progress | None = None,
) -> PairwiseExplanations:
    """Explain many pairs in a few model calls.

    Parameters
    ----------
    model, n_permutations, seed, groups, method, batch_rows, progress
        As in `pairwise`.
    a, b : array of shape (n, k) or (k,), frame, mapping of names to columns, or sequence of mappings
        Row i of `a` is compared with row i of `b`. A single row, as `pairwise` takes it, stands for as many
        as the other has.
    max_rows : int, default 4096
        The budget of model rows for each pair, as in `pairwise`; A and B of one pair are asked again.

    Returns
    -------
    PairwiseExplanations
        A sequence of `PairwiseExplanation` that also holds all contributions as one array.

    Raises
    ------
    DataError
        When `a` and `b` have different numbers of rows; else as `pairwise`.

    Examples
    --------
    >>> model = adapt(lambda x: x[:, 0] * x[:, 1], ["bm25", "freshness"])
    >>> found = pairwise_many(model, [[1.0, 2.0], [0.0, 0.0]], [[3.0, 5.0], [1.0, 1.0]])
    >>> found.contributions
    array([[7. , 6. ],
           [0.5, 0.5]])
    """
    budget = Budget(method, max_rows, n_permutations)
    return _explained(model, a, b, groups, budget, batch_rows, seed, progress)


def _explained(
    model: Any,
    a: Any,
    b: Any,
    groups: Groups | None,
    budget: Budget,
    batch_rows: int | None,
    seed: Seed,
    progress: Progress | None,
    *,
    single: bool = False,
) -> PairwiseExplanations:
    adapted = as_model(model, a)
    for rows, what in ((a, "a"), (b, "b")):
        if not adapted.ordered and feature_names(rows) is None:
            adapted.require_order(what)
    a, b = coded(a, adapted, "a"), coded(b, adapted, "b")
    players, batch, number = players_of(adapted.names, groups), checked_batch(batch_rows), seed_of(seed)
    trees = closed_form(adapted, budget.method)
    backend = adapted.backend_for(a) if trees is None else resolve_backend(a)
    if trees is None:
        pick = one_row if single else many_rows
        rows_a, rows_b = promoted(*(pick(rows, adapted.names, what) for rows, what in ((a, "a"), (b, "b"))))
    else:
        rows_a, rows_b = (
            rows_there(rows, backend, adapted.names, what, single=single)
            for rows, what in ((a, "a"), (b, "b"))
        )
    rows_a, rows_b = _paired(rows_a, rows_b)
    if trees is not None:
        return explain_trees(adapted, trees, backend, rows_a, rows_b, players, seed=number)
    if progress is not None:
        adapted = Watched(adapted, progress, rows_to_ask(adapted, rows_a, rows_b, players, budget))
    found = explain_rows(
        adapted, backend, rows_a, rows_b, players, budget=budget, batch_rows=batch, seed=number
    )
    if len(found) > 1:
        require_one_score_a_row(adapted, found)
    return found


def require_one_score_a_row(model: Model, found: PairwiseExplanations) -> None:
    """Raise a `ModelError` when a document that occurs in several pairs was given several scores.

    That asks the model nothing more: all 2^k points of a few features go to it in one call, in which no point
    occurs twice.
    """
    rows = np.ascontiguousarray(np.concatenate([found.values_a, found.values_b]))
    scores = np.concatenate([found.score_a, found.score_b])
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    largest = max(np.abs(scores).max(), np.abs(found.contributions).max())
    require_repeatable(model, scores[first[which]], scores, largest)


def _paired(a: Any, b: Any) -> tuple[Any, Any]:
    """Let a single row stand for as many as the other has."""
    n_a, n_b = a.shape[0], b.shape[0]
    if n_a != n_b and (1 not in (n_a, n_b) or 0 in (n_a, n_b)):
        raise DataError(f"a has {n_a} rows and b {n_b}; row i of one belongs to row i of b")
    return (_repeated(a, n_b) if n_a == 1 else a), (_repeated(b, n_a) if n_b == 1 else b)


def _repeated(row: Any, n: int) -> Any:
    if isinstance(row, np.ndarray):
        return row.repeat(n, axis=0)
    return resolve_backend(row).xp.broadcast_to(row, (n, row.shape[1]))


def rows_to_ask(model: Model, a: Rows, b: Rows, players: Players, budget: Budget) -> int:
    """Return how many rows `model` is going to be asked for."""
    belongs = np.eye(len(players.labels))[players.of_feature]
    n_playing = np.count_nonzero(differing(a, b) @ belongs, axis=1)
    sizes, counts = np.unique(n_playing, return_counts=True)
    choices = {k: budget.choose(k) for k in sizes.tolist()}
    total = sum(n * choices[k].n_rows(k) for k, n in zip(sizes.tolist(), counts.tolist(), strict=True))
    counted = [choice.n_rows(k) for k, choice in choices.items() if choice.method == "exact"]
    repeats = not model.pure and any(budget.has_room_for_ends(n) for n in counted)
    return int(total) + (ENDS if repeats else 0)


def as_model(model: Any, values: Any) -> Model:
    """Adapt `model`; a function that knows no names takes those of `values`, where it has them."""
    if isinstance(model, Model):
        return model.widened(n_features(values))
    try:
        return adapt(model).widened(n_features(values))
    except ValueError:
        names = feature_names(values)
        if names is None:
            raise
        return adapt(model, names)


def checked_batch(batch_rows: int | None) -> int | None:
    """Return `batch_rows` if it is None or a positive integer."""
    if batch_rows is not None:
        check_positive("batch_rows", batch_rows)
    return batch_rows

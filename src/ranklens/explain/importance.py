"""Which features move the measure: shuffle each among the documents of a query, rank again, measure again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Seed, seed_of, to_host
from ranklens.core import DataError
from ranklens.core.importances import ListwiseImportance
from ranklens.explain.asking import call_size
from ranklens.explain.category_codes import require_codes
from ranklens.explain.method import check_positive
from ranklens.explain.models.base import Model
from ranklens.explain.models.registry import adapt
from ranklens.explain.players import Players, players_of
from ranklens.explain.queries import Queries, Stack, backend_for, judged_queries, stacked
from ranklens.explain.ranking import Ranker
from ranklens.explain.scoring import Scorer
from ranklens.explain.shuffling import Shuffled, drawn_together, joined_rows, shuffled_queries
from ranklens.io.query_features import QueryFeatures
from ranklens.metrics.definitions import Measure
from ranklens.metrics.names import MeasureLike, parse_measure

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]


def listwise(
    model: Any,
    queries: Queries,
    measure: MeasureLike,
    *,
    groups: Iterable[Iterable[str]] | None = None,
    n_repeats: int = 10,
    seed: Seed = 0,
    batch_rows: int | None = None,
    progress: Progress | None = None,
) -> ListwiseImportance:
    """Say how much each feature contributes to a measure of the rankings.

    The values of a feature are shuffled among the documents of each query, the model scores them again, and
    they are ranked again; the importance, averaged over the repeats and then over the queries, is

        measure(original ranking) - measure(shuffled ranking)

    (permutation importance, Breiman 2001, within queries). The feature keeps its distribution in the query
    and loses only its tie to the documents, so that one which is the same for all documents of every query
    has importance 0, however large its weight.

    Parameters
    ----------
    model : Model or object
        See `adapt`. A plain function takes its feature names from the queries, where these have names.
    queries : iterable of QueryFeatures
        Columns with names are aligned to the model's; see `QueryFeatures` and `read_letor`.
    measure : str, Measure or callable
        Such as ``"nDCG@10"``; see `ranklens.parse_measure`.
    groups : iterable of iterables of str, optional
        Features that are shuffled as one, such as `correlated_groups` finds; the others by themselves.
    n_repeats : int, default 10
        Random shuffles of each query. Where all n! orders of its documents are no more, each is taken once.
    seed : int, numpy.random.SeedSequence, numpy.random.Generator or None, default 0
        The shuffles belong to the seed, the query's place among the sorted ids and the repeat: features and
        groups see the same ones, and the order of `queries` changes nothing.
    batch_rows : int, optional
        The most rows of one call of the model. By default what fits the memory budget, at least 4096.
    progress : callable, optional
        Called as ``progress(done, total)`` with the queries that are done.

    Returns
    -------
    ListwiseImportance

    Raises
    ------
    DataError
        When there is no query, or one lacks a feature.
    ModelError
        When the model raises, or answers with anything but one finite score a row.
    UnknownNameError
        For an unknown measure, or an unknown feature in `groups`.

    Notes
    -----
    Documents are ranked as `ranklens.evaluate` ranks them: by score, then by id descending. The identity is
    one of the orders that may be drawn, and negative importances stay negative. A query with one document, or
    a feature that is constant in it, gives exactly 0, and the model is not asked. Queries without a relevant
    document are measured like any other, which for most measures gives 0; queries without any judgement are
    left out, with a warning.

    Shuffled documents may be such as never occur: the model is asked where it was not trained. Of two
    features that carry the same signal each stands in for the other, and both look useless: see
    `correlated_groups`.

    Examples
    --------
    >>> from ranklens.explain import QueryFeatures, adapt
    >>> model = adapt(lambda x: x[:, 0] + 0.0 * x[:, 1], ["bm25", "price"])
    >>> query = QueryFeatures.of("q1", ["a", "b", "c"], [[3, 7], [2, 9], [1, 8]], {"a": 1, "b": 0, "c": 0})
    >>> print(listwise(model, [query], "nDCG@10"))
    nDCG@10 1.0000 over 1 query; its drop when a feature is shuffled within the queries (10 repeats):
    bm25 +0.2897 (moved 1 query)
    price +0.0000 (moved 0 queries)
    """
    found = judged_queries(queries)
    check_positive("n_repeats", n_repeats)
    if batch_rows is not None:
        check_positive("batch_rows", batch_rows)
    measured = parse_measure(measure)
    adapted = model_for(model, found)
    players = players_of(adapted.names, groups)
    backend = backend_for(adapted, found)
    most_rows = batch_rows or call_size(len(adapted.names))
    number = seed_of(seed)
    with backend.precise():
        stack = stacked(found, adapted.names)
        scorer = Scorer(adapted, stack, backend, players.members, most_rows)
        task = _Listwise(stack, players, measured, scorer, adapted.trees())
        baseline, drops = task.run(n_repeats, number, most_rows, progress)
        scorer.close()
    return ListwiseImportance.of(
        measure=measured.name,
        names=players.labels,
        groups=tuple(
            tuple(adapted.names[i] for i in members) for members in players.members if len(members) > 1
        ),
        query_ids=stack.query_ids,
        baseline=baseline,
        drops=drops,
        n_repeats=n_repeats,
        seed=number,
        n_model_rows=scorer.n_rows,
        n_model_calls=scorer.n_calls,
    )


class _Listwise:
    """What one call computes."""

    def __init__(self, stack: Stack, players: Players, measure: Measure, scorer: Scorer, trees: Any) -> None:
        self._stack = stack
        self._players = players
        self._scorer = scorer
        self._ranker = Ranker(stack, measure, scorer.backend)
        self._trees = trees

    def run(
        self, n_repeats: int, seed: int, most_rows: int, progress: Progress | None
    ) -> tuple[Floats, Floats]:
        """Return the measure of each query, shape (Q,), and its drops, shape (players, Q)."""
        n_queries = len(self._stack.query_ids)
        originals, last = self._originals()
        xp = self._scorer.backend.xp
        measured = [*self._base(xp.concat([originals, last]))]
        places: list[tuple[Any, Any]] = []
        blocks = shuffled_queries(self._stack, self._players, self._trees, n_repeats, seed)
        done: set[int] = set()
        for together in drawn_together(blocks, most_rows):
            new = self._scorer.moved(*joined_rows(together, self._stack))
            measured += self._shuffled(xp.concat([originals, new, last]), together)
            places += [(block.players, block.query) for block in together]
            done |= {block.query for block in together}
            if progress is not None:
                progress(len(done), n_queries)
        if progress is not None:
            progress(n_queries, n_queries)
        return self._drops(to_host(*measured), places)

    def _originals(self) -> tuple[Any, Any]:
        stack, backend = self._stack, self._scorer.backend
        asked = np.flatnonzero(np.repeat(stack.sizes > 1, stack.sizes))
        last = backend.xp.full(1, -np.inf, dtype=backend.float_dtype, device=backend.device)
        return self._scorer.originals(asked, int(stack.starts[-1])), last

    def _base(self, scores: Any) -> Any:
        starts = self._stack.starts
        queries = np.argsort(-self._stack.sizes, kind="stable")
        self._order = queries
        slots = [np.arange(starts[query], starts[query + 1])[None, :] for query in queries.tolist()]
        found = [*self._ranker.values(scores, queries, slots)]
        self._n_base = len(found)
        return found

    def _shuffled(self, scores: Any, blocks: list[Shuffled]) -> Any:
        n = int(self._stack.starts[-1])
        queries, slots, n_before = [], [], 0
        for block in blocks:
            start, size = int(self._stack.starts[block.query]), block.slots.shape[2]
            place = np.where(block.slots < size, start + block.slots, n + n_before - size + block.slots)
            slots += list(place)
            queries += [block.query] * len(block.players)
            n_before += block.rows.size
        yield from self._ranker.values(scores, np.asarray(queries, dtype=np.int64), slots)

    def _drops(self, host: Any, places: list[tuple[Any, Any]]) -> tuple[Floats, Floats]:
        baseline = np.empty(len(self._stack.query_ids))
        baseline[self._order] = np.concatenate(host[: self._n_base], axis=1)[0]
        drops = np.zeros((len(self._players.labels), baseline.size))
        shuffled = [column for values in host[self._n_base :] for column in values.T]
        position = 0
        for players, query in places:
            for player in players.tolist():
                # Equal values differ by exactly 0, whatever their mean rounds to.
                drops[player, query] = np.mean(baseline[query] - shuffled[position])
                position += 1
        self._require_finite(baseline, drops)
        return baseline, drops

    def _require_finite(self, *found: Floats) -> None:
        for values in found:
            bad = np.argwhere(~np.isfinite(values))
            if bad.size:
                raise DataError(
                    f"the measure is not finite in query {self._stack.query_ids[int(bad[0][-1])]!r}; check "
                    "the grades or the measure's function"
                )


def model_for(model: Any, queries: Sequence[QueryFeatures]) -> Model:
    """Adapt `model`; a function that knows no names takes those of the queries, where they have some."""
    adapted = _adapted(model, queries[0])
    for query in queries:
        if query.names is None:
            adapted.require_order(f"query {query.query_id!r}")
    require_codes(adapted, queries)
    return adapted


def _adapted(model: Any, query: QueryFeatures) -> Model:
    if isinstance(model, Model):
        return model.widened(query.n_features)
    try:
        return adapt(model).widened(query.n_features)
    except ValueError:
        if query.names is None:
            raise
        return adapt(model, query.names)

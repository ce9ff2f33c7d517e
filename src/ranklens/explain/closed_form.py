"""Explain rows under a tree ensemble: no model call, and one transfer to the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklens.arrays import Backend, to_host
from ranklens.core.explanations import PairwiseExplanations
from ranklens.explain.models.base import Model
from ranklens.explain.players import Players
from ranklens.explain.rows import Rows, promoted
from ranklens.explain.trees import TreeEnsemble, tree_contributions
from ranklens.explain.trees.on_device import parts_on_device
from ranklens.io.whole_numbers import require_exact


def closed_form(model: Model, method: str) -> TreeEnsemble | None:
    """Return the trees that a method uses, if any.

    Raises
    ------
    ValueError
        When the method needs them and there are none.
    """
    trees: TreeEnsemble | None = model.trees() if method in ("auto", "tree") else None
    if method == "tree" and trees is None:
        why = getattr(model, "without_trees", None)
        raise ValueError(
            f"method='tree' needs a tree ensemble that has a closed form, and {model.kind} has none"
            f"{f' ({why})' if why else ''}; use method='auto'"
        )
    return trees


def explain_trees(
    model: Model, trees: TreeEnsemble, backend: Backend, a: Any, b: Any, players: Players, *, seed: int
) -> PairwiseExplanations:
    """Explain row i of `b` against row i of `a`.

    Parameters
    ----------
    a, b : arrays, shape (n, features)
        On the host or on the device of `backend`.
    """
    n, n_players = a.shape[0], len(players.labels)
    if backend.name == "numpy":
        of_feature = players.of_feature if n_players < a.shape[1] else None
        host = [tree_contributions(trees, a, b, backend, of_feature), a, b]
    else:
        with backend.precise():
            parts = parts_on_device(trees, players.of_feature, a, b, backend)
            *arrays, there_a, there_b = _on_host(*parts.arrays, a, b)
            host = [parts.on_host(arrays), there_a, there_b]
    for rows, what in ((host[1], "a"), (host[2], "b")):
        require_exact(rows, model.names, what)
    rows_a, rows_b = promoted(host[1], host[2])
    model.check_rows(rows_a, rows_b)
    none = np.zeros(n, dtype=np.int64)
    return PairwiseExplanations(
        names=players.labels,
        feature_names=model.names,
        contributions=host[0],
        # They would take as long again, so they wait until someone asks.
        scores=lambda: (trees.scores(rows_a), trees.scores(rows_b)),
        values_a=rows_a,
        values_b=rows_b,
        standard_errors=np.broadcast_to(np.nan, (n, n_players)),
        n_model_rows=none,
        degrees_of_freedom=none,
        methods=["tree"] * n,
        seed=seed,
    )


def _on_host(*arrays: Any) -> list[Rows]:
    """Bring those that are on a device to the host, all at once but for large integers."""
    found = list(arrays)
    there = [place for place, array in enumerate(arrays) if not isinstance(array, np.ndarray)]
    # Beside numbers of other types these would travel as float64, and lose digits.
    wide = [place for place in there if str(arrays[place].dtype).endswith("int64")]
    for places in ([place for place in there if place not in wide], wide):
        fetched = to_host(*(arrays[place] for place in places)) if places else ()
        for place, array in zip(places, fetched, strict=True):
            found[place] = array
    return found

"""Where queries are computed on: arrays where they lie, files, frames and lists where the user wants them."""

import copy
import pickle

import numpy as np
import pytest

from ranklens.arrays import backend_of, use_backend
from ranklens.explain import QueryFeatures, adapt, explain_change, listwise, read_letor
from ranklens.explain.models.tree_model import EnsembleModel
from ranklens.explain.trees import Tree, TreeEnsemble

NAMES = ("x", "y")
ROWS = [[0.5, 3.0], [0.25, 7.0], [1.0, 2.0], [0.75, 1.0]]
GRADES = [0, 1, 2, 0]
DOCUMENTS = ["a", "b", "c", "d"]


def letor():
    lines = [f"{g} qid:q 1:{x} 2:{y} # {d}" for d, (x, y), g in zip(DOCUMENTS, ROWS, GRADES, strict=True)]
    return read_letor("\n".join(lines).encode(), names=NAMES)


def frame():
    x, y = zip(*ROWS, strict=True)
    columns = {"query_id": ["q"] * 4, "document": DOCUMENTS, "grade": GRADES, "x": x, "y": y}
    return QueryFeatures.from_frame(columns)


def of(rows):
    return (QueryFeatures.of("q", DOCUMENTS, rows, GRADES, names=NAMES),)


GIVEN = {"file": letor, "frame": frame, "lists": lambda: of(ROWS)}


def asked(explain, queries):
    """Return the names of the backends of whose arrays the models were asked, and the numbers found."""
    kinds = set()

    def model(weight):
        def fn(x):
            kinds.add(backend_of(x).name)
            return x[:, 0] * 8.0 + weight * x[:, 1] * x[:, 0]

        return adapt(fn, NAMES)

    if explain == "listwise":
        found = listwise(model(1.0), queries, "nDCG", n_repeats=3)
    else:
        found = explain_change(model(1.0), model(-2.0), queries, "nDCG")
    return kinds, found.importances


@pytest.mark.parametrize("explain", ["listwise", "explain_change"])
@pytest.mark.parametrize("given", [*GIVEN, "array"])
def test_files_frames_and_lists_go_where_the_user_wants_and_arrays_stay(user_backend, explain, given):
    queries = GIVEN[given]() if given in GIVEN else of(np.asarray(ROWS))
    kinds, expected = asked(explain, queries)
    assert kinds == {"numpy"}
    with use_backend(user_backend.name):
        for some in (queries, pickle.loads(pickle.dumps(queries)), copy.deepcopy(queries)):
            kinds, found = asked(explain, some)
            assert kinds == {"numpy" if given == "array" else user_backend.name}
            assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("given", GIVEN)
def test_trees_are_explained_where_the_user_wants_named_rows(user_backend, given):
    def stump(feature, threshold):
        columns = [feature, -1, -1], [threshold, 0, 0], [1, 0, 0], [2, 0, 0], [0, 2.0, 7.0], [True] * 3
        return EnsembleModel(TreeEnsemble.of([Tree(*map(np.asarray, columns))], 2), NAMES)

    expected = explain_change(stump(0, 0.6), stump(1, 2.5), of(np.asarray(ROWS)), "nDCG")
    with use_backend(user_backend.name):
        found = explain_change(stump(0, 0.6), stump(1, 2.5), GIVEN[given](), "nDCG")
    assert found.importances == pytest.approx(expected.importances, abs=1e-12)
    assert found.swaps

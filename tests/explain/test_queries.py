"""What a query's documents, features and grades must be."""

import copy
import math
import pickle

import numpy as np
import pytest

from ranklens.core import DataError
from ranklens.explain import QueryFeatures, adapt
from ranklens.explain.queries import stacked

COLUMNS = {
    "query_id": [2, 1, 2],
    "document": ["x", "y", "z"],
    "grade": [1, 0, 2],
    "bm25": [0.5, 1.5, None],
    "price": [3, 4, 5],
}


@pytest.mark.parametrize("library", ["dict", "pandas", "polars", "pyarrow"])
def test_a_frame_becomes_queries(library):
    if library == "dict":
        frame = COLUMNS
    else:
        module = pytest.importorskip(library, reason=f"{library} is not installed")
        frame = module.table(COLUMNS) if library == "pyarrow" else module.DataFrame(COLUMNS)
    two, one = QueryFeatures.from_frame(frame)
    assert (two.query_id, two.documents, dict(two.grades)) == ("2", ("x", "z"), {"x": 1.0, "z": 2.0})
    assert two.names == one.names == ("bm25", "price")
    np.testing.assert_array_equal(two.features, [[0.5, 3.0], [math.nan, 5.0]])
    (chosen, _) = QueryFeatures.from_frame(frame, features=["price"])
    assert chosen.names == ("price",)


def frame_of(library, columns):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_columns_of_a_querys_frame_keep_their_names(library):
    columns = {"price": [3, 4], "bm25": [0.5, 1.5]}
    frame, turned = frame_of(library, columns), frame_of(library, dict(reversed(columns.items())))
    model = adapt(lambda x: x[:, 0] - 7.0 * x[:, 1], ["bm25", "price"])
    one, other = (QueryFeatures.of("q", ["x", "y"], some, [0, 1]) for some in (frame, turned))
    assert (one.names, other.names) == (("price", "bm25"), ("bm25", "price"))
    for query in (one, other):
        np.testing.assert_array_equal(stacked([query], model.names).host, [[1.5, 4.0], [0.5, 3.0]])
    np.testing.assert_array_equal(model.score(frame), [-20.5, -26.5])
    np.testing.assert_array_equal(model.score(turned), [-20.5, -26.5])
    with pytest.raises(DataError, match="lacks the feature 'clicks'"):
        adapt(lambda x: x[:, 0], ["clicks", "price"]).score(frame)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_names_choose_the_columns_of_a_frame_or_rename_them(library):
    frame = frame_of(library, {"price": [3, 4], "bm25": [0.5, 1.5]})
    turned = QueryFeatures.of("q", ["x", "y"], frame, [0, 1], names=["bm25", "price"])
    np.testing.assert_array_equal(turned.features, [[0.5, 3.0], [1.5, 4.0]])
    renamed = QueryFeatures.of("q", ["x", "y"], frame, [0, 1], names=["a", "b"])
    assert renamed.names == ("a", "b")
    np.testing.assert_array_equal(renamed.features, [[3.0, 0.5], [4.0, 1.5]])
    with pytest.raises(DataError, match="differ in 'clicks'"):
        QueryFeatures.of("q", ["x", "y"], frame, [0, 1], names=["bm25", "clicks"])


def test_columns_that_pandas_numbers_have_no_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rows = np.asarray([[3.0, 0.5], [4.0, 1.5]])
    query = QueryFeatures.of("q", ["x", "y"], pandas.DataFrame(rows), [0, 1])
    assert query.names is None
    np.testing.assert_array_equal(query.features, rows)
    with pytest.raises(DataError, match="two columns named 'a'"):
        QueryFeatures.of("q", ["x", "y"], pandas.DataFrame(rows, columns=["a", "a"]), [0, 1])


def test_a_missing_column_is_named():
    with pytest.raises(DataError, match="no column 'rel'; it has 'query_id', 'document'"):
        QueryFeatures.from_frame(COLUMNS, grade="rel")
    with pytest.raises(DataError, match="column 'bm25' holds values that are no numbers"):
        QueryFeatures.from_frame({**COLUMNS, "bm25": ["a", "b", "c"]})
    with pytest.raises(DataError, match="a frame or a mapping of columns is needed, got int"):
        QueryFeatures.from_frame(3)


@pytest.mark.parametrize(
    ("docs", "features", "grades", "why"),
    [
        ([], np.zeros((0, 1)), {}, "has no documents"),
        (["a", "a"], [[1], [2]], {}, "has the document 'a' twice"),
        (["a", "b"], [[1]], {}, r"have shape \(1, 1\); \(2, k\) is needed"),
        (["a", "b"], [1, 2], {}, r"have shape \(2,\)"),
        (["a", "b"], [["x"], ["y"]], {}, "no numbers"),
        (["a"], [[1]], {"a": math.nan}, "the grade of document 'a' in query 'q' is nan"),
        (["a"], [[1]], {"a": "x"}, "the grade of document 'a' in query 'q' is 'x'; give a number"),
        (["a"], [[1]], [1, 2], "has 1 documents and 2 grades"),
    ],
)
def test_parts_that_do_not_fit_are_refused(docs, features, grades, why):
    with pytest.raises(DataError, match=why):
        QueryFeatures.of("q", docs, features, grades)


def test_names_must_fit_the_columns():
    with pytest.raises(DataError, match="has 2 features and 1 distinct names"):
        QueryFeatures.of("q", ["a"], [[1, 2]], {}, names=["x", "x"])


def test_documents_are_stacked_in_the_order_that_breaks_ties():
    queries = [
        QueryFeatures.of("q10", ["b", "é", "a"], [[1], [2], [3]], {"a": 1, "lost": 3}),
        QueryFeatures.of("q1", ["z"], [[4]], {}),
    ]
    stack = stacked(queries, ["x"])
    assert list(stack.query_ids) == ["q1", "q10"]
    assert stack.documents == ("z", "é", "b", "a")
    assert stack.host.ravel().tolist() == [4.0, 2.0, 1.0, 3.0]
    assert stack.grades.tolist() == [-math.inf, -math.inf, -math.inf, 1.0]
    assert [pool.tolist() for pool in stack.pools] == [[], [3.0, 1.0]]
    assert stack.max_grade == 3.0


def test_an_own_number_type_is_kept_and_mixed_ones_are_promoted():
    single, double = (
        QueryFeatures.of(name, ["a"], np.ones((1, 1), kind), {})
        for name, kind in (("q1", "f4"), ("q2", "f8"))
    )
    whole = QueryFeatures.of("q3", ["a"], np.ones((1, 1), "i4"), {})
    assert stacked([single], ["x"]).host.dtype == np.float32
    assert stacked([single, double], ["x"]).host.dtype == np.float64
    assert stacked([whole], ["x"]).host.dtype == np.float64


def test_a_query_holds_its_own_copies():
    features, grades = np.ones((2, 1)), {"a": 1}
    query = QueryFeatures.of("q", ["a", "b"], features, grades)
    features[:], grades["b"] = 9.0, 2
    assert query.features.tolist() == [[1.0], [1.0]]
    assert dict(query.grades) == {"a": 1.0}


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda query: pickle.loads(pickle.dumps(query))])
def test_a_query_is_copied_and_pickled_whole(copied):
    query = QueryFeatures.of("q", ["a", "b"], [[1.0], [math.nan]], {"a": 1, "lost": 2}, names=["x"])
    found = copied(query)
    assert (found.query_id, found.documents, found.names) == ("q", ("a", "b"), ("x",))
    assert found.grades == query.grades
    np.testing.assert_array_equal(found.features, query.features)
    with pytest.raises(TypeError):
        found.grades["a"] = 2


@pytest.mark.parametrize("missing", [None, math.nan, "", float("nan")])
@pytest.mark.parametrize("column", ["query_id", "document"])
def test_a_row_without_an_id_is_told(column, missing):
    columns = {**COLUMNS, column: ["x", "y", missing]}
    with pytest.raises(DataError, match=f"row 3 has no {column.removesuffix('_id')} id"):
        QueryFeatures.from_frame(columns)


@pytest.mark.parametrize("library", ["dict", "pandas", "polars", "pyarrow"])
def test_a_document_of_a_frame_without_a_grade_is_unjudged(library):
    columns = {**COLUMNS, "grade": [1, 0, None]}
    frame = columns
    if library != "dict":
        module = pytest.importorskip(library, reason=f"{library} is not installed")
        frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    two, _ = QueryFeatures.from_frame(frame)
    assert (two.documents, dict(two.grades)) == (("x", "z"), {"x": 1.0})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dates_are_no_features(library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    naive = np.asarray(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[us]").tolist()
    with pytest.raises(DataError, match=r"column 'seen' holds datetime64.*must be real numbers"):
        QueryFeatures.from_frame(module.DataFrame({**COLUMNS, "seen": naive}))


def test_names_are_a_sequence_of_names():
    with pytest.raises(DataError, match="must be a sequence of names, got the string 'ab'"):
        QueryFeatures.of("q", ["a"], [[1, 2]], {}, names="ab")


@pytest.mark.parametrize("names", [None, ["doc", "bm25"]])
def test_integers_that_float64_rounds_are_refused(names):
    queries = [
        QueryFeatures.of("q1", "ab", [[2**53, 1], [2**53 + 1, 2]], {"a": 1}, names=names),
        QueryFeatures.of("q2", "ab", [[0.5, 1], [0.5, 2]], {"a": 1}, names=names),
    ]
    with pytest.raises(DataError, match="'doc' of query 'q1' is 9007199254740993, which float64 rounds"):
        stacked(queries, ["doc", "bm25"])
    columns = {"query_id": ["q"] * 2, "document": ["a", "b"], "grade": [0, 1], "bm25": [0.5, 0.5]}
    with pytest.raises(DataError, match="'doc' of the frame is 9007199254740993, which float64 rounds"):
        QueryFeatures.from_frame({**columns, "doc": [2**53 + 1, 1]})
    with pytest.raises(DataError, match="a value of the features of query 'q3' is 9007199254740993"):
        QueryFeatures.of("q3", "ab", [[2**53 + 1, 0.5], [1, 1]], {"a": 1}, names=names)
    assert stacked(queries[1:], ["doc", "bm25"]).host.tolist() == [[0.5, 2.0], [0.5, 1.0]]


def test_a_frame_without_a_feature_is_said_to_have_none():
    columns = {"query_id": ["q"] * 2, "document": ["a", "b"], "grade": [0, 1]}
    with pytest.raises(DataError, match="no column of a feature beside 'query_id', 'document' and 'grade'"):
        QueryFeatures.from_frame(columns)

"""Learning-to-rank files."""

import gzip
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.core import DataError
from ranklens.io import read_letor

LINES = b"""# a title
2 qid:7 1:0.5 3:-2e-1 # docid = GX-1 inc = 0.4
0\tqid:7\t2:1 #docid=GX-2

1 qid:8 1:1 2:2 3:3 # 15104\tsome words
"""


def test_lines_become_queries():
    seven, eight = read_letor(LINES)
    assert (seven.query_id, seven.documents) == ("7", ("GX-1", "GX-2"))
    assert dict(seven.grades) == {"GX-1": 2.0, "GX-2": 0.0}
    assert seven.names is None
    np.testing.assert_array_equal(seven.features, [[0.5, 0.0, -0.2], [0.0, 1.0, 0.0]])
    assert eight.documents == ("15104",)


def test_what_a_line_leaves_out_is_missing():
    seven, _ = read_letor(LINES, missing=math.nan, n_features=4, first=1)
    np.testing.assert_array_equal(seven.features[1], [math.nan, 1.0, math.nan, math.nan])


@pytest.mark.parametrize("missing", [0, -1, np.int64(0), np.float32(0), 0.0])
def test_features_are_float64_whatever_stands_for_missing_ones(missing):
    features = read_letor(b"2 qid:7 1:0.1 2:3\n0 qid:7 2:1.9\n", missing=missing)[0].features
    assert features.dtype == np.float64
    assert features.tolist() == [[0.1, 3.0], [float(missing), 1.9]]


@pytest.mark.parametrize("missing", [None, "nan", False, np.False_, [0.0], 1j, np.complex128(0)])
def test_what_stands_for_missing_features_must_be_a_number(missing):
    with pytest.raises(ValueError, match="missing must be a number"):
        read_letor(LINES, missing=missing)


def test_one_name_more_than_features_may_be_a_model_that_counts_from_zero():
    with pytest.raises(DataError, match=r"numbered up to 3, and there are 4 names.* pass first=0 "):
        read_letor(LINES, names=list("abcd"))
    assert read_letor(LINES, names=list("abcd"), first=0)[0].features[0].tolist() == [0.0, 0.5, 0.0, -0.2]


@pytest.mark.parametrize("sizes", [[-1, 3], [1.5, 0.5], ["2"], [None]])
def test_query_sizes_must_be_numbers_of_documents(sizes):
    with pytest.raises(DataError, match="is no number of documents"):
        read_letor(b"2 1:0.5 2:3\n0 2:1\n", query_sizes=sizes)


def test_features_may_be_counted_from_zero():
    (query,) = read_letor(b"0 qid:1 0:5 2:7\n")
    assert query.features.tolist() == [[5.0, 0.0, 7.0]]
    (query,) = read_letor(b"0 qid:1 1:5 2:7\n", first=0)
    assert query.features.tolist() == [[0.0, 5.0, 7.0]]


def test_one_column_more_than_features_may_be_a_model_that_counts_from_zero():
    with pytest.raises(DataError, match=r"numbered up to 3, and n_features=4.* pass first=0 .* first=1"):
        read_letor(LINES, n_features=4)
    seven, _ = read_letor(LINES, n_features=4, first=1)
    assert seven.features[0].tolist() == [0.5, 0.0, -0.2, 0.0]
    seven, _ = read_letor(LINES, n_features=4, first=0)
    assert seven.features[0].tolist() == [0.0, 0.5, 0.0, -0.2]
    for n in (3, 5):
        assert read_letor(LINES, n_features=n)[0].n_features == n


def test_names_say_how_many_features_there_are():
    (query,) = read_letor(b"0 qid:1 1:5\n", names=["a", "b"], first=1)
    assert (query.names, query.features.tolist()) == (("a", "b"), [[5.0, 0.0]])
    with pytest.raises(DataError, match="4 features and 2 names"):
        read_letor(b"0 qid:1 1:5\n", names=["a", "b"], n_features=4)


def test_documents_without_an_id_are_named_by_their_place():
    (query,) = read_letor(b"0 qid:1 1:5\n1 qid:1 1:6 # b\r\n1 qid:1 1:6\n")
    assert query.documents == ("1", "b", "3")


def test_queries_may_be_mixed():
    one, two = read_letor(b"0 qid:1 1:5\n0 qid:2 1:6\n0 qid:1 1:7\n")
    assert (one.features.tolist(), two.features.tolist()) == ([[5.0], [7.0]], [[6.0]])


def test_query_sizes_stand_in_a_file_beside(tmp_path):
    lines = b"1 1:5 2:1\n0 1:6\n2 2:7\n"
    (tmp_path / "rank.train.gz").write_bytes(gzip.compress(lines))
    with pytest.raises(DataError, match=r"rank.train.gz:1: the line has no qid:, .* pass query_sizes="):
        read_letor(tmp_path / "rank.train.gz")
    (tmp_path / "rank.train.query").write_text("2\n1\n")
    one, two = read_letor(tmp_path / "rank.train.gz")
    assert (one.query_id, len(one.documents), two.query_id, len(two.documents)) == ("1", 2, "2", 1)
    assert len(read_letor(lines, query_sizes=[1, 2])) == 2
    assert len(read_letor(lines, query_sizes=tmp_path / "rank.train.query")) == 2
    with pytest.raises(DataError, match="the sizes of 1 queries sum to 2, and <bytes> has 3 lines"):
        read_letor(lines, query_sizes=[2])
    (tmp_path / "rank.train.query").write_text("2\nx\n")
    with pytest.raises(DataError, match=r"rank.train.query:2: a number of documents is needed \(in 'x'\)"):
        read_letor(tmp_path / "rank.train.gz")


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (b"", "there are no lines of documents"),
        (b"# 1 qid:1 1:2\n", "there are no lines of documents"),
        (b"1 qid:1 1:2\nx qid:1 1:2\n", r":2: the grade is not a number \(in 'x qid:1 1:2'\)"),
        (b"nan qid:1 1:2\n", ":1: the grade is not a number"),
        (b"1 qid:1 1:2\n\n1 qid:1 a:2\n", ":3: 'a:2' is not a feature; write number:value"),
        (b"1 qid:1 1:2\n1 qid:1 1:2 2:x\n", ":2: '2:x' is not a feature"),
        (b"1 qid:1 1:2\n1 qid:1 1:2 2:\n", ":2: '2:' is not a feature"),
        (b"1 qid:1 1:2\n1 qid:1 1: 2\n", ":2: '1:' is not a feature"),
        (b"1 qid:1 1:2:3 4\n", ":1: '1:2:3' is not a feature"),
        (b"1 qid:1 1:1_0\n", ":1: '1:1_0' is not a feature"),
        (b"1 qid:1 99999999:1\n", ":1: feature number 99999999 is too large for a matrix"),
        (b"1 qid:1 1:2 3\n", ":1: '3' is not a feature"),
        (b"1 qid:1 1:2:3\n", ":1: '1:2:3' is not a feature"),
        (b"1 qid:1 1:2\n1 qid:1 2:3 2:4\n", ":2: feature 2 is given twice"),
        (b"1 qid:1 2:2 -1:4\n", ":1: '-1:4' is not a feature"),
        (b"1 qid:1 1:2\n1 qid: 1:2\n", ":2: there is no query behind qid:"),
        (b"1 qid:1\n", "no line has a feature"),
        (b"1 qid:1 1:2\n1 1:2\n", ":2: the line has no qid:, and others have"),
        (b"1 qid:1 1:2 # a\n1 qid:1 1:2 # a\n", ":2: the document 'a' occurs twice in query '1'"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(lines, why):
    with pytest.raises(DataError, match=why):
        read_letor(lines)


def test_sizes_contradict_queries_in_the_lines():
    with pytest.raises(DataError, match=r":1: the line has a qid:, and query_sizes is given; leave it out"):
        read_letor(b"2 qid:1 1:0.5\n1 qid:1 2:1\n", query_sizes=[1, 1])


def test_a_feature_past_the_last_one_is_refused():
    with pytest.raises(DataError, match=":1: feature 3 is not among the 2 features from 1 on"):
        read_letor(b"1 qid:1 3:2\n", n_features=2)
    with pytest.raises(DataError, match=":1: feature 0 is not among the 1 features from 1 on"):
        read_letor(b"1 qid:1 0:2 1:1\n", first=1)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.integers(1, 3),
            st.dictionaries(st.integers(1, 9), st.floats(width=64, allow_nan=False)),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_written_is_read(rows):
    lines = [
        f"{grade} qid:{query} {' '.join(f'{i}:{v!r}' for i, v in values.items())} # d{n}"
        for n, (grade, query, values) in enumerate(rows)
    ]
    found = read_letor("\n".join(lines).encode(), n_features=9, first=1)
    read = {
        d: (q.query_id, q.grades[d], row)
        for q in found
        for d, row in zip(q.documents, q.features, strict=True)
    }
    for n, (grade, query, values) in enumerate(rows):
        query_id, found_grade, row = read[f"d{n}"]
        assert (query_id, found_grade) == (str(query), grade)
        assert row.tolist() == [values.get(i, 0.0) for i in range(1, 10)]


@pytest.mark.parametrize(
    ("file", "n_queries", "n_documents", "n_features"),
    [
        ("ltr-lightgbm-lambdarank/rank.train.gz", 201, 3005, 300),
        ("ltr-lightgbm-lambdarank/rank.test.gz", 50, 768, 300),
        ("ltr-mq2008/test.txt.gz", 36, 795, 46),
        ("ltr-format-samples/pytorchltr.dataset.txt", 4, 39, 45),
    ],
)
def test_files_of_other_tools_are_read(data_dir, file, n_queries, n_documents, n_features):
    queries = read_letor(data_dir / file)
    assert len(queries) == n_queries
    assert sum(len(query.documents) for query in queries) == n_documents
    assert {query.n_features for query in queries} == {n_features}


def test_files_without_features_are_refused(data_dir):
    with pytest.raises(DataError, match="no line has a feature"):
        read_letor(data_dir / "ltr-elasticsearch-tmdb" / "movie_judgments.txt")

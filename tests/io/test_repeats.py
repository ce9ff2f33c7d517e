"""A pair that occurs twice is found, wherever it stands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.core import DataError, DataWarning
from ranklens.io import read_qrels, read_run
from ranklens.io.checks import repeats
from ranklens.io.ids import Codes, IdColumn
from ranklens.io.pairs import PairTable


def test_a_document_listed_twice_is_an_error_that_names_both_lines() -> None:
    with pytest.raises(DataError, match=r":2: query 'q1' lists document 'a' twice, in lines 1 and 2"):
        read_run(b"q1 Q0 a 1 3 t\nq1 Q0 a 2 2 t\nq1 Q0 b 3 1 t\n")


def test_a_document_listed_twice_far_apart_is_found() -> None:
    lines = [f"q{i % 7} Q0 d{i} 1 {i} t" for i in range(20_000)]
    text = "\n".join(["q3 Q0 dup 1 1 t", *lines, "", "q3 Q0 dup 1 1 t"]).encode()
    with pytest.raises(DataError, match=r"in lines 1 and 20003"):
        read_run(text)


@pytest.mark.parametrize("scores", [(3, 2, 2), (2, 3, 1), (1, 2, 3)])
def test_skipping_keeps_the_higher_score(scores: tuple[int, int, int]) -> None:
    text = "".join(f"q1 Q0 a 1 {score} t\n" for score in scores) + "q1 Q0 b 2 0 t\n"
    with pytest.warns(DataWarning, match=r"^2 rows of <bytes> left out: <bytes>:2: query 'q1' lists"):
        run = read_run(text.encode(), on_error="skip")
    assert run["q1"] == {"a": 3.0, "b": 0.0}


def test_two_grades_for_one_pair_are_an_error_that_names_both_lines() -> None:
    with pytest.raises(DataError, match=r":3: query 'q', document 'a' is judged 1 and 0, in lines 1 and 3"):
        read_qrels(b"q 0 a 1\nq 0 b 1\nq 0 a 0\n")


def test_an_identical_judgement_is_a_counted_warning() -> None:
    with pytest.warns(DataWarning, match=r"2 judgements are repeated .* counted once, in lines 1 and 2"):
        qrels = read_qrels(b"q 0 a 1\nq 0 a 1.0\nq 0 b 0\nq 0 a 1\n")
    assert qrels.to_dict() == {"q": {"a": 1.0, "b": 0.0}}


def test_skipping_keeps_the_first_of_two_grades() -> None:
    with pytest.warns(DataWarning, match="is judged 1 and 2"):
        assert read_qrels(b"q 0 a 1\nq 0 a 2\n", on_error="skip")["q"] == {"a": 1.0}


PAIRS = st.lists(st.tuples(st.sampled_from("pqr"), st.text("ab", max_size=20)), max_size=40)


def table_of(pairs: list[tuple[str, str]]) -> PairTable:
    codes = Codes()
    query = codes.of(IdColumn.from_texts([query for query, _ in pairs]))
    documents = IdColumn.from_texts([document for _, document in pairs])
    return PairTable(codes.texts(), query, documents, np.zeros(len(pairs)))


def plain_repeats(pairs: list[tuple[str, str]]) -> list[tuple[int, int]]:
    return [(pairs.index(pair), row) for row, pair in enumerate(pairs) if pairs.index(pair) != row]


@given(PAIRS)
def test_repeats_are_those_of_a_plain_search(pairs: list[tuple[str, str]]) -> None:
    first, again = repeats(table_of(pairs))
    assert list(zip(first.tolist(), again.tolist(), strict=True)) == plain_repeats(pairs)


@given(PAIRS)
def test_documents_that_share_a_key_are_not_taken_for_each_other(pairs: list[tuple[str, str]]) -> None:
    table = table_of(pairs)
    table.__dict__["document_keys"] = np.zeros(len(pairs), dtype=np.uint64)
    first, again = repeats(table)
    assert list(zip(first.tolist(), again.tolist(), strict=True)) == plain_repeats(pairs)

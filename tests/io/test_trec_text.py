"""TREC text is read as people write it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_reader import read_plainly

import ranklens.io.trec
from ranklens.io import Run, read_qrels, read_run


def rows_of(run: Run) -> list[tuple[str, str, float]]:
    columns = run.to_columns()
    return list(zip(columns["query"], columns["document"], columns["score"], strict=True))


def test_blanks_tabs_comments_and_line_ends_are_read_right() -> None:
    text = (
        b"\xef\xbb\xbf# made by hand\r\n"
        b"q1 Q0\td1  1 \t1e-3 my run\r\n"
        b"\r\n"
        b"   \r\n"
        b"\tq1 Q0 d2 2 -0.5 tag\r\n"
        b"q2 Q0 d1 1 inf tag more words"
    )
    assert read_run(text).to_dict() == {"q1": {"d1": 0.001, "d2": -0.5}, "q2": {"d1": float("inf")}}


def test_a_byte_order_mark_is_no_part_of_the_first_id() -> None:
    assert read_run(b"\xef\xbb\xbfq1 Q0 d1 1 1 t\nq2 Q0 d1 1 1 t\n").query_ids == ("q1", "q2")


def test_only_a_line_that_starts_with_a_hash_is_a_comment() -> None:
    qrels = read_qrels(b"# pool depth 10\nq1 0 d#3_12 1\nq1 0 d#4_9 0\n #q2 0 d 1\n")
    assert qrels.to_dict() == {"q1": {"d#3_12": 1.0, "d#4_9": 0.0}, "#q2": {"d": 1.0}}


def test_the_rank_column_is_ignored() -> None:
    assert list(read_run(b"q Q0 a 9 1.0 t\nq Q0 b oops 2.0 t\n")["q"]) == ["b", "a"]


def test_grades_may_be_negative_fractional_and_written_as_floats() -> None:
    qrels = read_qrels(b"q 0 a 1.0\nq 0 b -2\nq 0 c .5\nq\t4.5\td\t+3")
    assert qrels["q"] == {"d": 3.0, "a": 1.0, "c": 0.5, "b": -2.0}


def test_ids_are_text() -> None:
    assert read_run(b"1 Q0 7 1 2 t\n1 Q0 007 2 1 t\n01 Q0 7 1 1 t\n").to_dict() == {
        "01": {"7": 1.0},
        "1": {"7": 2.0, "007": 1.0},
    }


def test_old_macintosh_line_ends_are_line_ends() -> None:
    assert read_run(b"q Q0 a 1 2 t\rq Q0 b 2 1 t\r")["q"] == {"a": 2.0, "b": 1.0}


def test_utf8_ids_are_kept() -> None:
    text = "q Q0 L'Hôpital_rule1.json 1 2 t\nq Q0 日本 2 1 t\n"
    assert list(read_run(text.encode())["q"]) == ["L'Hôpital_rule1.json", "日本"]


def test_long_ids_and_lines_longer_than_a_block_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranklens.io.trec, "BLOCK", 64)
    ids = ["d" * n for n in (1, 8, 9, 63, 64, 65, 5000)]
    lines = [f"query{'x' * 70} Q0 {document} 1 {score}.25 t" for score, document in enumerate(ids)]
    run = read_run("\n".join(lines).encode())
    assert list(run[f"query{'x' * 70}"]) == ids[::-1]


ID = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=20
)
SCORE = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-999, max_value=999).map(str),
    st.integers(-(10**20), 10**20).map(str),
)
GAP = st.text(" \t", min_size=1, max_size=3)
END = st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\n# a comment with six blanks here\n"])


@st.composite
def trec_texts(draw: st.DrawFn) -> str:
    pairs = draw(
        st.lists(
            st.tuples(ID.filter(lambda query: query[0] != "#"), ID), min_size=1, max_size=12, unique=True
        )
    )
    regular = draw(st.booleans())
    parts = ["\ufeff"] if draw(st.booleans()) else []
    for query, document in pairs:
        gaps = [" "] * 5 if regular else [draw(GAP) for _ in range(5)]
        fields = [
            query,
            "Q0",
            document,
            "1",
            draw(SCORE),
            "t" if regular else draw(st.sampled_from(["t", "a b"])),
        ]
        line = "".join(field + gap for field, gap in zip(fields, [*gaps, ""], strict=True))
        parts.append(line + ("\n" if regular else draw(END)))
    text = "".join(parts)
    return text.rstrip("\n") if draw(st.booleans()) else text


@settings(max_examples=300, deadline=None)
@given(text=trec_texts(), block=st.sampled_from([1, 40, 200, 1 << 18]))
def test_every_text_is_read_as_a_plain_reader_reads_it(text: str, block: int) -> None:
    usual = ranklens.io.trec.BLOCK
    ranklens.io.trec.BLOCK = block
    try:
        assert rows_of(read_run(text.encode())) == read_plainly(text)
    finally:
        ranklens.io.trec.BLOCK = usual

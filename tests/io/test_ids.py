"""Ids as byte slices behave like the texts they are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ranklens.io.ids import Codes, IdColumn

TEXTS = st.lists(st.one_of(st.text("ab\x00", max_size=20), st.text(max_size=40)), min_size=1, max_size=20)


def encodable(texts: list[str]) -> list[str]:
    return [text for text in texts if not any("\ud800" <= char <= "\udfff" for char in text)] or ["x"]


@given(TEXTS)
def test_texts_go_in_and_come_out(texts: list[str]) -> None:
    texts = encodable(texts)
    column = IdColumn.from_texts(texts)
    assert column.texts() == texts
    assert column.take(np.arange(len(texts))[::-1]).texts() == texts[::-1]


@given(TEXTS, TEXTS)
def test_a_key_depends_on_its_id_alone(left: list[str], right: list[str]) -> None:
    left, right = encodable(left), encodable(right)
    keys = dict(zip(left, IdColumn.from_texts(left).keys().tolist(), strict=True))
    both = IdColumn.from_texts(right + left)
    for text, key in zip(both.texts(), both.keys().tolist(), strict=True):
        assert keys.setdefault(text, key) == key
    assert len(set(keys.values())) == len(keys)


@given(TEXTS)
def test_ids_are_equal_when_their_texts_are(texts: list[str]) -> None:
    texts = encodable(texts)
    column, other = IdColumn.from_texts(texts), IdColumn.from_texts(texts[::-1])
    rows = np.arange(len(texts))
    assert column.equal(rows, other, rows).tolist() == [
        a == b for a, b in zip(texts, texts[::-1], strict=True)
    ]


@given(TEXTS)
def test_codes_count_distinct_ids_in_order_of_appearance(texts: list[str]) -> None:
    texts = encodable(texts)
    codes = Codes()
    column = IdColumn.from_texts(texts)
    found = np.concatenate((codes.of(column.take(slice(0, 3))), codes.of(column.take(slice(3, None)))))
    distinct = tuple(dict.fromkeys(texts))
    assert codes.texts() == distinct
    assert [distinct[code] for code in found.tolist()] == texts

"""JSON lines and JSON files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranklens.core import DataError, DataWarning
from ranklens.io import read_qrels, read_run


def test_one_object_a_line_is_read_and_ids_are_text() -> None:
    text = (
        b'{"query_id": 1, "doc_id": "a", "score": 1.5}\n\n'
        b'{"query_id": "2", "doc_id": "007", "score": 2, "x": [1]}\n'
    )
    assert read_run(text).to_dict() == {"1": {"a": 1.5}, "2": {"007": 2.0}}


def test_seventeen_digits_are_exact() -> None:
    values = [0.1, 1 / 3, 2.2250738585072014e-308, 8.98846567431158e307, 5e-324, 123456789.12345679]
    text = "".join(f'{{"qid":"q","docno":"{i}","score":{value!r}}}\n' for i, value in enumerate(values))
    run = read_run(text.encode())
    assert [run["q"][str(i)] for i in range(len(values))] == values


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"{bad", "not a JSON object"),
        (b"[1]", "not a JSON object"),
        (b'{"qid": "q", "docid": "b"}', "the score is"),
        (b'{"qid": "q", "docid": "b", "score": "x"}', "the score is not a number"),
        (b'{"qid": null, "docid": "b", "score": 1}', "the query id is"),
    ],
)
def test_bad_lines_are_named(bad: bytes, why: str) -> None:
    good = b'{"qid": "q", "docid": "a", "score": 1}\n'
    text = good + b"\n" + bad + b"\n" + good.replace(b'"a"', b'"c"')
    with pytest.raises(DataError) as caught:
        read_run(text)
    assert (caught.value.line, why in caught.value.why) == (3, True)
    with pytest.warns(DataWarning, match="1 row"):
        assert read_run(text, on_error="skip")["q"] == {"c": 1.0, "a": 1.0}


def test_nested_objects_and_lists_of_objects_are_read(tmp_path: Path) -> None:
    path = tmp_path / "qrels.json"
    path.write_text('{\n "q1": {\n  "d1": 2,\n  "d2": -1\n }\n}\n')
    assert read_qrels(path).to_dict() == {"q1": {"d1": 2.0, "d2": -1.0}}
    assert read_run(b'[{"qid": "1", "docno": "x", "score": 2}]').to_dict() == {"1": {"x": 2.0}}


def test_other_json_is_refused_with_the_form_that_is_expected() -> None:
    with pytest.raises(DataError, match=r"\{query: \{document: grade\}\} or a list of objects"):
        read_qrels(b'{\n"id_field": "id",\n"queries": [1]\n}')

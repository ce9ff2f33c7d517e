"""``--segments``: a table that says nothing about the measured queries is broken data."""

import json
from pathlib import Path

import pytest

from ranklens.cli.verdict import segment_verdict
from ranklens.core import ComparisonResult

PAIR = ("compare", "qrels.txt", "weak.run", "strong.run", "-m", "RR")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there are no rows in this table of segments"),
        ("\n\n", "there are no rows"),
        ("query_id,locale\n", "there are no rows"),
        ("query_id\nq00\n", "no column of segments beside the query ids"),
        (
            "query_id,locale\nzz,de\nzy,de\n",
            "no measured query has a segment of 'locale'; the table has zy, zz",
        ),
        ("query_id,locale\nq00,\nq01,\n", "no measured query has a segment of 'locale'; the table has none"),
        ("query_id,text\nq00,why\nq01,how\n", "text has another value for every query"),
        ("query_id,locale,locale\nq00,de,fr\n", "two columns are called 'locale'"),
    ],
)
def test_a_table_without_segments_is_code_3(command, text, says):
    Path("table.csv").write_text(text)
    done = command(*PAIR, "--segments", "table.csv", "--quiet")
    assert done.exit_code == 3
    assert says in done.stderr
    assert done.stderr.startswith("error: table.csv")


def test_a_column_of_an_unknown_name_is_said_to_be_the_queries(command):
    Path("table.csv").write_text("a,b\n" + "".join(f"q{i:02d},de\n" for i in range(40)))
    done = command(*PAIR, "--segments", "table.csv", "--format", "json")
    assert done.exit_code == 0
    assert "query ids were taken from the first one, 'a'" in done.stderr
    assert any("from the first one, 'a'" in text for text in json.loads(done.stdout)["warnings"])


def test_nothing_tested_is_no_verdict_on_segments(command):
    Path("table.csv").write_text("query_id,locale\nq00,de\nq01,de\nq02,fr\nq03,fr\n")
    done = command(*PAIR, "--segments", "table.csv")
    assert "is tested in no segment (too few queries in locale=de, locale=fr)" in done.stdout
    assert "not shown to be worse" not in done.stdout


def test_a_margin_that_nothing_tests_is_not_said_to_be_missed():
    row = ComparisonResult(
        "AP", None, None, None, None, None, 0.05, None, 0, 0, 0, 0, 0, 0, segment="locale=de", margin=0.01
    )
    assert segment_verdict([row]) == ["AP by segment: B against A is tested in no segment."]

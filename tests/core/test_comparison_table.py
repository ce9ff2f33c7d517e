"""A table of comparisons: selecting, ordering, exporting, and saying what it means."""

import dataclasses
import json
import pickle
import re

import pytest

import ranklens as rl
from ranklens.core import ComparisonResult, UnknownNameError
from ranklens.core.comparison_table import ComparisonTable

ROW = ComparisonResult(
    "AP", 0.2, 0.25, 0.05, 0.02, 0.08, 0.05, 0.001, 50, 0, 0, 10_000, 10_000, 0, q_value=0.002,
    run_a="bm25", run_b="dense", wins=33, ties=2, losses=15, correction="bh", family="AP (3 comparisons)",
)  # fmt: skip
WORSE = dataclasses.replace(
    ROW, run_b="tuned", mean_b=0.1, delta=-0.1, ci_low=-0.2, ci_high=-0.05, q_value=0.003
)
FLAT = dataclasses.replace(ROW, run_b="copy_1", delta=0.0, ci_low=-0.1, ci_high=0.1, p_value=1.0, q_value=1.0)
FEW = dataclasses.replace(
    ROW,
    segment="locale=de",
    ci_low=None,
    ci_high=None,
    p_value=None,
    q_value=None,
    n_queries=3,
    n_permutations=0,
)
OTHER = dataclasses.replace(ROW, metric="RR", delta=0.3, q_value=None, correction=None, family=None)


@pytest.fixture
def table() -> ComparisonTable:
    return ComparisonTable([ROW, WORSE, FLAT, FEW, OTHER])


def test_a_table_is_a_sequence_of_rows(table):
    assert len(table) == 5
    assert table[0] is ROW
    assert list(table)[-1] is OTHER
    assert table[1:3] == ComparisonTable([WORSE, FLAT])
    assert ROW in table
    assert pickle.loads(pickle.dumps(table)) == table
    assert table.metrics == ("AP", "RR")


def test_filters_combine_and_keep_the_order(table):
    assert list(table.filter(metric="AP", segment=None)) == [ROW, WORSE, FLAT]
    assert list(table.filter(segment="locale=de")) == [FEW]
    assert list(table.filter(run_b=["dense", "tuned"], metric="AP", tested=True)) == [ROW, WORSE]
    assert list(table.filter(significant=True)) == [ROW, WORSE, OTHER]
    assert list(table.filter(lambda row: row.losses == 15, tested=False)) == [FEW]


def test_a_filter_by_a_name_that_is_not_there_is_an_error(table):
    with pytest.raises(UnknownNameError, match="unknown run_b 'dens'; did you mean dense"):
        table.filter(run_b="dens")


def test_an_unknown_measure_is_an_error_that_lists_those_of_the_table(table):
    for ask in (table.filter, table.best):
        with pytest.raises(UnknownNameError, match="unknown measure 'recip_ranc'; measured here: AP, RR"):
            ask(metric="recip_ranc")
    assert list(table.filter(metric="ap", segment=None)) == [ROW, WORSE, FLAT]
    assert len(ComparisonTable([]).filter(metric="AP")) == 0


@pytest.mark.parametrize("spelling", ["map", "AP", "ap", "MAP"])
def test_a_measure_is_found_by_any_spelling_in_all_that_is_made_of_a_table(spelling):
    a, b = (rl.MetricResult("AP", {f"q{i}": i * slope for i in range(25)}) for slope in (0.01, 0.02))
    c = rl.MetricResult("AP", {f"q{i}": 0.0 for i in range(25)})
    made = rl.compare_many({"a": a, "b": b, "c": c}, method="exact")
    tables = [made, made[:2], made.sort("delta"), made.filter(run_a="a"), rl.adjust(made, correction="holm")]
    tables += [rl.simultaneous(made, {"a": a, "b": b, "c": c}, n_permutations=200)]
    tables += [pickle.loads(pickle.dumps(made))]
    for found in tables:
        assert found.filter(metric=spelling) == found
        assert found.filter(metric=[spelling]).best(spelling) == found.best()


def test_there_may_be_no_best_row():
    assert ComparisonTable([FLAT, WORSE]).best() is None
    assert ComparisonTable([]).best() is None


def test_rows_without_a_value_sort_last_either_way(table):
    assert [row.delta for row in table.sort("delta")] == [-0.1, 0.0, 0.05, 0.05, 0.3]
    assert table.sort("p_value")[-1] is FEW
    assert table.sort("p_value", descending=True)[-1] is FEW
    assert table.sort("p_value", descending=True)[0] is FLAT
    assert table.sort(lambda row: row.run_b)[0] is FLAT


def test_an_unknown_sort_key_is_named(table):
    with pytest.raises(UnknownNameError, match="unknown sort key 'pvalue'; did you mean p_value"):
        table.sort("pvalue")


def test_the_best_row_must_hold_its_verdict(table):
    assert table.best("AP") is ROW
    assert table.filter(run_b="tuned").best() is None
    assert ComparisonTable([FLAT]).best() is None
    with pytest.raises(ValueError, match="metric must name one measure, since the table has several: AP, RR"):
        table.best()


def test_everything_is_in_the_dictionary_and_the_frame(table):
    read = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert [row["run_b"] for row in read["comparisons"]] == ["dense", "tuned", "copy_1", "dense", "dense"]
    frame = table.to_frame("polars")
    assert frame.height == 5
    assert set(frame.columns) == set(ROW.to_dict())
    assert frame["p_value"].to_list()[3] is None


def test_the_text_says_what_the_numbers_are(table):
    text = str(table)
    assert "A is bm25 in every row" in text
    assert "delta is B minus A" in text
    assert "q: Benjamini-Hochberg within AP (3 comparisons)" in text
    assert "1 row has too few queries to test" in text
    assert "33/2/15" in text
    assert "† +0.0500" in text
    assert repr(table) == "<ComparisonTable: 5 comparisons, 3 significant>"


def test_the_text_of_a_plain_table_has_no_empty_columns():
    header = str(ComparisonTable([OTHER])).splitlines()[0].split()
    assert "q" not in header
    assert "segment" not in header


def test_an_interval_that_disagrees_with_its_p_value_is_explained_below():
    rows = [dataclasses.replace(ROW, p_value=0.25, q_value=0.5, n_queries=3, wins=3, losses=0)] * 7
    text = str(ComparisonTable(rows))
    assert text.count("the interval excludes 0 though p 0.2500") == 5
    assert "in 2 more rows the interval and the p-value disagree about 0" in text


def test_a_p_value_below_the_smallest_double_is_shown_by_its_logarithm():
    row = dataclasses.replace(
        ROW, p_value=2.2e-308, log10_p=-601.76, n_permutations=0, method="lattice convolution"
    )
    assert "1.7e-602" in str(ComparisonTable([row]))


@pytest.mark.parametrize(
    ("p", "log10_p", "text"),
    [
        (1e-300, -300.0, "1.0e-300"),
        (2.3e-308, -499.52, "3.0e-500"),
        (2.3e-308, -499.001, "1.0e-499"),
        (3.2e-7, -6.495, "3.2e-07"),
    ],
)
def test_a_tiny_p_value_is_the_same_in_the_line_and_in_every_table(p, log10_p, text):
    row = dataclasses.replace(ROW, p_value=p, log10_p=log10_p, q_value=None, correction=None, family=None)
    table = ComparisonTable([row])
    for shown in (str(row), str(table), table.to_markdown(), table.to_latex(), table._repr_html_()):
        assert text in shown
        assert "0.0000" not in shown
    assert row.to_dict()["p_value"] == p


def test_markdown_lists_the_explanations_and_is_written_where_asked(table, tmp_path):
    text = table.to_markdown(tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text("utf-8") == text
    assert "\n- † " in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    assert len(rows) == 2 + len(table)


def test_latex_is_booktabs_escaped_with_the_daggers_explained(table, tmp_path):
    text = table.to_latex(tmp_path / "table.tex", caption="Runs of 100% effort")
    assert (tmp_path / "table.tex").read_text("utf-8") == text
    for command in (r"\begin{table}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{table}"):
        assert text.count(command) == 1
    caption = text[text.index(r"\caption{") : text.index(r"\begin{tabular}")]
    assert caption.startswith(r"\caption{Runs of 100\% effort. ")
    assert "† q and p \\textless{} 0.05" in caption
    assert r"copy\_1" in text
    assert not re.search(r"(?<!\\)[_%#$]", text)
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    assert body.count(r"\\") == len(table)


def test_notebooks_get_every_row_escaped():
    row = dataclasses.replace(ROW, run_b="<script>")
    shown = ComparisonTable([row, FLAT])._repr_html_()
    assert "<script>" not in shown
    assert shown.count("<tr>") == 3
    assert "<li>† q &lt; 0.05</li>" in shown


def test_a_table_without_rows_still_prints():
    empty = ComparisonTable([])
    assert "measure" in str(empty)
    assert empty.best() is None
    assert empty.to_frame("polars").height == 0
    assert empty.filter(metric="AP").rows == ()

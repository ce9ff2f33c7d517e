"""Tables keep every cell, align by the kind of column, and let no text act as markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.core.tables import is_numeric, latex_text, markdown_text, render_table, visible
from ranklens.core.widths import shortened, text_width, told_apart


def test_numbers_align_right_and_text_left():
    table = render_table(["run", "delta"], [["a", "+0.1"], ["long name", "-0.0123"]])
    header, rule, first, second = table.splitlines()
    assert first.startswith("a ")
    assert second.startswith("long name ")
    assert len(first) == len(second) == len(rule) == len(header)
    assert first.endswith("+0.1")


@pytest.mark.parametrize("cell", ["[+0.1, -0.2]", "3/0/7", "1.0e-05", "–", "12.5%", "1,000", "[-inf, 0.2]"])
def test_intervals_counts_and_dashes_are_numeric(cell):
    assert is_numeric(cell)


@pytest.mark.parametrize("cell", ["bm25", "2 runs", "nDCG@10", "p < 0.05", "info"])
def test_words_are_not_numeric(cell):
    assert not is_numeric(cell)


def test_none_is_a_dash_in_every_format():
    for style in ("table", "markdown", "latex"):
        assert "–" in render_table(["x"], [[None]], style)


def test_a_table_without_rows_still_shows_its_header():
    assert render_table(["run", "AP"], []).startswith("run")


def test_terminal_escapes_and_newlines_are_shown_not_obeyed():
    table = render_table(["id"], [["\x1b[31mred\nsecond"]])
    assert "\x1b" not in table
    assert r"\x1b[31mred\nsecond" in table


def test_bidirectional_overrides_and_lone_surrogates_are_shown():
    assert visible("a\u202eb\ud800") == r"a\u202eb\ud800"
    assert visible("naïve 検索") == "naïve 検索"


WIDE = st.text(st.sampled_from("ab 検索エ\u0308üÅ"), max_size=12)


@given(st.lists(st.tuples(WIDE, st.integers(0, 99)), min_size=1, max_size=5))
def test_columns_stay_aligned_under_wide_and_combining_characters(rows):
    lines = render_table(["run", "wins"], [[run, wins] for run, wins in rows]).splitlines()
    assert len({text_width(line) for line in lines}) == 1


@given(WIDE, st.integers(1, 12))
def test_a_shortened_text_fits(text, width):
    cut = shortened(text, width)
    assert text_width(cut) <= width
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


def test_latex_escapes_names_and_caption():
    table = render_table(["run_a", "p%"], [["a&b{~^\\}", "1"]], "latex", caption="p < 0.05 & more")
    assert r"run\_a" in table
    assert r"p\%" in table
    assert r"a\&b\{" in table
    assert r"\caption{p \textless{} 0.05 \& more}" in table
    assert r"\toprule" in table
    assert r"\begin{table}" in table
    assert r"\end{table}" in table


@given(st.text(alphabet="|_*`<a\n\\[]~&", min_size=1, max_size=12))
def test_no_text_adds_a_column_to_a_markdown_table(text):
    line = render_table(["name", "n"], [[text, "1"]], "markdown").splitlines()[-1]
    unescaped = 0
    for i, character in enumerate(line):
        backslashes = len(line[:i]) - len(line[:i].rstrip("\\"))
        unescaped += character == "|" and backslashes % 2 == 0
    assert unescaped == 3


def test_markdown_keeps_ordinary_run_names_readable():
    assert markdown_text("NLE_P_quick") == "NLE_P_quick"
    assert markdown_text("[+0.01, +0.02]") == "[+0.01, +0.02]"


def test_latex_text_leaves_no_bare_special_character():
    assert latex_text("100% #1 $x_1$") == r"100\% \#1 \$x\_1\$"


def test_wrong_use_is_named():
    with pytest.raises(ValueError, match="format must be one of table, markdown, latex, got 'html'"):
        render_table(["a"], [], "html")
    with pytest.raises(ValueError, match="row 1 has 1 cells, and the header 2"):
        render_table(["a", "b"], [["1", "2"], ["1"]])


@given(st.lists(st.text("ab検_+", max_size=30), unique=True), st.integers(6, 20))
def test_different_texts_look_different_however_short(texts, width):
    found = told_apart(texts, width)
    assert list(found) == texts
    assert len(set(found.values())) == len(texts)
    assert all(found[text] == text for text in texts if text_width(text) <= width)
    assert all(text_width(short) <= width for text, short in found.items() if short != text)

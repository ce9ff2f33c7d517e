"""Numbers as text, frames and warnings at the user's line."""

import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.core import MissingDependencyError, SmallSampleWarning
from ranklens.core.frames import to_frame
from ranklens.core.presentation import fixed, html_table, p_text, plain
from ranklens.stats.paired import paired_deltas


@given(st.floats(-1e6, 1e6), st.booleans())
def test_a_rounded_zero_has_no_sign(value, sign):
    text = fixed(value, sign=sign)
    assert float(text) == pytest.approx(value, abs=5.1e-5)
    assert not (float(text) == 0.0 and text.startswith(("-", "+")))


@pytest.mark.parametrize(
    ("p", "text"),
    [(1.0, "1.0000"), (0.0425, "0.0425"), (9.9e-5, "9.9e-05"), (0.0, "0.0000"), (None, "–")],
)
def test_p_values_keep_two_digits_when_they_are_small(p, text):
    assert p_text(p) == text


@given(st.floats(0.0, 1.0), st.sampled_from([0.05, 0.01, 0.001, 1e-5, 0.1]))
def test_a_p_value_never_prints_as_the_level_from_which_it_differs(p, level):
    shown = float(p_text(p, level))
    if abs(p - level) > 1e-9 * level:
        assert (shown < level) == (p < level)
    assert shown == pytest.approx(p, rel=0.06, abs=1e-4)


def test_nested_values_become_plain_and_fit_for_json():
    assert plain({"a": (1, float("inf")), "b": [None, float("nan")]}) == {"a": [1, None], "b": [None, None]}


def test_an_html_table_escapes_names_and_cells():
    shown = html_table([{"<i>": "a & b", "x": None, "y": 0.123456789}])
    assert "<i>" not in shown
    assert "a &amp; b" in shown
    assert "–" in shown
    assert "0.123457" in shown
    assert html_table([]) == "<p>no rows</p>"


def test_a_frame_comes_in_the_library_that_the_program_has_imported(monkeypatch):
    pandas = pytest.importorskip("pandas")
    assert isinstance(to_frame({"x": [1]}), pandas.DataFrame)
    monkeypatch.delitem(sys.modules, "pandas")
    polars = pytest.importorskip("polars")
    assert isinstance(to_frame({"x": [1]}), polars.DataFrame)


def test_a_missing_frame_library_comes_with_its_install_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pip install pyarrow"):
        to_frame({"x": [1]}, "pyarrow")


def test_a_warning_points_at_the_line_of_the_program():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        paired_deltas({"q1": 0.5}, {"q1": 1.0})  # this line
    (warning,) = caught
    assert warning.category is SmallSampleWarning
    assert Path(warning.filename).name == Path(__file__).name
    assert "# this line" in Path(__file__).read_text("utf-8").splitlines()[warning.lineno - 1]

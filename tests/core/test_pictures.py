"""Pictures of explanations."""

import sys

import pytest

from ranklens.core import MissingDependencyError
from ranklens.core.pictures import bars, waterfall
from ranklens.explain import adapt, pairwise

NAMES = ["bm25", "freshness", "price"]


def explanation():
    model = adapt(lambda x: x[:, 0] * x[:, 1] + 0.1 * x[:, 2], NAMES)
    return pairwise(model, (2.0, 0.2, 1.0), (1.5, 0.9, 1.3))


def texts(axes):
    return [text.get_text() for text in axes.texts]


def labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_a_bar_has_its_name_and_its_value():
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    axes = bars([("bm25", 0.2), ("price $", -0.05)], "nDCG@10 drop")
    assert [bar.get_width() for bar in axes.patches] == [0.2, -0.05]
    assert texts(axes) == ["+0.2000", "-0.0500"]
    assert labels(axes) == ["bm25", r"price \$"]
    assert axes.get_xlabel() == "nDCG@10 drop"


def test_a_waterfall_goes_from_one_score_to_the_other():
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    found = explanation()
    axes = waterfall(found)
    assert labels(axes) == ["A: 0.500", "freshness", "bm25", "price", "B: 1.480"]
    assert texts(axes) == ["+1.225", "-0.275", "+0.030"]
    steps = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert steps[0][0] == found.score_a
    assert sum(width for _, width in steps) == pytest.approx(found.delta)
    low, high = axes.get_xlim()
    assert low < min(x for x, _ in steps)
    assert high > found.score_b


def test_small_contributions_are_one_step():
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    axes = waterfall(explanation(), n=1)
    assert labels(axes) == ["A: 0.500", "freshness", "2 others", "B: 1.480"]
    assert texts(axes) == ["+1.225", "-0.245"]


def test_pictures_go_where_they_are_told():
    figures = pytest.importorskip("matplotlib.figure", reason="pictures need matplotlib")
    mine = figures.Figure().subplots()
    assert bars([("bm25", 0.2)], "drop", mine) is mine


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ranklens\[report\]'"):
        bars([("bm25", 0.2)], "drop")

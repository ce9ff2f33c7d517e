"""Pictures of explanations, drawn by matplotlib."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from ranklens.core.errors import MissingDependencyError
from ranklens.core.explanations import PairwiseExplanation, decimals, ranked, signed, unsigned

UP, DOWN, INK = "#1b7f5c", "#b3402e", "#444444"
"""The colours of what raises a value, of what lowers it, and of everything else."""

SHOWN = 15
_ROW_INCHES = 0.32
_WIDTH_INCHES = 7.2

Parts = Sequence[tuple[str, float]]


def bars(parts: Parts, label: str, axes: Any = None) -> Any:
    """Draw a bar for each name, the first on top.

    Parameters
    ----------
    parts : sequence of (name, value)
    label : str
        What the values are.
    axes : matplotlib.axes.Axes, optional
        Where to draw; by default axes of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    axes = _axes(len(parts), axes)
    heights = range(len(parts), 0, -1)
    values = [value for _, value in parts]
    drawn = axes.barh(list(heights), values, color=[UP if value >= 0.0 else DOWN for value in values])
    axes.bar_label(drawn, [signed(value, decimals(values)) for value in values], padding=3, fontsize="small")
    return _finished(axes, heights, [name for name, _ in parts], label)


def waterfall(explanation: PairwiseExplanation, axes: Any = None, *, n: int = SHOWN) -> Any:
    """Draw the way from A's score, on top, to B's: a step for each of the `n` largest contributions.

    Parameters
    ----------
    explanation : PairwiseExplanation
    axes : matplotlib.axes.Axes, optional
        Where to draw; by default axes of a new figure.
    n : int
        How many contributions; the others are one step.

    Returns
    -------
    matplotlib.axes.Axes
    """
    parts = _steps(explanation, n)
    axes = _axes(len(parts) + 2, axes)
    heights = range(len(parts) + 1, 1, -1)
    position, digits = explanation.score_a, decimals(value for _, value in parts)
    for height, (_, value) in zip(heights, parts, strict=True):
        axes.barh(height, value, left=position, color=UP if value >= 0.0 else DOWN)
        end = position + value
        axes.plot([end, end], [height - 1.0, height], color=INK, linewidth=0.6)
        side = (3, "left") if value >= 0.0 else (-3, "right")
        axes.annotate(
            signed(value, digits), (end, height), (side[0], 0), textcoords="offset points", ha=side[1],
            va="center", fontsize="small",
        )  # fmt: skip
        position = end
    ends = [(len(parts) + 2, explanation.score_a), (1, explanation.score_b)]
    for height, score in ends:
        axes.plot(score, height, "o", color=INK)
    labels = [f"A: {unsigned(explanation.score_a, digits)}", *(name for name, _ in parts)]
    labels.append(f"B: {unsigned(explanation.score_b, digits)}")
    return _finished(axes, range(len(parts) + 2, 0, -1), labels, "score")


def _steps(explanation: PairwiseExplanation, n: int) -> list[tuple[str, float]]:
    parts = [(name, value) for name, value in ranked(explanation.contributions) if value != 0.0]
    if len(parts) <= n:
        return parts
    rest = sum(value for _, value in parts[n:])
    return [*parts[:n], (f"{len(parts) - n} others", rest)]


def _axes(n_rows: int, axes: Any) -> Any:
    if axes is not None:
        return axes
    try:
        figure = importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise MissingDependencyError("matplotlib", "a plot", "pip install 'ranklens[report]'") from error
    size = (_WIDTH_INCHES, _ROW_INCHES * max(n_rows, 1) + 0.9)
    return figure.Figure(figsize=size, layout="constrained").subplots()


def _finished(axes: Any, heights: range, labels: Sequence[str], label: str) -> Any:
    # A dollar sign would start a formula.
    axes.set_yticks(list(heights), [name.replace("$", r"\$") for name in labels])
    axes.use_sticky_edges = False
    axes.margins(x=0.15)
    low, high = axes.get_xlim()
    if low <= 0.0 <= high:
        axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.set_xlabel(label)
    axes.tick_params(left=False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    return axes

"""Draw the picture of the README: the demo's systems against its first, as differences with their intervals.

Run: python docs/forest.py    (writes docs/_static/forest.svg)
"""

from __future__ import annotations

from pathlib import Path

import ranklens as rl

PICTURE = Path(__file__).with_name("_static") / "forest.svg"
MEASURE = "nDCG@10"
INK, BETTER, UNDECIDED, WORSE = "#444444", "#1b7f5c", "#8a8a8a", "#b3402e"


def comparisons() -> list[rl.ComparisonResult]:
    """Compare every run of the demo collection with its first."""
    demo = rl.demo_collection(seed=0)
    evaluations = rl.evaluate_many(demo.runs, demo.qrels, [MEASURE])
    return list(rl.compare_many(evaluations, baseline=next(iter(demo.runs))))


def caption(rows: list[rl.ComparisonResult]) -> str:
    """Return the rows as text, which the picture carries with it."""
    return "\n".join(str(row) for row in rows)


def colour(row: rl.ComparisonResult) -> str:
    if not row.significant or row.delta is None:
        return UNDECIDED
    return BETTER if row.delta > 0 else WORSE


def draw(rows: list[rl.ComparisonResult], path: Path) -> None:
    """Write the forest plot of `rows`."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "ranklens", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 0.5 * len(rows) + 1.1), layout="constrained")
    for height, row in zip(range(len(rows), 0, -1), rows, strict=True):
        axes.plot([row.ci_low, row.ci_high], [height, height], color=colour(row), linewidth=2.5)
        axes.plot([row.delta], [height], "o", color=colour(row), markersize=7)
    axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(rows), 0, -1), [row.run_b for row in rows])
    axes.set_ylim(0.4, len(rows) + 0.6)
    axes.set_xlabel(f"difference in {MEASURE} to {rows[0].run_a}, with its 95% interval")
    axes.tick_params(left=False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None, "Description": caption(rows)})
    plt.close(figure)


if __name__ == "__main__":
    draw(comparisons(), PICTURE)

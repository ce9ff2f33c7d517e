"""The verdict in sentences that a careful person would sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ranklens.core import ComparisonResult
from ranklens.core.comparison_text import tested_units
from ranklens.core.comparisons import confidence
from ranklens.core.presentation import counted, fixed, p_text

MOST_SENTENCES = 6
"""More comparisons than this are counted instead of told."""

Visible = Mapping[tuple[str, str, str], float]
"""The difference that (run A, run B, measure) would show with the power asked for."""


def verdict(rows: Sequence[ComparisonResult], visible: Visible, power: float) -> list[str]:
    """Return a sentence for each comparison of all queries, or counts where there are many.

    Parameters
    ----------
    rows : sequence of ComparisonResult
        The rows without a segment.
    visible : mapping
        The difference that a comparison can see, where it is known.
    power : float
        The probability with which it is seen.
    """
    if len(rows) > MOST_SENTENCES:
        return [_counted(metric, rows) for metric in dict.fromkeys(row.metric for row in rows)]
    return [sentence(row, visible.get((row.run_a, row.run_b, row.metric)), power) for row in rows]


def sentence(row: ComparisonResult, visible: float | None = None, power: float = 0.8) -> str:
    """Return the verdict of one comparison.

    Examples
    --------
    >>> row = ComparisonResult(
    ...     "AP", 0.2, 0.25, 0.05, 0.02, 0.08, 0.05, 0.001, 50, 0, 0, 10_000, 10_000, 0,
    ...     run_a="bm25", run_b="dense",
    ... )
    >>> print(sentence(row))
    AP: dense is better than bm25 by 0.0500 (+25.0%), 95% interval [+0.0200, +0.0800], p 0.0010.
    """
    if not row.tested or row.delta is None:
        seen = "" if row.delta is None else f" (delta {fixed(row.delta, sign=True)})"
        return f"{row.metric}: not tested: {_too_few(row)}{seen}; see --min-queries."
    numbers = f"{confidence(row.alpha)} interval {interval(row)}, {probabilities(row)}"
    if row.margin is not None:
        delta = f"delta {fixed(row.delta, sign=True)}{_share(row)}"
        return f"{row.metric}: {_within_margin(row)}: {delta}, {numbers}."
    if row.significant:
        better = "better" if row.delta > 0 else "worse"
        return (
            f"{row.metric}: {row.run_b} is {better} than {row.run_a} by {fixed(abs(row.delta))}"
            f"{_share(row)}, {numbers}."
        )
    return (
        f"{row.metric}: {_not_shown(row)} at alpha {row.alpha:g}: delta {fixed(row.delta, sign=True)}, "
        f"{numbers}{_sight(row, visible, power)}."
    )


def _too_few(row: ComparisonResult) -> str:
    n, what = row.n_queries, counted(row.n_queries, "paired query", "paired queries")
    if row.clustered and row.n_units is not None:
        n, what = row.n_units, f"{counted(row.n_units, 'cluster')} of {what}"
    return f"{what} of {row.run_a} and {row.run_b} {'is' if n == 1 else 'are'} too few"


def segment_verdict(rows: Sequence[ComparisonResult]) -> list[str]:
    """Return, for each measure and run, the segments in which it lost, and those in which it won."""
    groups: dict[tuple[str, str, str], list[ComparisonResult]] = {}
    for row in rows:
        groups.setdefault((row.metric, row.run_a, row.run_b), []).append(row)
    if len(groups) <= MOST_SENTENCES:
        return [_segments(*key, group) for key, group in groups.items()]
    told = [_segments(*key, group) for key, group in groups.items() if any(map(_lost, group))]
    more = len(told) - MOST_SENTENCES
    if more > 0:
        told[MOST_SENTENCES:] = [f"by segment: {more} more of {len(groups)} tables show a loss."]
    elif not told and rows[0].margin is None and any(row.tested for row in rows):
        told = [f"by segment: none of {len(groups)} tables shows a loss."]
    return told


def interval(row: ComparisonResult) -> str:
    """Return the interval in brackets; the open end of a one-sided one is infinite."""
    return f"[{fixed(row.ci_low, sign=True)}, {fixed(row.ci_high, sign=True)}]"


def probabilities(row: ComparisonResult) -> str:
    """Return the p-value, and the q-value where there is one."""
    corrected = f", q {p_text(row.q_value, row.alpha)}" if row.q_value is not None else ""
    return f"p {p_text(row.p_value, row.alpha)}{corrected}"


def _not_shown(row: ComparisonResult) -> str:
    if row.alternative == "two-sided":
        return f"no difference between {row.run_a} and {row.run_b} is shown"
    side = "better" if row.alternative == "greater" else "worse"
    return f"{row.run_b} is not shown to be {side} than {row.run_a}"


def _within_margin(row: ComparisonResult) -> str:
    """Say whether the margin was kept."""
    margin = f"{row.margin:g}"
    if row.alternative == "two-sided":
        if row.significant:
            return f"{row.run_b} and {row.run_a} are equivalent within {margin}"
        return f"{row.run_b} and {row.run_a} are not shown to be equivalent within {margin}"
    word = "worse" if row.alternative == "greater" else "better"
    shown = "is not" if row.significant else "is not shown not to be"
    return f"{row.run_b} {shown} {word} than {row.run_a} by {margin} or more"


def _sight(row: ComparisonResult, visible: float | None, power: float) -> str:
    if not visible:
        return ""
    sign = {"two-sided": "±", "greater": "+", "less": "-"}[row.alternative]
    return f"; these {row.n_queries} queries can see about {sign}{fixed(visible)} (power {power:g})"


def _share(row: ComparisonResult) -> str:
    share = row.relative_delta
    return "" if share is None else f" ({fixed(100.0 * share, 1, sign=True)}%)"


def _lost(row: ComparisonResult) -> bool:
    return row.significant and row.margin is None and row.delta is not None and row.delta < 0


def _segments(metric: str, run_a: str, run_b: str, rows: Sequence[ComparisonResult]) -> str:
    if rows[0].margin is not None:
        return _segments_within_margin(metric, run_a, run_b, rows)
    lost = [row for row in rows if _lost(row)]
    won = [row.segment or "" for row in rows if row.significant and row not in lost]
    small = [row.segment or "" for row in rows if row.n_queries and not row.tested]
    few = f"too few {tested_units(rows)}"
    if not any(row.tested for row in rows):
        untested = f" ({few} in {_listed(small)})" if small else ""
        return f"{metric} by segment: {run_b} against {run_a} is tested in no segment{untested}."
    parts = [
        f"worse in {_listed([_segment_numbers(row) for row in lost])}"
        if lost
        else "not shown to be worse in any segment",
        f"better in {_listed(won)}" if won else "",
        f"not tested ({few}) in {_listed(small)}" if small else "",
    ]
    return f"{metric} by segment: {run_b} against {run_a} is {'; '.join(part for part in parts if part)}."


def _segments_within_margin(metric: str, run_a: str, run_b: str, rows: Sequence[ComparisonResult]) -> str:
    if not any(row.tested for row in rows):
        return f"{metric} by segment: {run_b} against {run_a} is tested in no segment."
    kept = [row.segment or "" for row in rows if row.significant]
    rest = sum(row.tested for row in rows) - len(kept)
    found = f"the margin is kept in {_listed(kept)}" if kept else "the margin is not shown to be kept in any"
    return (
        f"{metric} by segment: {run_b} against {run_a}: {found}, and not shown to be in {rest} more tested."
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_SENTENCES
    return ", ".join(names[:MOST_SENTENCES]) + (f" and {more} more" if more > 0 else "")


def _segment_numbers(row: ComparisonResult) -> str:
    return f"{row.segment} ({fixed(row.delta, sign=True)}, {probabilities(row)})"


def _counted(metric: str, rows: Sequence[ComparisonResult]) -> str:
    mine = [row for row in rows if row.metric == metric]
    if mine[0].margin is not None:
        kept = sum(row.significant for row in mine)
        return f"{metric}: in {kept} of {len(mine)} comparisons the margin of {mine[0].margin:g} is kept."
    baselines = {row.run_a for row in mine}
    better = sum(row.significant and (row.delta or 0) > 0 for row in mine)
    worse = sum(_lost(row) for row in mine)
    untested = sum(not row.tested for row in mine)
    open_ = len(mine) - better - worse - untested
    symbol = "q" if any(row.q_value is not None for row in mine) else "p"
    tail = f" ({symbol} < {mine[0].alpha:g})" + (f"; {untested} not tested" if untested else "")
    if len(baselines) == 1:
        return (
            f"{metric}: of {len(mine)} runs {better} are better than {mine[0].run_a}, {worse} worse, and for "
            f"{open_} no difference is shown{tail}.{_named(mine)}"
        )
    return (
        f"{metric}: {better + worse} of {len(mine)} pairs differ, for {open_} no difference is shown{tail}."
    )


def _named(rows: Sequence[ComparisonResult]) -> str:
    """Name the best of the runs that are better than the baseline, and those that are worse."""
    found = sorted((row for row in rows if row.significant), key=lambda row: row.delta or 0.0)
    best = f" Best: {_run_numbers(found[-1])}." if found and not _lost(found[-1]) else ""
    worse = [_run_numbers(row) for row in found if _lost(row)]
    return best + (f" Worse: {_listed(worse)}." if worse else "")


def _run_numbers(row: ComparisonResult) -> str:
    return f"{row.run_b} ({fixed(row.delta, sign=True)})"

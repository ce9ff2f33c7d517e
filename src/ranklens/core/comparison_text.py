"""The cells of a comparison table, and the lines below it that say how the numbers were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ranklens.core.comparison_line import hypothesis, p_value_text
from ranklens.core.comparisons import ComparisonResult, confidence
from ranklens.core.disagreement import disagreement_note
from ranklens.core.presentation import counted, fixed, p_text

DAGGER = "†"
CORRECTION_NAMES = {
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
    "holm": "Holm",
    "maxt": "step-down max-T",
}
TOGETHER = {
    "bonferroni": "Bonferroni, Student's t",
    "maxt": "the largest t under",
}

_MOST_LISTED = 5
_OPTIONAL = {
    "units": "n_units",
    "together": "simultaneous_low",
    "q": "q_value",
    "p (t)": "p_t",
    "p (Wilcoxon)": "p_wilcoxon",
}
"""Columns that are shown where some row has the field."""


def comparison_cells(rows: Sequence[ComparisonResult]) -> tuple[list[str], list[list[str | None]]]:
    """Return the header and the formatted cells; columns that would say nothing are left out."""
    columns = {
        "measure": [row.metric for row in rows],
        "segment": [row.segment if row.segment is not None else "all" for row in rows],
        "A": [row.run_a for row in rows],
        "B": [row.run_b for row in rows],
        "n": [str(row.n_queries) for row in rows],
        "units": [str(row.n_queries if row.n_units is None else row.n_units) for row in rows],
        "mean A": [fixed(row.mean_a) for row in rows],
        "mean B": [fixed(row.mean_b) for row in rows],
        "delta": [_delta(row) for row in rows],
        "rel.": [_relative(row) for row in rows],
        "interval": [_interval(row) for row in rows],
        "together": [_together(row) for row in rows],
        "p": [p_value_text(row) for row in rows],
        "q": [p_text(row.q_value, row.alpha) for row in rows],
        "p (t)": [p_text(row.p_t, row.alpha) for row in rows],
        "p (Wilcoxon)": [p_text(row.p_wilcoxon, row.alpha) for row in rows],
        "w/t/l": [f"{row.wins}/{row.ties}/{row.losses}" for row in rows],
    }
    if all(row.segment is None for row in rows):
        del columns["segment"]
    if common_baseline(rows) is not None:
        del columns["A"]
    for name, field in _OPTIONAL.items():
        if all(getattr(row, field) is None for row in rows):
            del columns[name]
    return list(columns), [list(cells) for cells in zip(*columns.values(), strict=True)]


def common_baseline(rows: Sequence[ComparisonResult]) -> str | None:
    """Return the run that is A in every row of a table of several rows, else None."""
    names = {row.run_a for row in rows}
    return names.pop() if len(names) == 1 and len(rows) > 1 else None


def how_made(rows: Sequence[ComparisonResult]) -> list[str]:
    """Return the lines that explain the columns."""
    tested = [row for row in rows if row.tested]
    lines = []
    baseline = common_baseline(rows)
    if baseline is not None:
        lines.append(f"A is {baseline} in every row")
    if tested:
        lines += ["delta is B minus A, the mean over the n paired queries", *design_lines(tested)]
        lines.append(_interval_line(tested))
        if any(row.simultaneous_low is not None for row in tested):
            how = sorted({_together_how(row) for row in tested if row.simultaneous_low is not None})
            lines.append(f"together: intervals that all hold at once within a family ({_listed(how)})")
        lines += [_p_line(tested), *_beside_lines(tested)]
        lines += _q_lines([row for row in tested if row.q_value is not None])
        lines.append(_dagger_line(tested))
    if len(tested) < len(rows):
        few = len(rows) - len(tested)
        subject = f"{counted(few, 'row')} {'has' if few == 1 else 'have'}"
        units = tested_units([row for row in rows if not row.tested])
        lines.append(f"{subject} too few {units} to test, and no part in a correction")
    return lines


def tested_units(rows: Sequence[ComparisonResult]) -> str:
    """Return what a test counts: queries, or the clusters that they were drawn in."""
    return "clusters" if any(row.clustered for row in rows) else "queries"


def notes(rows: Sequence[ComparisonResult]) -> list[str]:
    """Return a sentence for every row whose interval and p-value disagree about zero, up to five."""
    found = []
    for row in rows:
        note = disagreement_note(row)
        if note is not None:
            segment = f" [{row.segment}]" if row.segment is not None else ""
            found.append(f"{row.metric}{segment}, {row.run_b} vs {row.run_a}: {note}")
    if len(found) > _MOST_LISTED:
        rest = len(found) - _MOST_LISTED
        found[_MOST_LISTED:] = [
            f"in {counted(rest, 'more row')} the interval and the p-value disagree about 0"
        ]
    return found


def _delta(row: ComparisonResult) -> str:
    # In front, so that the digits stay aligned.
    return (f"{DAGGER} " if row.significant else "") + fixed(row.delta, sign=True)


def _relative(row: ComparisonResult) -> str:
    share = row.relative_delta
    return fixed(None) if share is None else f"{fixed(100.0 * share, 1, sign=True)}%"


def _interval(row: ComparisonResult) -> str | None:
    if not row.tested:
        return None
    return f"[{fixed(row.ci_low, sign=True)}, {fixed(row.ci_high, sign=True)}]"


def _interval_line(rows: Sequence[ComparisonResult]) -> str:
    levels = _listed(sorted({confidence(row.alpha) for row in rows}))
    kinds = _listed(sorted({_interval_kind(row) for row in rows}))
    return f"interval: {levels}, {kinds}"


def _interval_kind(row: ComparisonResult) -> str:
    how = counted(row.n_resamples, "resample") if row.n_resamples else "the ideal bootstrap, no resampling"
    return f"{row.interval} bootstrap ({how})"


def _p_line(rows: Sequence[ComparisonResult]) -> str:
    sides = sorted({row.alternative for row in rows})
    if all(row.margin is not None for row in rows):
        tests = ["two one-sided" if side == "two-sided" else "one-sided" for side in sides]
    else:
        tests = [side if side == "two-sided" else f"one-sided ({side})" for side in sides]
    flips = sorted({row.n_permutations for row in rows if row.n_permutations})
    methods = [counted(n, "random flip") for n in flips]
    exact = sorted({row.method for row in rows if not row.n_permutations})
    if exact:
        methods.append(f"exact computation ({', '.join(exact)})")
    shown = sorted({hypothesis(row) for row in rows if row.margin is not None})
    for_what = f" for {_listed(shown)}" if shown else ""
    noun = "tests" if tests == ["two one-sided"] else "test"
    return f"p: {_listed(tests)} sign-flip {noun}{for_what} by {_listed(methods)}; {_seed_text(rows)}"


def _seed_text(rows: Sequence[ComparisonResult]) -> str:
    seeds = sorted({row.seed for row in rows})
    return f"seed {seeds[0]}" if len(seeds) == 1 else "each segment has the seed recorded in its rows"


def design_lines(rows: Sequence[ComparisonResult]) -> list[str]:
    """Return what the sample of queries is, where it is not one query of weight 1 after the other."""
    lines = []
    if any(row.weighted for row in rows):
        lines.append("means and delta are weighted by query")
    if any(row.clustered for row in rows):
        lines.append("units: clusters of queries, which are flipped and resampled together")
    elif any(row.n_units is not None for row in rows):
        lines.append("units: queries of positive weight")
    return lines


def _beside_lines(rows: Sequence[ComparisonResult]) -> list[str]:
    names = [
        name
        for name, field in (("paired t-test", "p_t"), ("Wilcoxon's signed-rank test", "p_wilcoxon"))
        if any(getattr(row, field) is not None for row in rows)
    ]
    if not names:
        return []
    about = ""
    if any(row.p_wilcoxon is not None and row.margin is not None for row in rows):
        about = (
            "; Wilcoxon's margin is one of the middle of the differences (the pseudo-median), not of delta"
        )
    return [f"beside, not corrected: {_listed(names)}{about}"]


def _together(row: ComparisonResult) -> str | None:
    if row.simultaneous_low is None:
        return None
    return f"[{fixed(row.simultaneous_low, sign=True)}, {fixed(row.simultaneous_high, sign=True)}]"


def _q_lines(rows: Sequence[ComparisonResult]) -> list[str]:
    lines = []
    for made in sorted({_q_made(row) for row in rows}):
        corrected = [row for row in rows if _q_made(row) == made]
        families = list(dict.fromkeys(row.family or "one family" for row in corrected))
        rest = len(families) - _MOST_LISTED
        more = f" and {counted(rest, 'more family', 'more families')}" if rest > 0 else ""
        lines.append(f"q: {made} within {', '.join(families[:_MOST_LISTED])}{more}")
    return lines


def _q_made(row: ComparisonResult) -> str:
    """Return the correction's name, and what max-T's q-value was sampled from."""
    correction = row.correction or "corrected"
    name = CORRECTION_NAMES.get(correction, correction)
    if row.q_permutations is None:
        return name
    return f"{name} over {_flips(row.q_permutations, row.q_seed)}"


def _together_how(row: ComparisonResult) -> str:
    how = TOGETHER[row.simultaneous_method or "bonferroni"]
    if row.simultaneous_permutations is None:
        return how
    return f"{how} {_flips(row.simultaneous_permutations, row.simultaneous_seed).rstrip(',')}"


def _flips(n: int, seed: int | None) -> str:
    if not n:
        return "all sign flips"
    return f"{counted(n, 'random sign flip')}, seed {seed},"


def _dagger_line(rows: Sequence[ComparisonResult]) -> str:
    levels = _listed([f"{alpha:g}" for alpha in sorted({row.alpha for row in rows})])
    symbols = {"p" if row.q_value is None else "q" for row in rows}
    return f"{DAGGER} {_listed(sorted(symbols, reverse=True))} < {levels}"


def _listed(items: Iterable[str]) -> str:
    return " and ".join(items)

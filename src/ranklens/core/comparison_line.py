"""A comparison as one line that says what was tested, and of what sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ranklens.core.disagreement import disagreement_note
from ranklens.core.presentation import counted, fixed, p_text

if TYPE_CHECKING:
    from ranklens.core.comparisons import ComparisonResult


def comparison_line(row: ComparisonResult) -> str:
    """Return means, difference, interval, p and q; the margin, the side and the design where there are any.

    Examples
    --------
    >>> from ranklens.core import ComparisonResult
    >>> found = ComparisonResult(
    ...     "AP", 0.4, 0.41, 0.01, -0.02, 0.04, 0.05, 0.0105, 40, 0, 0, 0, 0, 0, wins=22, losses=18,
    ...     n_units=20, clustered=True, margin=0.05,
    ... )
    >>> print(comparison_line(found))
    AP: B 0.4100 vs A 0.4000, delta +0.0100 [-0.0200, +0.0400], p 0.0105 for equivalence: \
-0.05 < delta < 0.05 (22/0/18 wins/ties/losses over 40 queries in 20 clusters)
    """
    segment = f" [{row.segment}]" if row.segment is not None else ""
    head = (
        f"{row.metric}{segment}: {row.run_b} {fixed(row.mean_b)} vs {row.run_a} {fixed(row.mean_a)}"
        f", delta {fixed(row.delta, sign=True)}"
    )
    sample = _sample(row)
    if not row.tested:
        return f"{head} ({sample}: too few to test)"
    corrected = f", q {p_text(row.q_value, row.alpha)}" if row.q_value is not None else ""
    disagreement = disagreement_note(row)
    note = "" if disagreement is None else f"; note: {disagreement}"
    return (
        f"{head} [{fixed(row.ci_low, sign=True)}, {fixed(row.ci_high, sign=True)}], "
        f"p {p_value_text(row)}{corrected}{_tested_for(row)} "
        f"({row.wins}/{row.ties}/{row.losses} wins/ties/losses over {sample})"
        f"{note}"
    )


def p_value_text(row: ComparisonResult) -> str:
    """Return the p-value of a comparison, by its logarithm where it is below the smallest float.

    Examples
    --------
    >>> from ranklens.core import ComparisonResult
    >>> far = ComparisonResult("AP", 0.2, 0.4, 0.2, 0.1, 0.3, 0.05, 1e-300, 9, 0, 0, 0, 0, 0, log10_p=-300.0)
    >>> import dataclasses
    >>> p_value_text(far), p_value_text(dataclasses.replace(far, p_value=2.2e-308, log10_p=-499.5))
    ('1.0e-300', '3.2e-500')
    """
    if row.p_value is not None and row.log10_p is not None and row.log10_p < -307.0:
        # From 9.95 on one decimal shows 10.0.
        raised = row.log10_p + math.log10(10.0 / 9.95)
        exponent = math.floor(raised)
        return f"{10.0 ** (row.log10_p - exponent):.1f}e{exponent}"
    return p_text(row.p_value, row.alpha)


def hypothesis(row: ComparisonResult) -> str:
    """Return what a small p-value of a comparison with a margin speaks for.

    Examples
    --------
    >>> from ranklens.core import ComparisonResult
    >>> hypothesis(ComparisonResult("AP", 0.2, 0.2, 0.0, 0, 0, 0.05, 0.01, 50, 0, 0, 0, 0, 0, margin=0.02))
    'equivalence: -0.02 < delta < 0.02'
    """
    margin = f"{row.margin:g}"
    return {
        "greater": f"non-inferiority: delta > -{margin}",
        "less": f"non-superiority: delta < {margin}",
        "two-sided": f"equivalence: -{margin} < delta < {margin}",
    }[row.alternative]


def _tested_for(row: ComparisonResult) -> str:
    """Return what p and q are for; nothing where they are for a difference of either sign."""
    if row.margin is not None:
        return f" for {hypothesis(row)}"
    return {"greater": " for delta > 0", "less": " for delta < 0"}.get(row.alternative, "")


def _sample(row: ComparisonResult) -> str:
    queries = counted(row.n_queries, "query", "queries")
    if row.clustered and row.n_units is not None:
        queries += f" in {counted(row.n_units, 'cluster')}"
    return f"{queries}, weighted" if row.weighted else queries

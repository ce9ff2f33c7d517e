"""``--fail-if`` from the words of the command line to the exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from ranklens.cli.failures import GATE_FAILED
from ranklens.cli.gate import Condition, NothingTestedError, Verdict, read_conditions
from ranklens.cli.gate_syntax import parse_condition
from ranklens.core import ComparisonResult
from ranklens.core.tables import visible


class Gate:
    """The conditions of one command: they are read before anything is measured, and checked at the end."""

    def __init__(self, texts: Sequence[str]) -> None:
        for text in texts:
            parse_condition(text)
        self.texts = tuple(texts)
        self.conditions: list[Condition] = []
        self.verdicts: list[Verdict] = []
        self.failures: list[NothingTestedError] = []

    def resolve(
        self,
        measures: Sequence[str],
        canonical: Callable[[str], str],
        segments: Mapping[str, Mapping[str, str]],
        *,
        corrected: bool,
    ) -> None:
        """Look up the measures and segments that the conditions name."""
        values = {field: sorted(set(by_query.values())) for field, by_query in segments.items()}
        self.conditions = read_conditions(self.texts, measures, canonical, values, corrected=corrected)

    def check(self, rows: Sequence[ComparisonResult]) -> None:
        """Test every condition on the comparisons."""
        for condition in self.conditions:
            try:
                self.verdicts.append(condition.check(rows))
            except NothingTestedError as error:
                self.failures.append(error)

    @property
    def failed(self) -> bool:
        """Whether a condition holds for some run."""
        return any(verdict.matches for verdict in self.verdicts)

    def lines(self) -> list[str]:
        """Return what each condition found, a sentence each."""
        found = [line for verdict in self.verdicts for line in _sentences(verdict)]
        return found + [str(failure) for failure in self.failures]

    def to_dict(self) -> dict[str, Any] | None:
        """Return the gate's findings, fit for JSON; None without conditions."""
        if not self.texts:
            return None
        return {
            "failed": self.failed,
            "conditions": [verdict.to_dict() for verdict in self.verdicts],
            "nothing_tested": [str(failure) for failure in self.failures],
        }

    def close(self, *, seen: bool = False) -> int:
        """Return the exit code, having said on standard error why it is not 0, unless that was `seen`.

        Raises
        ------
        NothingTestedError
            When no condition failed, but one of them measured nothing.
        """
        if self.failed:
            lines = [line for v in self.verdicts if v.matches for line in _sentences(v)]
            for line in lines if not seen else []:
                click.echo(visible(line), err=True)
            return GATE_FAILED
        if self.failures:
            raise self.failures[0]
        return 0


def _sentences(verdict: Verdict) -> list[str]:
    if verdict.matches:
        return [f"gate failed: {verdict.condition}: {match}" for match in verdict.matches]
    skipped = f"; {len(verdict.untested)} had too few queries to test" if verdict.untested else ""
    tested = f"{verdict.n_tested} comparison{'' if verdict.n_tested == 1 else 's'} tested"
    return [f"gate passed: {verdict.condition} ({tested}{skipped})"]

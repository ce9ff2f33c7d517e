"""Whether a comparison passes the conditions of ``--fail-if``."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranklens.cli.gate_syntax import (
    ANY,
    Both,
    ConditionError,
    Either,
    Node,
    Not,
    Number,
    Operation,
    Segment,
    Term,
    parse_condition,
    terms,
)
from ranklens.core import ComparisonResult, UnknownNameError

_ATTRIBUTES = {
    "p": "p_value",
    "q": "q_value",
    "low": "ci_low",
    "high": "ci_high",
    "n": "n_queries",
}
_OPERATORS: dict[str, Callable[[float, float], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}

Row = ComparisonResult
Rows = Mapping[tuple[str, str, str, str | None], Row]


class NothingTestedError(Exception):
    """A condition found nothing that it could be tested on, so that passing would say nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one condition found: the comparisons it holds for, how many it was tested on, and how many not."""

    condition: str
    matches: tuple[str, ...]
    n_tested: int
    untested: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, fit for JSON."""
        return {
            "condition": self.condition,
            "failed": bool(self.matches),
            "matches": list(self.matches),
            "n_tested": self.n_tested,
            "untested": list(self.untested),
        }


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition whose measures and segments are known to exist.

    `measures` are those a bare field such as ``q`` stands for: the one that the condition names elsewhere,
    else each of those that were compared.
    """

    text: str
    tree: Node
    measures: tuple[str, ...]
    fields: Mapping[str, Sequence[str]]

    def check(self, results: Sequence[Row]) -> Verdict:
        """Test the condition on every pair of runs.

        Raises
        ------
        NothingTestedError
            When for some pair of runs no comparison that it speaks of was tested, and none failed.
        """
        rows = {(row.run_a, row.run_b, row.metric, row.segment): row for row in results}
        matches: list[str] = []
        untested: list[str] = []
        tested: dict[tuple[str, str], int] = {key[:2]: 0 for key in rows}
        for pair in tested:
            for binding in self._bindings():
                touched = [rows.get((*pair, *key)) for key in binding.keys(self.tree)]
                name = binding.describe(pair, self.tree)
                if not all(row is not None and row.tested for row in touched):
                    untested.append(name)
                    continue
                tested[pair] += 1
                if binding.holds(self.tree, rows, pair, self.text):
                    matches.append(f"{name}: {_numbers(row for row in touched if row is not None)}")
        if not matches and (not tested or min(tested.values()) == 0):
            raise NothingTestedError(_nothing_tested(self, untested))
        return Verdict(self.text, tuple(matches), sum(tested.values()), tuple(untested))

    def _bindings(self) -> Iterator[_Binding]:
        wild = sorted({scope.field for _, scope in terms(self.tree) if scope and scope.value == ANY})
        for measure in self.measures:
            for values in itertools.product(*(self.fields[field] for field in wild)):
                yield _Binding(measure, dict(zip(wild, values, strict=True)))


@dataclass(frozen=True, slots=True)
class _Binding:
    """What the bare fields and the stars of a condition stand for."""

    measure: str
    values: Mapping[str, str]

    def key(self, term: Term, scope: Segment | None) -> tuple[str, str | None]:
        if scope is None:
            return term.measure or self.measure, None
        value = self.values[scope.field] if scope.value == ANY else scope.value
        return term.measure or self.measure, f"{scope.field}={value}"

    def keys(self, tree: Node) -> list[tuple[str, str | None]]:
        return list(dict.fromkeys(self.key(term, scope) for term, scope in terms(tree)))

    def describe(self, pair: tuple[str, str], tree: Node) -> str:
        places = [f"{measure} [{segment}]" if segment else measure for measure, segment in self.keys(tree)]
        return f"{pair[1]} against {pair[0]}, {', '.join(places)}"

    def holds(self, tree: Node, rows: Rows, pair: tuple[str, str], text: str) -> bool:
        def value(node: Node, scope: Segment | None) -> Any:
            if isinstance(node, Number):
                return node.value
            if isinstance(node, Term):
                return field_value(rows[(*pair, *self.key(node, scope))], node.field)
            if isinstance(node, Operation):
                return _OPERATORS[node.operator](value(node.left, scope), value(node.right, scope))
            if isinstance(node, Not):
                return not value(node.part, scope)
            if isinstance(node, Both):
                return all(value(part, node.segment or scope) for part in node.parts)
            assert isinstance(node, Either)
            return any(value(part, scope) for part in node.parts)

        try:
            return bool(value(tree, None))
        except ZeroDivisionError:
            raise NothingTestedError(
                f"nothing was tested by --fail-if {text!r}: it divides by zero for "
                f"{self.describe(pair, tree)}; compare a product in place of the ratio"
            ) from None


def field_value(row: Row, field: str) -> float:
    """Return a field of a tested row; on a baseline mean of zero a relative delta is infinite, or zero."""
    if field == "relative":
        if row.relative_delta is None:
            return math.copysign(math.inf, row.delta) if row.delta else 0.0
        return row.relative_delta
    return float(getattr(row, _ATTRIBUTES.get(field, field)))


def read_conditions(
    texts: Sequence[str],
    measures: Sequence[str],
    canonical: Callable[[str], str],
    fields: Mapping[str, Sequence[str]],
    *,
    corrected: bool = True,
) -> list[Condition]:
    """Read the conditions of a gate before anything is measured.

    Parameters
    ----------
    texts : sequence of str
        The conditions.
    measures : sequence of str
        Canonical names of the measures that are compared.
    canonical : callable
        Turns any spelling of a measure into its canonical name.
    fields : mapping
        The segment fields and their values.
    corrected : bool
        Whether there are q-values.

    Raises
    ------
    ConditionError, UnknownNameError
        For a condition that cannot be read, or that names something which is not compared.
    """
    return [_read(text, measures, canonical, fields, corrected) for text in texts]


def _read(
    text: str,
    measures: Sequence[str],
    canonical: Callable[[str], str],
    fields: Mapping[str, Sequence[str]],
    corrected: bool,
) -> Condition:
    tree = _with_canonical_names(parse_condition(text), canonical)
    found = list(terms(tree))
    named = list(dict.fromkeys(term.measure for term, _ in found if term.measure))
    for measure in named:
        if measure not in measures:
            hint = f"the measures compared are {', '.join(measures)}; add it with -m"
            raise UnknownNameError("measure in --fail-if", measure, measures, hint)
    for _, scope in found:
        if scope is not None and scope.field not in fields:
            known = f"the fields are {', '.join(fields)}" if fields else "name their file with --segments"
            raise UnknownNameError("segment field in --fail-if", scope.field, fields, known)
    bare = next((term.field for term, _ in found if not term.measure), None)
    if bare is not None and len(named) > 1:
        raise ConditionError(
            f"--fail-if {text!r}: {bare} could be that of {' or '.join(named)}; write {bare}({named[0]})"
        )
    if not corrected and any(term.field == "q" for term, _ in found):
        raise ConditionError(f"--fail-if {text!r}: there are no q-values with --correction none; use p")
    bound = tuple(named[:1]) if named else tuple(measures)
    return Condition(text, tree, bound, fields)


def _with_canonical_names(node: Node, canonical: Callable[[str], str]) -> Node:
    if isinstance(node, Term) and node.measure is not None:
        return Term(node.field, canonical(node.measure))
    if isinstance(node, Operation):
        left, right = (_with_canonical_names(side, canonical) for side in (node.left, node.right))
        return Operation(node.operator, left, right)
    if isinstance(node, Either):
        return Either(tuple(_with_canonical_names(part, canonical) for part in node.parts))
    if isinstance(node, Both):
        return Both(tuple(_with_canonical_names(part, canonical) for part in node.parts), node.segment)
    return Not(_with_canonical_names(node.part, canonical)) if isinstance(node, Not) else node


def _numbers(rows: Iterator[Row]) -> str:
    from ranklens.core.presentation import fixed, p_text

    return "; ".join(
        f"delta {fixed(row.delta, sign=True)}, p {p_text(row.p_value, row.alpha)}"
        + (f", q {p_text(row.q_value, row.alpha)}" if row.q_value is not None else "")
        for row in rows
    )


def _nothing_tested(condition: Condition, untested: Sequence[str]) -> str:
    head = f"nothing was tested by --fail-if {condition.text!r}"
    for _, scope in terms(condition.tree):
        if scope is not None and scope.value != ANY and scope.value not in condition.fields[scope.field]:
            values = ", ".join(condition.fields[scope.field]) or "none"
            return f"{head}: no query has {scope.field}={scope.value}; its values are {values}"
    if not untested:
        return f"{head}: there is no comparison that it speaks of"
    more = f" and {len(untested) - 1} more" if len(untested) > 1 else ""
    return f"{head}: too few paired queries or clusters ({untested[0]}{more}); see --min-queries"

"""The language of ``--fail-if``: conditions on the numbers of a comparison.

    condition  =  either
    either     =  both ("or" both)*
    both       =  negation ("and" negation)*
    negation   =  "not" negation | comparison
    comparison =  sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
    sum        =  product (("+" | "-") product)*
    product    =  sign (("*" | "/") sign)*
    sign       =  "-" sign | primary
    primary    =  NUMBER | FIELD ["(" MEASURE ")"] | "segment(" NAME "=" VALUE ")" | "(" either ")"

The text between the parentheses of a field is a measure's name as it stands, with its own parentheses.
``segment(...)`` is no comparison: it says which segment the terms that ``and`` joins with it speak of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FIELDS = ("delta", "relative", "p", "q", "mean_a", "mean_b", "low", "high", "n", "wins", "ties", "losses")
COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")
ANY = "*"

_TOKEN = re.compile(r"\s*(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\w+|<=|>=|==|!=|[-<>+*/()])")


class ConditionError(ValueError):
    """A condition cannot be read, or speaks of something that was not compared."""


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Term:
    """A field of a comparison, of the named measure or (None) of the one the condition is about."""

    field: str
    measure: str | None


@dataclass(frozen=True, slots=True)
class Segment:
    """The segment that the neighbouring terms speak of; the value `ANY` stands for each one of the field."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An arithmetic operation or a comparison of two numbers."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Either:
    """True when one part is."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Both:
    """True when all parts are; `segment` is where their terms look."""

    parts: tuple[Node, ...]
    segment: Segment | None


@dataclass(frozen=True, slots=True)
class Not:
    """True when its part is not."""

    part: Node


Node = Number | Term | Segment | Operation | Either | Both | Not


def parse_condition(text: str) -> Node:
    """Read a condition.

    Raises
    ------
    ConditionError
        Saying where reading stopped and what was expected there.

    Examples
    --------
    >>> parse_condition("delta(AP(rel=2)) < -0.01")
    Operation(operator='<', left=Term(field='delta', measure='AP(rel=2)'), right=Number(value=-0.01))
    """
    parser = _Parser(text)
    node = parser.either()
    if parser.token is not None:
        raise parser.error("'and', 'or' or the end")
    parser.must_be_logical(node)
    if isinstance(node, Segment):
        raise parser.complaint("segment(...) alone compares nothing; join it with a comparison by 'and'")
    if not any(True for _ in terms(node)):
        raise parser.complaint(f"it speaks of no result; the fields are {', '.join(FIELDS)}")
    return node


def terms(node: Node, scope: Segment | None = None) -> Iterator[tuple[Term, Segment | None]]:
    """Yield every term of a condition with the segment it speaks of (None: all queries)."""
    if isinstance(node, Term):
        yield node, scope
    for child in _children(node):
        yield from terms(child, (node.segment or scope) if isinstance(node, Both) else scope)


def _children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Operation):
        return (node.left, node.right)
    if isinstance(node, (Either, Both)):
        return node.parts
    return (node.part,) if isinstance(node, Not) else ()


def _is_logical(node: Node) -> bool:
    if isinstance(node, Operation):
        return node.operator in COMPARISONS
    return isinstance(node, (Either, Both, Not, Segment))


class _Parser:
    """One method a rule of the grammar, each leaving `token` at the first token it did not use."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = self.stop = 0
        self.token: str | None = None
        self.advance()

    def either(self) -> Node:
        parts = [self.both()]
        while self.take("or"):
            parts.append(self.both())
        if len(parts) == 1:
            return parts[0]
        for part in parts:
            self.must_be_logical(part)
            self.must_not_be_segment(part)
        return Either(tuple(parts))

    def both(self) -> Node:
        parts = [self.negation()]
        while self.take("and"):
            parts.append(self.negation())
        if len(parts) == 1:
            return parts[0]
        for part in parts:
            self.must_be_logical(part)
        segments = [part for part in parts if isinstance(part, Segment)]
        if len(segments) > 1:
            raise self.complaint("one group of terms joined by 'and' can speak of one segment only")
        rest = tuple(part for part in parts if not isinstance(part, Segment))
        return Both(rest, segments[0] if segments else None)

    def negation(self) -> Node:
        if not self.take("not"):
            return self.comparison()
        part = self.negation()
        self.must_be_logical(part)
        self.must_not_be_segment(part)
        return Not(part)

    def comparison(self) -> Node:
        left = self.sum()
        if self.token not in COMPARISONS:
            return left
        operator = self.advance()
        right = self.sum()
        if self.token in COMPARISONS:
            raise self.complaint("comparisons cannot be chained; join two of them by 'and'")
        return self.operation(operator, left, right)

    def sum(self) -> Node:
        left = self.product()
        while self.token in ("+", "-"):
            left = self.operation(self.advance(), left, self.product())
        return left

    def product(self) -> Node:
        left = self.sign()
        while self.token in ("*", "/"):
            left = self.operation(self.advance(), left, self.sign())
        return left

    def sign(self) -> Node:
        if not self.take("-"):
            return self.primary()
        operand = self.sign()
        if isinstance(operand, Number):
            return Number(-operand.value)
        return self.operation("-", Number(0.0), operand)

    def primary(self) -> Node:
        if self.take("("):
            inner = self.either()
            if not self.take(")"):
                raise self.error("')'")
            return inner
        if self.token is not None and (self.token[0].isdigit() or self.token[0] == "."):
            return Number(float(self.advance()))
        if self.token == "segment":
            return self.segment()
        if self.token in FIELDS:
            field = self.advance()
            return Term(field, self.argument().strip() if self.token == "(" else None)
        if self.token is not None and self.token.isidentifier():
            raise self.complaint(f"unknown field {self.token!r}; the fields are {', '.join(FIELDS)}")
        raise self.error("a number, a field such as delta(nDCG@10), or segment(...)")

    def segment(self) -> Segment:
        self.advance()
        field, equals, value = self.argument().partition("=") if self.token == "(" else ("", "", "")
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        if not (equals and field.strip() and value):
            raise self.complaint(
                "a segment is named by segment(field=value), or segment(field=*) for each one"
            )
        return Segment(field.strip(), value)

    def argument(self) -> str:
        """Return the raw text up to the parenthesis that closes the current one, and go past it."""
        depth, quote = 1, ""
        for i in range(self.stop, len(self.text)):
            character = self.text[i]
            if quote:
                quote = "" if character == quote else quote
            elif character in "'\"":
                quote = character
            else:
                depth += (character == "(") - (character == ")")
            if depth == 0:
                inside = self.text[self.stop : i]
                self.stop = i + 1
                self.advance()
                return inside
        raise self.complaint("a parenthesis is not closed")

    def operation(self, operator: str, left: Node, right: Node) -> Operation:
        for side in (left, right):
            if _is_logical(side):
                raise self.complaint(f"{operator!r} needs a number on both sides, not a comparison")
        return Operation(operator, left, right)

    def must_be_logical(self, node: Node) -> None:
        if not _is_logical(node):
            raise self.complaint("a number alone is no condition; compare it, as in delta(nDCG@10) < -0.01")

    def must_not_be_segment(self, node: Node) -> None:
        if isinstance(node, Segment):
            raise self.complaint("segment(...) says where to look; join it with its terms by 'and'")

    def take(self, token: str) -> bool:
        if self.token != token:
            return False
        self.advance()
        return True

    def advance(self) -> str:
        """Return the current token and move on to the next one."""
        used = self.token
        self.start = self.stop
        match = _TOKEN.match(self.text, self.stop)
        if match is not None:
            self.token, self.stop = match[1], match.end()
        elif self.text[self.stop :].strip():
            raise self.error("a number, a field, an operator or a parenthesis")
        else:
            self.token = None
        return used or ""

    def error(self, expected: str) -> ConditionError:
        found = self.text[self.start :].strip()
        where = f"at {found!r}" if found else "at the end"
        return self.complaint(f"expected {expected} {where}")

    def complaint(self, why: str) -> ConditionError:
        return ConditionError(f"--fail-if {self.text!r}: {why}")

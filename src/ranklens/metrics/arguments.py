"""Read and check the parameters and the cutoff of a measure."""

from __future__ import annotations

import math
from typing import Any

from ranklens.metrics.definitions import BadMeasureError, Definition

_GAINS = {"linear": "linear", "log2": "linear", "exp": "exp", "exp-log2": "exp"}
_KEYS = {"dcg": "gain", "k": "cutoff", "recall": "cutoff", "relevance_level": "rel", "persistence": "p"}


def read_arguments(text: str, asked: str) -> dict[str, str]:
    """Split ``rel=2, p=0.8`` into names and values; `asked` is the whole measure, for the message."""
    found: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key, equals, value = part.partition("=")
        key, value = key.strip().lower(), value.strip().strip("'\"")
        if not equals or not key or not value:
            raise BadMeasureError(f"{asked}: {part!r} is not a parameter; write name=value, such as rel=2")
        key = _KEYS.get(key, key)
        if key in found:
            raise BadMeasureError(f"{asked}: {key} is given twice; give it once")
        found[key] = value
    return found


def check_arguments(definition: Definition, given: dict[str, Any], asked: str) -> tuple[tuple[str, Any], ...]:
    """Turn values into numbers where they are, and refuse what the measure does not take."""
    known = definition.parameters
    for key in given:
        if key not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise BadMeasureError(f"{asked}: {definition.name} has no parameter {key!r}; {takes}")
    if "max_rel" in given and "rel" in given:
        raise BadMeasureError(f"{asked}: give rel (binary gains) or max_rel (graded gains), not both")
    return tuple((key, _value(key, given[key], asked)) for key in known if key in given)


def check_cutoff(definition: Definition, cutoff: str | None, asked: str) -> float | None:
    """Read what follows the @: a rank from 1, or a recall level from 0 to 1."""
    name = definition.name
    if definition.level is None:
        if cutoff is not None:
            raise BadMeasureError(f"{asked}: {name} takes no cutoff; write {name}")
        return None
    if definition.level == "recall":
        level = _number(cutoff) if cutoff is not None else None
        if level is None or not 0 <= level <= 1:
            raise BadMeasureError(f"{asked}: {name} needs a recall level from 0 to 1, such as {name}@0.5")
        return level
    if cutoff is None:
        return None
    if not cutoff.isdecimal() or int(cutoff) < 1:
        raise BadMeasureError(
            f"{asked}: the cutoff must be a whole number from 1, got {cutoff or 'nothing'}; write {name}@10"
        )
    return int(cutoff)


def check_rel(rel: Any, asked: str) -> float:
    """Return a relevance threshold: a positive number."""
    return _positive("rel", rel, asked)


def _value(key: str, value: Any, asked: str) -> Any:
    check = _CHECKS.get(key)
    if check is not None:
        return check(key, value, asked)
    number = _number(value)
    return value if number is None else number


def _positive(key: str, value: Any, asked: str) -> float:
    number = _number(value)
    if number is None or not 0 < number < math.inf:
        raise BadMeasureError(f"{asked}: {key} must be a number above 0, got {value}")
    return number


def _probability(key: str, value: Any, asked: str) -> float:
    number = _number(value)
    if number is None or not 0 < number < 1:
        raise BadMeasureError(f"{asked}: {key} must be a number between 0 and 1, both excluded, got {value}")
    return number


def _gain(key: str, value: Any, asked: str) -> str:
    gain = _GAINS.get(str(value).lower())
    if gain is None:
        raise BadMeasureError(f"{asked}: {key} must be linear or exp, got {value}")
    return gain


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


_CHECKS = {"rel": _positive, "max_rel": _positive, "p": _probability, "gain": _gain}

"""Every measure in plain Python, straight from its definition: what the array code is checked against."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

Grades = list[float | None]
Scores = Mapping[str, Mapping[str, float]]


def ranked(scores: Mapping[str, float], *, float32: bool = False) -> list[str]:
    """Rank documents by score descending, then by id descending in UTF-8 bytes."""

    def key(document: str) -> tuple[float, bytes]:
        score = float(scores[document])
        return (struct.unpack("f", struct.pack("f", score))[0] if float32 else score), document.encode()

    return sorted(scores, key=key, reverse=True)


def value(name: str, scores: Mapping[str, float], judged: Mapping[str, float], **options: Any) -> float:
    """Compute a measure of `DEFINITIONS` for one query."""
    options = dict(options)
    max_grade = options.pop("max_grade", None)
    grades: Grades = [judged.get(document) for document in ranked(scores)]
    if name == "ERR":
        options.setdefault("max_rel", max_grade)
    return DEFINITIONS[name](grades, sorted(judged.values(), reverse=True), **options)


def _cut(grades: Grades, k: int | None) -> Grades:
    return grades if k is None else grades[:k]


def _hits(grades: Grades, rel: float) -> list[bool]:
    return [grade is not None and grade >= rel for grade in grades]


def _n_relevant(pool: list[float], rel: float) -> int:
    return sum(grade >= rel for grade in pool)


def ndcg(grades: Grades, pool: list[float], k: int | None = None, gain: str = "linear") -> float:
    def dcg(ordered: list[float]) -> float:
        gains = [max(g, 0.0) if gain == "linear" else 2 ** max(g, 0.0) - 1 for g in ordered]
        return math.fsum(g / math.log2(i + 1) for i, g in enumerate(gains, start=1))

    ideal = dcg([g for g in pool if g is not None][: k or None])
    found = dcg([g if g is not None else 0.0 for g in _cut(grades, k)])
    return found / ideal if ideal > 0 else 0.0


def average_precision(grades: Grades, pool: list[float], k: int | None = None, rel: float = 1) -> float:
    total, hits = _n_relevant(pool, rel), _hits(_cut(grades, k), rel)
    precisions = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
    return math.fsum(precisions) / total if total else 0.0


def reciprocal_rank(grades: Grades, pool: list[float], k: int | None = None, rel: float = 1) -> float:
    return next((1 / i for i, hit in enumerate(_hits(_cut(grades, k), rel), start=1) if hit), 0.0)


def precision(grades: Grades, pool: list[float], k: int | None = None, rel: float = 1) -> float:
    depth = len(grades) if k is None else k
    return sum(_hits(_cut(grades, k), rel)) / depth if depth else 0.0


def recall(grades: Grades, pool: list[float], k: int | None = None, rel: float = 1) -> float:
    total = _n_relevant(pool, rel)
    return sum(_hits(_cut(grades, k), rel)) / total if total else 0.0


def f1(grades: Grades, pool: list[float], k: int | None = None, rel: float = 1) -> float:
    p, r = precision(grades, pool, k, rel), recall(grades, pool, k, rel)
    return 2 * p * r / (p + r) if p + r else 0.0


def success(grades: Grades, pool: list[float], k: int | None = None, rel: float = 1) -> float:
    return float(any(_hits(_cut(grades, k), rel)))


def r_precision(grades: Grades, pool: list[float], rel: float = 1) -> float:
    total = _n_relevant(pool, rel)
    return sum(_hits(grades[:total], rel)) / total if total else 0.0


def bpref(grades: Grades, pool: list[float], rel: float = 1) -> float:
    total = _n_relevant(pool, rel)
    others = sum(0 <= grade < rel for grade in pool)
    above, found = 0, 0.0
    for grade in grades:
        if grade is None or grade < 0:
            continue
        if grade < rel:
            above += 1
        else:
            found += 1 - min(above, total) / min(others, total) if above else 1.0
    return found / total if total else 0.0


def interpolated_precision(grades: Grades, pool: list[float], r: str = "0.5", rel: float = 1) -> float:
    total, hits = _n_relevant(pool, rel), _hits(grades, rel)
    reached = [i for i in range(1, len(hits) + 1) if total and Fraction(sum(hits[:i]), total) >= Fraction(r)]
    return max((sum(hits[:i]) / i for i in reached), default=0.0)


def rbp(
    grades: Grades,
    pool: list[float],
    k: int | None = None,
    p: float = 0.8,
    rel: float = 1,
    max_rel: float | None = None,
) -> float:
    total = 0.0
    for i, grade in enumerate(_cut(grades, k)):
        if grade is not None:
            gain = float(grade >= rel) if max_rel is None else min(max(grade, 0.0), max_rel) / max_rel
            total += (1 - p) * p**i * gain
    return total


def rbp_residual(grades: Grades, pool: list[float], k: int | None = None, p: float = 0.8) -> float:
    seen = _cut(grades, k)
    return math.fsum((1 - p) * p**i for i, g in enumerate(seen) if g is None) + p ** len(seen)


def err(grades: Grades, pool: list[float], k: int | None = None, max_rel: float = 1) -> float:
    total, arrives = 0.0, 1.0
    for i, grade in enumerate(_cut(grades, k), start=1):
        stops = (2 ** min(max(grade or 0.0, 0.0), max_rel) - 1) / 2**max_rel
        total += arrives * stops / i
        arrives *= 1 - stops
    return total


def judged_share(grades: Grades, pool: list[float], k: int | None = None) -> float:
    seen = _cut(grades, k)
    return sum(grade is not None for grade in seen) / len(seen) if seen else 0.0


DEFINITIONS: dict[str, Callable[..., float]] = {
    "nDCG": ndcg,
    "AP": average_precision,
    "RR": reciprocal_rank,
    "P": precision,
    "R": recall,
    "F1": f1,
    "Success": success,
    "Rprec": r_precision,
    "bpref": bpref,
    "IPrec": interpolated_precision,
    "RBP": rbp,
    "RBPresidual": rbp_residual,
    "ERR": err,
    "Judged": judged_share,
    "NumRel": lambda grades, pool, rel=1: float(_n_relevant(pool, rel)),
    "NumRet": lambda grades, pool: float(len(grades)),
    "NumRelRet": lambda grades, pool, k=None, rel=1: float(sum(_hits(_cut(grades, k), rel))),
}

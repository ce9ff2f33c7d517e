"""A collection that ranklens makes from a seed: for the demo, the documentation and the tests.

Five systems of known quality answer a hundred queries. Everything is a pure function of the counter-based
words and of arithmetic that IEEE 754 fixes, rounded to four decimals, so it is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Purpose, seed_of, words
from ranklens.io import Qrels, Run

N_QUERIES = 100
N_DOCUMENTS = 60
DEPTH = 40
GRADE_SHARES = {3: 0.03, 2: 0.08, 1: 0.18}
UNJUDGED_SHARE = 0.12
NOTHING_RELEVANT = 37
"""The position of the query that no document answers."""
UNANSWERED = (13, 51, 86)
"""The positions of the queries that ``dense`` does not answer."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class System(NamedTuple):
    """How a system scores: a weight for what is right, and for what it shares with others or has alone."""

    signal: float
    lexical: float
    semantic: float
    own: float


SYSTEMS = {
    "bm25": System(0.55, 1.0, 0.0, 0.35),
    "bm25_prf": System(0.58, 1.0, 0.0, 0.45),
    "dense": System(0.66, 0.0, 1.0, 0.45),
    "hybrid": System(0.74, 0.6, 0.6, 0.35),
    "rerank": System(1.0, 0.3, 0.6, 0.6),
}
"""In the order of their quality, the best one last."""
LOST_LANGUAGE = "de"
"""The best system was not trained on this language: there it loses."""
_LOST_SIGNAL = 0.25
_LANGUAGES = ("en",) * 11 + ("de",) * 5 + ("fr",) * 4


@dataclass(frozen=True, slots=True)
class DemoCollection:
    """Judgements, runs and segments of one generated collection.

    Attributes
    ----------
    qrels : Qrels
        Grades 0 to 3, with holes: about one document in eight was never judged.
    runs : dict of str to Run
        Named in the order of quality: ``bm25``, ``bm25_prf`` (hardly better), ``dense`` (which leaves three
        queries out), ``hybrid`` (which answers one query that has no judgements) and ``rerank``.
    segments : dict of str to dict
        For each field (``language``, ``length``) the value of each query.
    seed : int
        What reproduces it.
    """

    qrels: Qrels
    runs: dict[str, Run]
    segments: dict[str, dict[str, str]]
    seed: int

    def write(self, folder: Path) -> list[Path]:
        """Write ``qrels.txt``, ``NAME.run`` for each run and ``segments.csv`` into an existing folder."""
        paths = [folder / "qrels.txt", *(folder / f"{name}.run" for name in self.runs)]
        self.qrels.write(paths[0])
        for path, run in zip(paths[1:], self.runs.values(), strict=True):
            run.write(path)
        segments = folder / "segments.csv"
        segments.write_text(_segment_table(self.segments), "utf-8", newline="\n")
        return [*paths, segments]


def demo_collection(seed: int = 0) -> DemoCollection:
    """Generate the demo collection.

    Parameters
    ----------
    seed : int
        Another seed gives another collection of the same kind.

    Returns
    -------
    DemoCollection
        The same bits for the same seed on every machine.

    Examples
    --------
    >>> collection = demo_collection()
    >>> list(collection.runs), len(collection.qrels.query_ids)
    (['bm25', 'bm25_prf', 'dense', 'hybrid', 'rerank'], 100)
    """
    seed = seed_of(seed)
    grades, judged = _grades(seed)
    languages = [_LANGUAGES[i % len(_LANGUAGES)] for i in range(N_QUERIES)]
    segments = {"language": languages, "length": _lengths(seed)}
    scores = _scores(seed, grades, np.array([name == LOST_LANGUAGE for name in languages]))
    return DemoCollection(
        qrels=Qrels.from_dict(_judgements(grades, judged)),
        runs={name: Run.from_dict(_ranking(name, scores[name]), name=name) for name in SYSTEMS},
        segments={field: {_query(i): v for i, v in enumerate(values)} for field, values in segments.items()},
        seed=seed,
    )


def _grades(seed: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the grade of each document and whether somebody judged it, both (queries, documents)."""
    latent = _uniform(seed, range(1, 1 + N_DOCUMENTS))
    richness = 0.5 + _uniform(seed, range(1))
    richness[NOTHING_RELEVANT] = 0.0
    grades = np.zeros(latent.shape, dtype=np.int64)
    share = 0.0
    for grade, part in GRADE_SHARES.items():
        inside = (latent >= share * richness) & (latent < (share + part) * richness)
        grades[inside] = grade
        share += part
    holes = _uniform(seed, range(100, 100 + N_DOCUMENTS)) < UNJUDGED_SHARE
    return grades, ~holes


def _scores(seed: int, grades: Ints, lost: NDArray[np.bool_]) -> Mapping[str, Floats]:
    """Return each system's scores, (queries, documents), rounded to four decimals."""
    lexical = _bell(seed, range(200, 200 + N_DOCUMENTS))
    semantic = _bell(seed, range(300, 300 + N_DOCUMENTS))
    scores = {}
    for place, (name, system) in enumerate(SYSTEMS.items()):
        own = _bell(seed, range(1000 + 100 * place, 1000 + 100 * place + N_DOCUMENTS))
        signal = np.full((N_QUERIES, 1), system.signal)
        if name == "rerank":
            signal[lost] = _LOST_SIGNAL
        shared = system.lexical * lexical + system.semantic * semantic
        raw = 10.0 + signal * grades + shared + system.own * own
        scores[name] = np.rint(raw * 1e4) / 1e4
    return scores


def _lengths(seed: int) -> list[str]:
    return ["short" if u < 0.5 else "long" for u in _uniform(seed, range(70, 71))[:, 0].tolist()]


def _judgements(grades: Ints, judged: NDArray[np.bool_]) -> dict[str, dict[str, int]]:
    return {
        _query(i): {_document(i, int(j)): int(grades[i, j]) for j in np.flatnonzero(judged[i])}
        for i in range(N_QUERIES)
    }


def _ranking(name: str, scores: Floats) -> dict[str, dict[str, float]]:
    order = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    run = {
        _query(i): {_document(i, int(j)): float(scores[i, j]) for j in order[i]}
        for i in range(N_QUERIES)
        if not (name == "dense" and i in UNANSWERED)
    }
    if name == "hybrid":
        run[_query(N_QUERIES)] = {_document(N_QUERIES, j): 10.0 - j for j in range(10)}
    return run


def _uniform(seed: int, columns: range) -> Floats:
    """Return values in [0, 1), (queries, columns): the upper 53 bits of each word, exactly."""
    drawn = words(seed, 0, N_QUERIES, columns, Purpose.SYNTHETIC).T
    uniform: Floats = (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return uniform


def _bell(seed: int, columns: range) -> Floats:
    """Return nearly normal values (mean 0, sd 1): the sum of the four 16-bit quarters of each word."""
    drawn = words(seed, 0, N_QUERIES, columns, Purpose.SYNTHETIC).T
    quarters = [(drawn >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)]
    total: Floats = np.sum(np.stack(quarters), axis=0).astype(np.float64)
    return (total - 131070.0) / 37837.0


def _query(i: int) -> str:
    return f"q{i + 1:03d}"


def _document(i: int, j: int) -> str:
    return f"d{i + 1:03d}{j:02d}"


def _segment_table(segments: Mapping[str, Mapping[str, str]]) -> str:
    queries = next(iter(segments.values()))
    lines = [",".join(("query_id", *segments))]
    lines += [",".join((query, *(values[query] for values in segments.values()))) for query in queries]
    return "\n".join(lines) + "\n"

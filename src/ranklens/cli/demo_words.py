"""What the demo says in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ranklens.cli.verdict import Visible, interval
from ranklens.core import ComparisonResult
from ranklens.core.presentation import fixed, p_text

if TYPE_CHECKING:
    from pathlib import Path

    from ranklens.io.synthetic import DemoCollection


def collection_notes(collection: DemoCollection) -> list[str]:
    """Say what was generated."""
    return [
        f"made from seed {collection.seed}: {len(collection.qrels.query_ids)} queries, "
        f"{len(collection.qrels)} judgements (grades 0 to 3; about one document in eight was never judged)",
        f"{len(collection.runs)} systems, from the weakest to the best: {', '.join(collection.runs)}",
        f"segments: {', '.join(_values(name, v) for name, v in collection.segments.items())}",
    ]


def _values(field: str, by_query: Mapping[str, str]) -> str:
    return f"{field} ({', '.join(sorted(set(by_query.values())))})"


def in_words(rows: Sequence[ComparisonResult], visible: Visible) -> list[str]:
    """Explain the surest verdict, and one that stays open, if there is one."""
    best = max(rows, key=lambda row: row.delta or 0.0)
    p, q = (p_text(value, best.alpha) for value in (best.p_value, best.q_value))
    lines = [
        f"{best.run_b} beats {best.run_a} on {best.wins} of {best.n_queries} queries, loses on {best.losses} "
        f"and ties on {best.ties}; on average it gains {fixed(best.delta)} {best.metric}.",
        "Other queries would have given another average. Drawing such samples of queries again and again, "
        f"95% of the averages lie in {interval(best)}.",
        "If neither system were better, each query's difference could as well have had the other sign; with "
        f"signs at random, an average this large comes up with probability p = {p}.",
        f"{len(rows)} comparisons were made, and one in twenty can look good by chance: q = "
        f"{q} is p with that taken into account. Below 0.05 the verdict stands.",
    ]
    still_open = next((row for row in rows if not row.significant), None)
    if still_open is not None:
        sight = visible[still_open.run_a, still_open.run_b, still_open.metric]
        lines.append(
            f"For {still_open.run_b} no difference is shown. That does not say there is none: these "
            f"{still_open.n_queries} queries can see about {fixed(sight)}, and its gain is "
            f"{fixed(still_open.delta)}."
        )
    return lines


def on_segments(rows: Sequence[ComparisonResult]) -> list[str]:
    """Say what the mean over all queries hides, if it hides a loss."""
    return [
        f"the mean over all queries hides it: {row.run_b} is better on the whole, and fails the users of "
        f"{row.segment}"
        for row in rows
        if row.significant and (row.delta or 0.0) < 0.0
    ]


def commands(folder: Path | None, seed: int) -> list[str]:
    """Return the command lines to go on with."""
    own = [
        "ranklens eval qrels.txt a.run b.run -m nDCG@10 AP RR",
        "ranklens compare qrels.txt a.run b.run -m nDCG@10 --segments queries.csv",
    ]
    if folder is None:
        again = f" --seed {seed}" if seed else ""
        return [*own, f"ranklens demo --write demo{again}      writes this collection as files"]
    return [
        f"the collection is in {folder}: qrels.txt, a run a system, segments.csv",
        f"ranklens compare {folder}/qrels.txt {folder}/bm25.run {folder}/rerank.run "
        f"--segments {folder}/segments.csv",
        *own,
    ]

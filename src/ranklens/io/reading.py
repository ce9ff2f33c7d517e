"""`read_run`, `read_qrels`, and what lets every function take paths, frames and dictionaries."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ranklens.io.collection import Qrels, Run
from ranklens.io.intake import take_in
from ranklens.io.sources import run_name


def read_run(
    source: Any,
    *,
    columns: Mapping[str, str | int] | None = None,
    on_error: str = "raise",
    name: str | None = None,
) -> Run:
    """Read what a system retrieved.

    Parameters
    ----------
    source : path, "-", open file, bytes, frame, mapping or iterable of rows
        TREC text (``query Q0 document rank score tag``; the rank is ignored), CSV, TSV, JSONL, Parquet,
        Feather or Arrow, plain or compressed (gzip, bzip2, xz, zstd); a pandas, polars or pyarrow frame; a
        ``{query: {document: score}}`` dictionary; named tuples such as those of ir_datasets; a ranx ``Run``.
    columns : mapping, optional
        Where to find the fields "query", "document" and "score" (or "rank", 1 being the best): the names of
        columns, or, in files without a header, their positions counted from 0. By default the usual spellings
        are looked for.
    on_error : {"raise", "skip"}
        Stop at the first bad row; or leave bad rows out, count them, and warn with the first examples. Of a
        document that is listed twice for a query the higher score stays.
    name : str, optional
        The run's name; by default that of its file (see `run_name`).

    Raises
    ------
    DataError
        For a line with too few columns, a score that is no number or NaN, a document listed twice for a
        query, a damaged file, a file without rows.

    Examples
    --------
    >>> run = read_run(b"q1 Q0 d1 1 2.5 bm25")
    >>> run["q1"]
    {'d1': 2.5}
    """
    pairs, file, n_left_out = take_in(source, Run.layout, columns, on_error)
    return Run(pairs, name or _name(source, file, "run"), n_left_out)


def read_qrels(
    source: Any, *, columns: Mapping[str, str | int] | None = None, on_error: str = "raise"
) -> Qrels:
    """Read judgements.

    Parameters
    ----------
    source : path, "-", open file, bytes, frame, mapping or iterable of rows
        What `read_run` takes, with grades for scores: TREC lines of ``query iteration document grade``,
        tables with a column called relevance, grade, label, rel or rating, ``{query: {document: grade}}``,
        the judgements of ir_datasets, a ranx ``Qrels``. Grades may be negative or fractional.
    columns : mapping, optional
        Where to find the fields "query", "document" and "grade", as for `read_run`.
    on_error : {"raise", "skip"}
        Stop at the first bad row; or leave bad rows out, count them, and warn with the first examples. Of two
        grades for one pair the first one stays.

    Raises
    ------
    DataError
        For a line with another number of columns, a grade that is no finite number, a pair with two different
        grades, a damaged file, a file without rows.

    Warns
    -----
    DataWarning
        When a judgement is repeated with the same grade; it counts once.

    Examples
    --------
    >>> read_qrels({"q1": {"d1": 2}})["q1"]
    {'d1': 2.0}
    """
    pairs, file, n_left_out = take_in(source, Qrels.layout, columns, on_error)
    return Qrels(pairs, _name(source, file, "qrels"), n_left_out)


def as_run(source: Any, *, on_error: str = "raise", name: str | None = None) -> Run:
    """Return a `Run` as it is, and read anything else."""
    return source if isinstance(source, Run) else read_run(source, on_error=on_error, name=name)


def as_qrels(source: Any, *, on_error: str = "raise") -> Qrels:
    """Return `Qrels` as they are, and read anything else."""
    return source if isinstance(source, Qrels) else read_qrels(source, on_error=on_error)


def _name(source: Any, file: str, default: str) -> str:
    if isinstance(source, (str, os.PathLike)) and source != "-":
        return run_name(file)
    name = getattr(source, "name", None)
    return run_name(name) if isinstance(name, str) else default

"""Learning-to-rank files of SVMlight, LETOR and LightGBM: ``grade qid:query 1:0.5 2:0.25 ... # document``.

A line is a document. LightGBM's files leave the ``qid:`` out, and keep the number of documents of each query
in a file beside them, whose name ends in ``.query``.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core import DataError
from ranklens.io.letor_lines import LetorLines
from ranklens.io.query_features import QueryFeatures, checked_query
from ranklens.io.sources import load, source_name

_REAL = (int, float, np.integer, np.floating)
_COMPRESSED = re.compile(r"\.(gz|bz2|xz|zst)$")


def read_letor(
    source: Any,
    *,
    names: Iterable[str] | None = None,
    n_features: int | None = None,
    missing: float = 0.0,
    first: int | None = None,
    query_sizes: Any = None,
) -> tuple[QueryFeatures, ...]:
    """Read features and grades of queries.

    Parameters
    ----------
    source : path, open file or bytes
        Compressed or not. A line holds a grade, ``qid:`` and the query, features as ``number:value``, and
        after ``#`` a comment: ``docid = X``, or the document's id as its first word. A document without one
        is named by its place in the query, from 1. Lines that hold only a comment, and empty ones, are
        skipped.
    names : iterable of str, optional
        The features. Without names the columns are taken to be in the model's order.
    n_features : int, optional
        The number of columns, where these queries may lack the last ones.
    missing : float
        The value of features that a line leaves out: 0, or ``float("nan")``. Features are float64 whatever it
        is.
    first : int, optional
        The number of the first feature: 0 or 1. By default 1, unless a line has a feature 0. A model that
        LightGBM or XGBoost trained on a file by itself counts from 0, whatever the file's smallest number:
        pass 0 for it.
    query_sizes : path or sequence of int, optional
        How many lines each query has, for lines without ``qid:``; with it, an error. By default a file of the
        same name ending in ``.query`` is looked for.

    Returns
    -------
    tuple of QueryFeatures
        In the order of the file.

    Raises
    ------
    DataError
        With the number of the line, for whatever cannot be read; when `n_features`, or the number of `names`,
        is one more than the largest number and `first` is left open, since the features may then be numbered
        from 0 or from 1.
    ValueError
        When `missing` is no number.

    Examples
    --------
    >>> read_letor(b"2 qid:7 1:0.5 2:3 # docid = a\\n0 qid:7 2:1 # docid = b\\n")
    (<QueryFeatures 7: 2 documents, 2 features, 2 judged>,)
    """
    value = _number(missing)
    labels = None if names is None else tuple(str(name) for name in names)
    lines = read_lines(source)
    if first is None and n_features is not None:
        _refuse_two_numberings(lines, n_features, f"n_features={n_features}")
    elif first is None and labels is not None:
        _refuse_two_numberings(lines, len(labels), f"there are {len(labels)} names")
    return queries_of_lines(lines, source, labels, n_features, value, first, query_sizes)


def _number(missing: Any) -> float:
    """Return the number as float64's, of which the matrix takes its type."""
    if isinstance(missing, (bool, np.bool_)) or not isinstance(missing, _REAL):
        raise ValueError(f"missing must be a number, such as 0 or float('nan'); got {missing!r}")
    return float(missing)


def read_lines(source: Any) -> LetorLines:
    """Take the lines of a file apart."""
    file = source_name(source)
    lines = LetorLines(file)
    for number, line in enumerate(bytes(load(source, file).content()).split(b"\n"), 1):
        lines.add(number, line)
    if not lines.grades:
        raise DataError("there are no lines of documents", file=file)
    return lines


def queries_of_lines(
    lines: LetorLines,
    source: Any,
    names: Iterable[str] | None,
    n_features: int | None,
    missing: float,
    first: int | None,
    query_sizes: Any,
) -> tuple[QueryFeatures, ...]:
    """Put the lines together; see `read_letor`."""
    labels = tuple(str(name) for name in names) if names is not None else None
    width = n_features if n_features is not None else (len(labels) if labels is not None else None)
    matrix = lines.matrix(missing, first, width)
    if labels is not None and len(labels) != matrix.shape[1]:
        raise DataError(
            f"there are {matrix.shape[1]} features and {len(labels)} names for them", file=lines.file
        )
    return tuple(_queries(lines, matrix, _query_of_lines(lines, source, query_sizes), labels))


def _refuse_two_numberings(lines: LetorLines, n_features: int, given: str) -> None:
    smallest, largest = lines.span()
    if smallest > 0 and n_features == largest + 1:
        raise DataError(
            f"the features are numbered up to {largest}, and {given}, so that the first may "
            "be 0 or 1: pass first=0 for a model that LightGBM or XGBoost trained on such a file by itself, "
            "else first=1",
            file=lines.file,
        )


def _query_of_lines(lines: LetorLines, source: Any, query_sizes: Any) -> list[str]:
    unnamed = [row for row, query in enumerate(lines.queries) if query is None]
    if len(unnamed) < len(lines.queries) and query_sizes is not None:
        row = next(row for row, query in enumerate(lines.queries) if query is not None)
        raise DataError(
            "the line has a qid:, and query_sizes is given; leave it out",
            file=lines.file,
            line=lines.numbers[row],
        )
    if not unnamed:
        return [query for query in lines.queries if query is not None]
    if len(unnamed) < len(lines.queries):
        raise DataError(
            "the line has no qid:, and others have", file=lines.file, line=lines.numbers[unnamed[0]]
        )
    sizes, where = _sizes(source, query_sizes, lines)
    if sum(sizes) != len(lines.queries):
        raise DataError(
            f"the sizes of {len(sizes)} queries sum to {sum(sizes)}, and {lines.file} has "
            f"{len(lines.queries)} lines of documents",
            file=where,
        )
    return [str(query) for query, size in enumerate(sizes, 1) for _ in range(size)]


def _sizes(source: Any, query_sizes: Any, lines: LetorLines) -> tuple[list[int], str]:
    if query_sizes is None:
        query_sizes = _sibling(source)
    if query_sizes is None:
        raise DataError(
            "the line has no qid:, and no file of query sizes was found; pass query_sizes=",
            file=lines.file,
            line=lines.numbers[0],
        )
    if isinstance(query_sizes, Sequence) and not isinstance(query_sizes, (str, bytes)):
        return [_size(size) for size in query_sizes], "query_sizes"
    file = source_name(query_sizes)
    sizes = []
    for number, line in enumerate(bytes(load(query_sizes, file).content()).splitlines(), 1):
        if line.strip() and not line.strip().isdigit():
            text = line.decode("utf-8", "backslashreplace")
            raise DataError("a number of documents is needed", file=file, line=number, text=text)
        if line.strip():
            sizes.append(int(line))
    return sizes, file


def _size(size: Any) -> int:
    try:
        found = operator.index(size)
    except TypeError:
        found = -1
    if found < 0:
        raise DataError(f"{size!r} is no number of documents", file="query_sizes")
    return found


def _sibling(source: Any) -> Path | None:
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = os.fspath(source)
    names = (f"{path}.query", f"{_COMPRESSED.sub('', path)}.query")
    return next((Path(name) for name in names if os.path.isfile(name)), None)


def _queries(
    lines: LetorLines, matrix: NDArray[np.float64], queries: list[str], names: tuple[str, ...] | None
) -> Iterator[QueryFeatures]:
    rows: dict[str, list[int]] = {}
    for row, query in enumerate(queries):
        rows.setdefault(query, []).append(row)
    for query, some in rows.items():
        together = some[-1] - some[0] + 1 == len(some)
        documents = [lines.documents[row] or str(place) for place, row in enumerate(some, 1)]
        if len(set(documents)) != len(documents):
            place = next(i for i, document in enumerate(documents) if document in documents[:i])
            raise DataError(
                f"the document {documents[place]!r} occurs twice in query {query!r}",
                file=lines.file,
                line=lines.numbers[some[place]],
            )
        features = matrix[some[0] : some[-1] + 1] if together else matrix[some]
        yield checked_query(query, documents, features, [lines.grades[row] for row in some], names)

"""The features and grades of one query's documents: what a learned ranker is trained and asked on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ranklens.arrays import backend_of, is_array
from ranklens.core import DataError
from ranklens.io.whole_numbers import require_exact, require_exact_beside_floats


@dataclass(frozen=True, eq=False, repr=False)
class QueryFeatures:
    """One query: its candidate documents, a row of features for each, and the judgements.

    Made by `QueryFeatures.of`, `QueryFeatures.from_frame` or `read_letor`, which check the parts.

    Attributes
    ----------
    query_id : str
    documents : tuple of str
        The n documents that are ranked.
    features : array, shape (n, k)
        A row a document, in any array library; NaN is a value like any other.
    grades : mapping of document to grade
        Judged documents that are not among `documents` count as not retrieved; documents without a grade are
        unjudged.
    names : tuple of str or None
        The k features. Without names the columns are taken to be in the model's order.
    from_array : bool
        Whether the features were given as an array, which decides where is computed; what comes from lists,
        frames and files goes to the backend of `ranklens.use_backend`.
    """

    query_id: str
    documents: tuple[str, ...]
    features: Any
    grades: Mapping[str, float]
    names: tuple[str, ...] | None = None
    from_array: bool = True

    @classmethod
    def of(
        cls,
        query_id: Any,
        docs: Iterable[Any],
        features: Any,
        grades: Mapping[Any, float] | Sequence[float],
        *,
        names: Iterable[str] | None = None,
    ) -> QueryFeatures:
        """Check and hold one query.

        Parameters
        ----------
        query_id : str or int
        docs : iterable of str or int
            The documents, n distinct ids.
        features : array-like or frame, shape (n, k)
            A row a document. An array is computed on where it lies; lists and frames go to the backend of
            `ranklens.use_backend`. The columns of a frame (pandas, polars, pyarrow) keep their names; those
            that pandas numbers 0, 1, ... have none.
        grades : mapping of document to grade, or n grades in the order of `docs`
        names : iterable of str, optional
            The k features. Those of a frame are taken by name, in this order; names of which it has none
            rename its columns.

        Raises
        ------
        DataError
            When the parts do not fit together, or `names` has some of a frame's names only.

        Notes
        -----
        The features are copied.

        Examples
        --------
        >>> query = QueryFeatures.of("q1", ["a", "b"], [[2.0, 0.1], [1.0, 0.9]], {"b": 1})
        >>> query
        <QueryFeatures q1: 2 documents, 2 features, 1 judged>
        """
        of = f"query {str(query_id)!r}"
        if frame_names(features) is not None:
            own, names = _own_columns(features, names, of)
        else:
            own = _own(features, of)
        return checked_query(query_id, docs, own, grades, names, from_array=is_array(features))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        query: str = "query_id",
        document: str = "document",
        grade: str = "grade",
        features: Sequence[str] | None = None,
    ) -> tuple[QueryFeatures, ...]:
        """Split a frame with a row for each query and document.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or mapping of column name to values
        query, document, grade : str
            The columns that are no features. A document whose grade is null or NaN is unjudged.
        features : sequence of str, optional
            The feature columns; by default all others.

        Raises
        ------
        DataError
            When a column is missing, an id is null, or a feature is no number.

        Examples
        --------
        >>> columns = {"query_id": [1, 1], "document": ["a", "b"], "grade": [0, 1], "bm25": [2.0, 1.5]}
        >>> QueryFeatures.from_frame(columns)[0].names
        ('bm25',)
        """
        columns = _columns(frame)
        chosen = [name for name in columns if name not in (query, document, grade)]
        named = tuple(chosen if features is None else features)
        for name in (query, document, grade, *named):
            if name not in columns:
                raise DataError(f"the frame has no column {name!r}; it has {', '.join(map(repr, columns))}")
        if not named:
            raise DataError(
                f"the frame has no column of a feature beside {query!r}, {document!r} and {grade!r}"
            )
        numbers = [_numbers(columns[name], f"column {name!r}") for name in named]
        for name, column in zip(named, numbers, strict=True):
            require_exact(column[:, None], [name], "the frame")
        matrix = np.stack(numbers, axis=1)
        graded = _numbers(columns[grade], f"column {grade!r}").tolist()
        documents = _ids(columns[document], "document")
        rows: dict[str, list[int]] = {}
        for row, found in enumerate(_ids(columns[query], "query")):
            rows.setdefault(found, []).append(row)
        queries = []
        for found, some in rows.items():
            grades = {documents[i]: graded[i] for i in some if graded[i] == graded[i]}
            queries.append(checked_query(found, [documents[i] for i in some], matrix[some], grades, named))
        return tuple(queries)

    def __post_init__(self) -> None:
        object.__setattr__(self, "grades", MappingProxyType(dict(self.grades)))

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.query_id, self.documents, self.features, dict(self.grades), self.names)
        return type(self), (*parts, self.from_array)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.features.shape[1])

    def __repr__(self) -> str:
        n_judged = sum(document in self.grades for document in self.documents)
        return (
            f"<QueryFeatures {self.query_id}: {len(self.documents)} documents, "
            f"{self.n_features} features, {n_judged} judged>"
        )


def checked_query(
    query_id: Any,
    docs: Iterable[Any],
    features: Any,
    grades: Mapping[Any, float] | Sequence[float],
    names: Iterable[str] | None,
    *,
    from_array: bool = False,
) -> QueryFeatures:
    """Do what `QueryFeatures.of` does, with features that nobody else holds."""
    query, documents = str(query_id), tuple(str(doc) for doc in docs)
    if not documents:
        raise DataError(f"query {query!r} has no documents; leave it out")
    if len(set(documents)) != len(documents):
        twice = next(doc for i, doc in enumerate(documents) if doc in documents[:i])
        raise DataError(f"query {query!r} has the document {twice!r} twice; ids must be distinct")
    if len(features.shape) != 2 or features.shape[0] != len(documents):
        raise DataError(
            f"the features of query {query!r} have shape {tuple(features.shape)}; "
            f"({len(documents)}, k) is needed, a row a document"
        )
    named = None if names is None else _names(names, int(features.shape[1]), query)
    return QueryFeatures(query, documents, features, _grades(grades, documents, query), named, from_array)


def frame_names(values: Any) -> list[Any] | None:
    """Return the names of the columns of a pandas, polars or pyarrow frame; None for anything else."""
    if is_array(values) or isinstance(values, Mapping) or not hasattr(values, "shape"):
        return None
    names = values.column_names if hasattr(values, "column_names") else getattr(values, "columns", None)
    return None if names is None else list(names)


def _own_columns(frame: Any, names: Iterable[str] | None, of: str) -> tuple[Any, Iterable[str] | None]:
    """Return the columns of a frame as one array, and their names."""
    given = frame_names(frame) or []
    if len(set(map(str, given))) != len(given):
        twice = next(name for i, name in enumerate(given) if name in given[:i])
        raise DataError(f"the features of {of} have two columns named {twice!r}; names must be distinct")
    if not given:
        raise DataError(f"the features of {of} have no column")
    columns = _columns(frame)
    wanted = list(columns)
    if names is not None and not isinstance(names, str):
        names = [str(name) for name in names]
        if set(names) == set(columns):
            wanted = names
        elif not set(names).isdisjoint(columns):
            odd = next(name for name in (*names, *columns) if (name in columns) != (name in names))
            raise DataError(
                f"names and the columns of the features of {of} differ in {odd!r}; give the columns of "
                "these names only"
            )
    numbers = [_numbers(columns[name], f"column {name!r} of {of}") for name in wanted]
    for name, column in zip(wanted, numbers, strict=True):
        require_exact(column[:, None], [name], of)
    if names is None and given != list(range(len(given))):
        names = wanted
    return np.stack(numbers, axis=1), names


def _own(features: Any, of: str) -> Any:
    """Return an array that does not change when the caller's does."""
    if isinstance(features, np.ndarray) or not is_array(features):
        return np.array(_numbers(features, f"the features of {of}"))
    backend = backend_of(features)
    if backend.name == "jax":
        return features
    with backend.current():
        return backend.xp.asarray(features, copy=True, device=backend.device)


def _ids(column: Iterable[Any], what: str) -> list[str]:
    found = []
    for row, value in enumerate(column, 1):
        # NaN, and pandas' own marks, are equal to nothing.
        if value is None or value == "" or not _is_equal(value):
            raise DataError(f"row {row} has no {what} id")
        found.append(str(value))
    return found


def _is_equal(value: Any) -> bool:
    try:
        return bool(value == value)
    except TypeError:
        return False


def _numbers(values: Any, what: str) -> Any:
    found = np.asarray(values)
    if found.dtype.kind in "fiub":
        require_exact_beside_floats(values, found, what)
        return found
    if found.dtype.kind in "mMc":
        raise DataError(f"{what} holds {found.dtype} values; features and grades must be real numbers")
    try:
        # None stands for a missing value in frames.
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} holds values that are no numbers: {error}") from error


def _names(names: Iterable[str], k: int, query: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise DataError(f"the names of query {query!r} must be a sequence of names, got the string {names!r}")
    found = tuple(str(name) for name in names)
    if len(found) != k or len(set(found)) != k:
        raise DataError(f"query {query!r} has {k} features and {len(set(found))} distinct names for them")
    return found


def _grades(
    grades: Mapping[Any, float] | Sequence[float], documents: tuple[str, ...], query: str
) -> Mapping[str, float]:
    if isinstance(grades, Mapping):
        found = {str(document): grade for document, grade in grades.items()}
    elif len(grades) == len(documents):
        found = dict(zip(documents, grades, strict=True))
    else:
        raise DataError(f"query {query!r} has {len(documents)} documents and {len(grades)} grades")
    for document, grade in found.items():
        if not _is_finite(grade):
            shown = repr(grade) if isinstance(grade, str) else grade
            raise DataError(
                f"the grade of document {document!r} in query {query!r} is {shown}; give a number"
            )
    return {document: float(grade) for document, grade in found.items()}


def _is_finite(grade: Any) -> bool:
    try:
        return math.isfinite(grade)
    except (TypeError, OverflowError):
        return False


def _columns(frame: Any) -> Mapping[str, Any]:
    if isinstance(frame, Mapping):
        return frame
    names = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
    if names is None:
        raise DataError(f"a frame or a mapping of columns is needed, got {type(frame).__name__}")
    return {str(name): frame[name].to_numpy() for name in names}

"""What every model looks like to an explanation: named features in, one finite score a row out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, current_backend, is_array, to_host
from ranklens.core import DataError, ModelError
from ranklens.explain.models.foreign import said


class Model(ABC):
    """A scoring model with named features.

    Parameters
    ----------
    names : iterable of str
        The features, in the order of the columns that the model was trained on.
    backend : Backend, optional
        The namespace and device in which the model wants its points. Without one the model takes the arrays
        of any library, and `backend` is the current one (see `ranklens.use_backend`).

    Raises
    ------
    ValueError
        When there is no name, or one occurs twice.
    """

    kind = "the model"
    """What error messages call it."""

    pure = False
    """Whether it cannot but answer a row the same each time."""

    takes_nan = True
    takes_huge = True
    """Whether it takes infinity, and numbers beyond float32."""

    absent = 0.0
    """What its library takes a feature for that a line of a LETOR (SVMlight) file leaves out."""

    first_feature: int | None = None
    """The number of its first column in such files; None where they may count from 0 or from 1."""

    categories: Mapping[str, Sequence[Any]] = MappingProxyType({})
    """The categories, in the order of their codes, that the model was given by frames of pandas, by feature.

    An empty sequence says that they are known to it, and not here.
    """

    ordered = True
    """Whether the order of its columns is known, so that they may be given without names."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"{self.kind}, adapted, cannot be pickled or copied; pickle the model itself, and adapt it where "
            "it is loaded"
        )

    def __init__(self, names: Iterable[str], backend: Backend | None = None) -> None:
        self.names = checked_names(names)
        self._backend = backend

    @property
    def backend(self) -> Backend:
        """The namespace and device in which the model wants its points."""
        return self._backend or current_backend()

    def backend_for(self, values: Any) -> Backend:
        """Return the model's own backend, or else that of `values` where they are an array."""
        from ranklens.arrays import resolve_backend

        return self._backend or resolve_backend(values)

    @property
    def dtype(self) -> Any:
        """The type in which the model wants its points; None keeps the type of the values."""
        return None

    @abstractmethod
    def predict(self, points: Any) -> Any:
        """Return whatever the model answers to `points`, shape (n, k), an array of its backend."""

    def trees(self) -> Any:
        """Return the model's `TreeEnsemble`; None where it has no closed form and must be asked."""
        return None

    def check_rows(self, *rows: NDArray[Any]) -> None:
        """Let the model raise its own error for host rows that it may refuse and its trees would take."""
        for some in rows:
            odd = np.zeros(len(some), dtype=np.bool_)
            if not self.takes_nan:
                odd |= np.isnan(some).any(axis=1)
            if not self.takes_huge:
                odd |= (np.abs(some) > np.finfo(np.float32).max).any(axis=1)
            if odd.any():
                with np.errstate(over="ignore"):
                    self.ask(np.asarray(some[odd], dtype=np.float64))

    def columns_read(self) -> frozenset[int] | None:
        """Return the columns that its trees look at; None where it has no closed form."""
        trees = self.trees()
        return None if trees is None else frozenset(feature.column for feature in trees.coding.features)

    def widened(self, n_features: int) -> Model:
        """Return the model for rows of `n_features`, if it is from a file that names only those it reads."""
        return self

    def exact(self, pairs: Any) -> Any:
        """Explain `pairs` (see `ranklens.explain.games`) in one program of the model's own library.

        Returns
        -------
        array or None
            A row for each pair, and one for each of the `spare_pairs`, shape (rows, 12 + 3): the
            contributions of up to 12 players, both scores, and the largest by size. None where the model has
            no such program, and is asked for scores.
        """
        return None

    def sampled(self, game: Any) -> Any:
        """Explain the pairs of a sampled game in one program of the model's own library.

        Returns
        -------
        array or None
            A row for each pair, and one for each of the `spare_pairs`; see
            `ranklens.explain.models.jax_sampled`. None where the model has no such program.
        """
        return None

    def spare_pairs(self, n: int) -> int:
        """Return how many pairs more than `n` the programs' arrays should hold: copies of the last one."""
        return 0

    def score(self, points: Any) -> Any:
        """Return one finite score a row.

        Parameters
        ----------
        points : array or frame, shape (n, k)
            Rows of the model's features: of an array in the order of `names`; a frame's columns are taken by
            name.

        Returns
        -------
        array, shape (n,)
            In the namespace of `points`; NumPy's for a frame.

        Raises
        ------
        DataError
            When a frame lacks a feature, or has a column that is none.
        ModelError
            When the model raises an exception, or answers with anything but one finite score a row; the
            message says what came back.
        """
        if not is_array(points):
            from ranklens.explain.rows import frame_columns, many_rows

            if frame_columns(points) is not None:
                from ranklens.explain.category_codes import coded

                rows = coded(points, self, "points")
                return self.checked_scores(many_rows(rows, self.names, "points"))
        self.require_order("points")
        return self.checked_scores(points)

    def require_order(self, what: str) -> None:
        """Raise a `DataError` where columns without names could be any of the features."""
        if not self.ordered:
            raise DataError(
                f"{what} has no names, and the file of {self.kind} holds no order of its features "
                f"({', '.join(self.names[:3])}{', …' if len(self.names) > 3 else ''}): read it with "
                "names=[...], all features in the order of the columns, or give the values by name"
            )

    def checked_scores(self, points: Any) -> Any:
        """Return the scores of points in the order of `names`, whether or not that is the data's."""
        scores = self.ask(points)
        self.require_finite(scores, points)
        return scores

    def ask(self, points: Any) -> Any:
        """Return what `score` does, without looking whether the scores are finite."""
        try:
            answer = self.predict(points)
        except Exception as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"{raised(self.kind, error, points)}{self.advice(error)}") from error
        return self.one_score_a_row(answer, points)

    def advice(self, error: Exception) -> str:
        """Return what to do about an exception of the model, to be put behind its message."""
        return ""

    def one_score_a_row(self, answer: Any, points: Any) -> Any:
        """Return `answer` as a vector of the namespace of `points`, or say what it is instead."""
        n = points.shape[0]
        scores = answer if is_array(answer) and type(answer) is type(points) else _host(answer, self.kind)
        shape = tuple(scores.shape)
        if shape not in ((n,), (n, 1)):
            raise ModelError(f"{self.kind} returned {misshapen(shape, n)}; one score a row is needed")
        masked = np.ma.getmaskarray(answer) if isinstance(answer, np.ma.MaskedArray) else np.zeros(0)
        if masked.any():
            raise ModelError(
                f"{self.kind} returned masked scores, {int(masked.sum())} of {n}; one score a row is needed"
            )
        if isinstance(scores, np.ndarray) and scores.dtype.kind not in "fiub":
            raise ModelError(f"{self.kind} returned {scores.dtype} values; scores must be real numbers")
        if not isinstance(points, np.ndarray) and isinstance(scores, np.ndarray):
            scores = self.backend_for(points).asarray(scores)
        if hasattr(scores, "detach"):
            scores = scores.detach()
        return scores if shape == (n,) else scores[:, 0]

    def require_finite(self, scores: Any, points: Any) -> None:
        """Raise a `ModelError` that names the first row whose score is not finite."""
        (host,) = to_host(scores)
        bad = np.flatnonzero(~np.isfinite(host))
        if bad.size:
            (row,) = to_host(points[int(bad[0]) : int(bad[0]) + 1, :])
            raise not_finite(self, bad.size, host.shape[0], host[bad[0]], row[0])


def raised(kind: str, error: Exception, points: Any) -> ModelError:
    """Return the error for an exception inside the model."""
    n, k = points.shape
    return ModelError(f"{kind} raised {type(error).__name__} on {n} rows of {k} features: {said(error)}")


def not_finite(model: Model, n_bad: int, n: int, score: Any, row: Any) -> ModelError:
    """Return the error for scores that are not finite, with the first row that was given one."""
    shown = ", ".join(f"{name}={value}" for name, value in zip(model.names, row[:6].tolist(), strict=False))
    more = ", …" if len(row) > 6 else ""
    return ModelError(
        f"{model.kind} returned scores that are not finite, {n_bad} of {n}: {score} for the row {shown}{more}"
    )


def checked_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names as a tuple of distinct strings."""
    if isinstance(names, str):
        raise ValueError(f"names must be a sequence of feature names, got the string {names!r}")
    found = tuple(str(name) for name in names)
    if not found:
        raise ValueError("names is empty; give the name of each feature, in the order of the columns")
    if len(set(found)) != len(found):
        twice = next(name for i, name in enumerate(found) if name in found[:i])
        raise ValueError(f"names holds {twice!r} twice; features must have distinct names")
    return found


def names_for(known: Sequence[str], given: Iterable[str] | None, kind: str) -> tuple[str, ...]:
    """Return the model's own names, or those given; a `ModelError` when they are its own in another order."""
    own = tuple(map(str, known))
    if given is None:
        return own
    names = checked_names(given)
    if names != own and set(names) == set(own):
        at = next(i for i, name in enumerate(own) if names[i] != name)
        raise ModelError(
            f"names holds {kind}'s own features in another order: its column {at} is {own[at]!r} and not "
            f"{names[at]!r}; leave names out, and give data their own names"
        )
    return names


def _host(answer: Any, kind: str) -> Any:
    if answer is None or isinstance(answer, (str, bytes)):
        raise ModelError(f"{kind} returned {answer!r}; one score a row is needed")
    if isinstance(answer, Mapping):
        keys = ", ".join(map(repr, list(answer)[:3]))
        raise ModelError(f"{kind} returned a {type(answer).__name__} of {keys}; one score a row is needed")
    if is_array(answer):
        return to_host(answer)[0]
    try:
        return np.asarray(answer)
    except Exception as error:
        raise ModelError(f"{kind} returned a {type(answer).__name__}, which is no array of scores") from error


def misshapen(shape: tuple[int, ...], n: int) -> str:
    text = f"an array of shape {shape} for {n} rows"
    if len(shape) == 2 and shape[0] == n:
        return f"{text}, {shape[1]} columns as if one a class"
    return text

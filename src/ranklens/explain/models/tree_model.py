"""What adapters of tree ensembles share: the trees, checked against the model itself."""

from __future__ import annotations

import functools
import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import open_backend
from ranklens.core import ModelError
from ranklens.explain.models.base import Model
from ranklens.explain.trees import TreeEnsemble, UnsupportedTreesError

_PROBES = 32
_logger = logging.getLogger("ranklens")


class TreeModel(Model):
    """A model that may be a sum of trees; it wants its points as NumPy arrays.

    A subclass says how to read the trees. They are read once, and trusted once they give the model's own
    scores on rows at and around their thresholds. Otherwise the model is asked for every score, and
    `without_trees` says why.
    """

    tolerance = 1e-12
    """How far the sum of the trees may be from the model's score, relative to the largest possible sum."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names, open_backend("numpy"))

    @abstractmethod
    def read_trees(self) -> TreeEnsemble:
        """Read the trees, or raise UnsupportedTreesError."""

    def trees(self) -> TreeEnsemble | None:
        """Return the trees; None where they have no closed form, for which `without_trees` is the reason."""
        return self._checked[0]

    @property
    def without_trees(self) -> str | None:
        """Why there is no closed form; None where there is one."""
        return self._checked[1]

    @functools.cached_property
    def _checked(self) -> tuple[TreeEnsemble | None, str | None]:
        try:
            ensemble = self.read_trees()
            self._check(ensemble)
            ensemble.paths  # noqa: B018
        except UnsupportedTreesError as error:
            _logger.info("%s has no closed form and is asked for every score: %s", self.kind, error.why)
            return None, error.why
        return ensemble, None

    def _check(self, ensemble: TreeEnsemble) -> None:
        rows = probe_rows(ensemble, len(self.names), nan=self.takes_nan)
        scores, sums = np.asarray(self.checked_scores(rows), dtype=np.float64), ensemble.scores(rows)
        off = np.abs(scores - sums)
        if not (off <= self.tolerance * max(1.0, ensemble.largest_sum())).all():
            worst = int(off.argmax())
            raise UnsupportedTreesError(
                f"its trees add up to {float(sums[worst])!r} for a row that the model scores "
                f"{float(scores[worst])!r}"
            )


class EnsembleModel(TreeModel):
    """Trees from a file, which score by themselves.

    Parameters
    ----------
    ensemble : TreeEnsemble
    names : iterable of str
        The features, in the order of the columns.
    categories : mapping of int to sequence, optional
        By column, see `Model.categories`.

    Raises
    ------
    ModelError
        When there are more or fewer names than features.

    Examples
    --------
    >>> from ranklens.explain.trees import Tree
    >>> columns = [0, -1, -1], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [0, 2.0, 7.0], [True, True, True]
    >>> stump = Tree(*map(np.asarray, columns))
    >>> EnsembleModel(TreeEnsemble.of([stump], 1), ["bm25"]).score(np.asarray([[0.5], [0.6]]))
    array([2., 7.])
    """

    kind = "the tree ensemble"

    def __init__(
        self,
        ensemble: TreeEnsemble,
        names: Iterable[str],
        categories: Mapping[int, Sequence[Any]] = MappingProxyType({}),
    ) -> None:
        super().__init__(names)
        if len(self.names) != ensemble.n_features:
            raise ModelError(
                f"{self.kind} has {ensemble.n_features} features, and names holds {len(self.names)}"
            )
        self.ensemble = ensemble
        self.categories = {self.names[column]: some for column, some in categories.items()}

    def read_trees(self) -> TreeEnsemble:
        return self.ensemble

    def predict(self, points: Any) -> Any:
        return self.ensemble.scores(points)


def probe_rows(
    ensemble: TreeEnsemble, n_columns: int, *, nan: bool = True, n: int = _PROBES
) -> NDArray[np.float64]:
    """Return rows at, just above and between the thresholds of trees, zeros, categories, missing values."""
    rng = np.random.default_rng(0)
    rows = np.zeros((n, n_columns))
    for feature in ensemble.coding.features:
        marks = feature.thresholds.astype(np.float32) if ensemble.single else feature.thresholds
        with np.errstate(over="ignore"):
            above = np.nextafter(marks, marks.dtype.type(np.inf))
        between = marks[1:] / 2 + marks[:-1] / 2
        listed = feature.categories
        # What lies between two categories, or below all of them, the libraries read in their own ways.
        beside = [] if not listed.size else [listed + 1, listed + 0.5, listed - 0.5, [-1.0]]
        some = np.concatenate([marks, above, between, listed, *beside, [0.0, ensemble.missing]])
        some = np.append(some[np.isfinite(some)], [np.nan] * nan)
        rows[:, feature.column] = rng.choice(some, n)
    return rows

"""What explanations of a model's scores found."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core import frames
from ranklens.core.errors import MissingDependencyError, UnknownNameError
from ranklens.core.presentation import Presentable, html_table

LONGEST = 15
"""Digits of a number that are shown before it is shown with an exponent."""

SCIENTIFIC = -1
"""In the place of a number of decimals: four digits and an exponent."""

SHOWN = 20
"""Contributions that a printed explanation shows."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class PairwiseExplanation(Presentable):
    """How much each feature moved the score on the way from document A to document B.

    Attributes
    ----------
    score_a, score_b, delta : float
        The model's scores, and ``score_b - score_a``.
    contributions : mapping from name to float
        The Shapley values, in the order of the features; they sum to `delta`. A group is one name.
    exact : bool
        Whether all coalitions were counted.
    standard_errors : mapping from name to float, or None
        Of sampled contributions, where there were at least two samples.
    n_model_rows : int
        How many rows the model was asked for. Among them are A and B once more where the budget has room,
        to find out a model that does not answer a row the same each time; of many pairs, those of one.
    method : str
        "exact", "tree", "antithetic", "orders" or "regression".
    values_a, values_b : mapping from name to float
        The features of A and of B.
    seed : int or None
        What reproduces a sample.
    degrees_of_freedom : int or None
        Of Student's t, for intervals around sampled contributions.
    """

    score_a: float
    score_b: float
    delta: float
    contributions: Mapping[str, float]
    exact: bool
    standard_errors: Mapping[str, float] | None
    n_model_rows: int
    method: str
    values_a: Mapping[str, float]
    values_b: Mapping[str, float]
    seed: int | None = None
    degrees_of_freedom: int | None = None

    def __post_init__(self) -> None:
        for name in ("contributions", "standard_errors", "values_a", "values_b"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, MappingProxyType(dict(value)))

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled.
        values = (getattr(self, name) for name in self.__slots__)
        return PairwiseExplanation, tuple(dict(v) if isinstance(v, Mapping) else v for v in values)

    def ranked(self) -> tuple[tuple[str, float], ...]:
        """Return (name, contribution) by absolute size, largest first, ties by name."""
        return ranked(self.contributions)

    def interval(self, name: str, confidence: float = 0.95) -> tuple[float, float]:
        """Return the Student t interval of a sampled contribution; an exact one is a point.

        Raises
        ------
        UnknownNameError
            When there is no such feature or group.
        ValueError
            When the contributions are sampled and have no standard errors.
        MissingDependencyError
            When scipy, which has Student's t, is not installed.
        """
        if name not in self.contributions:
            raise UnknownNameError("feature", name, self.contributions)
        center = self.contributions[name]
        if self.exact:
            return center, center
        if self.standard_errors is None or self.degrees_of_freedom is None:
            raise ValueError("too few samples for standard errors; raise max_rows")
        reach = _t_quantile(self.degrees_of_freedom, confidence) * self.standard_errors[name]
        return center - reach, center + reach

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with a row a feature or group, largest first (see `ranklens.core.frames`)."""
        return frames.to_frame(_columns(self), library)

    def to_shap(self) -> Any:
        """Return a `shap.Explanation` with A's score as the base value and B's features as the data."""
        names = list(self.contributions)
        data = [self.values_b.get(name, math.nan) for name in names]
        return _shap().Explanation(
            values=np.asarray(list(self.contributions.values())),
            base_values=self.score_a,
            data=np.asarray(data),
            feature_names=names,
        )

    def plot(self, axes: Any = None, *, n: int = SHOWN) -> Any:
        """Draw the way from A's score to B's, the `n` largest steps, and return the axes (of matplotlib)."""
        from ranklens.core.pictures import waterfall

        return waterfall(self, axes, n=n)

    def __str__(self) -> str:
        digits = decimals(self.contributions.values())
        lines = [_headline(self, digits)]
        for name, value in self.ranked()[:SHOWN]:
            error = (
                "" if self.standard_errors is None else f" ± {unsigned(self.standard_errors[name], digits)}"
            )
            lines.append(f"{name} {signed(value, digits)}{error}")
        if len(self.contributions) > SHOWN:
            lines.append(f"and {len(self.contributions) - SHOWN} smaller ones")
        return "\n".join(lines)

    def __repr__(self) -> str:
        top = ", ".join(f"{name} {value:+.4g}" for name, value in self.ranked()[:3])
        more = ", …" if len(self.contributions) > 3 else ""
        return f"<PairwiseExplanation: delta {self.delta:+.4g} ({top}{more})>"

    def _repr_html_(self) -> str:
        columns = _columns(self)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return html_table(rows[:SHOWN])


class PairwiseExplanations(Sequence[PairwiseExplanation]):
    """Explanations of many pairs as arrays; each is made a `PairwiseExplanation` when it is asked for.

    Attributes
    ----------
    names : tuple of str
        The players: the features, or groups and the features outside them, shape (n,).
    feature_names : tuple of str
        The k features.
    contributions : float64 array, shape (pairs, n)
    values_a, values_b : arrays, shape (pairs, k)
    standard_errors : float64 array, shape (pairs, n)
        NaN where a pair was explained exactly or with fewer than two samples.
    n_model_rows, degrees_of_freedom : int64 arrays, shape (pairs,)
    methods : sequence of str
    seed : int
    """

    def __init__(
        self,
        *,
        names: Sequence[str],
        feature_names: Sequence[str],
        contributions: Floats,
        scores: tuple[Floats, Floats] | Callable[[], tuple[Floats, Floats]],
        values_a: Floats,
        values_b: Floats,
        standard_errors: Floats | None,
        n_model_rows: NDArray[np.int64],
        degrees_of_freedom: NDArray[np.int64] | None,
        methods: Sequence[str],
        seed: int,
    ) -> None:
        self.names = tuple(names)
        self.feature_names = tuple(feature_names)
        self.contributions = contributions
        self._scores = scores
        self.values_a = values_a
        self.values_b = values_b
        self.standard_errors = standard_errors
        self.n_model_rows = n_model_rows
        self.degrees_of_freedom = degrees_of_freedom
        self.methods = methods
        self.seed = seed

    @property
    def scores(self) -> tuple[Floats, Floats]:
        """The scores of A and of B, each of shape (pairs,)."""
        # A tree ensemble is explained without its scores, which would take as long again.
        if callable(self._scores):
            self._scores = self._scores()
        return self._scores

    @property
    def score_a(self) -> Floats:
        """The scores of A, shape (pairs,)."""
        return self.scores[0]

    @property
    def score_b(self) -> Floats:
        """The scores of B, shape (pairs,)."""
        return self.scores[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scores": self.scores}

    @property
    def delta(self) -> Floats:
        """The scores of B minus those of A, shape (pairs,)."""
        return self.score_b - self.score_a

    def __len__(self) -> int:
        return len(self.contributions)

    def __iter__(self) -> Iterator[PairwiseExplanation]:
        return (self._one(i) for i in range(len(self)))

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            return [self._one(i) for i in range(len(self))[item]]
        return self._one(range(len(self))[item])

    def _one(self, i: int) -> PairwiseExplanation:
        method = self.methods[i]
        exact = method in ("exact", "tree")
        freedom = 0 if exact or self.degrees_of_freedom is None else int(self.degrees_of_freedom[i])
        score_a, score_b = float(self.score_a[i]), float(self.score_b[i])
        return PairwiseExplanation(
            score_a,
            score_b,
            score_b - score_a,
            self._named(self.names, self.contributions[i]),
            exact,
            self._named(self.names, self.standard_errors[i])
            if freedom and self.standard_errors is not None
            else None,
            int(self.n_model_rows[i]),
            method,
            self._named(self.feature_names, self.values_a[i]),
            self._named(self.feature_names, self.values_b[i]),
            None if exact else self.seed,
            freedom or None,
        )

    @staticmethod
    def _named(names: Sequence[str], values: Any) -> dict[str, float]:
        return dict(zip(names, values.tolist(), strict=True))

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with a row for each pair and name."""
        n_pairs, n = self.contributions.shape
        columns = {
            "pair": np.repeat(np.arange(n_pairs), n).tolist(),
            "name": list(self.names) * n_pairs,
            "contribution": self.contributions.ravel().tolist(),
        }
        return frames.to_frame(columns, library)

    def to_shap(self) -> Any:
        """Return a `shap.Explanation` of all pairs, with A's scores as the base values."""
        by_name = {name: self.values_b[:, i] for i, name in enumerate(self.feature_names)}
        unknown = np.full(len(self), math.nan)
        return _shap().Explanation(
            values=self.contributions,
            base_values=self.score_a,
            data=np.stack([by_name.get(name, unknown) for name in self.names], axis=1),
            feature_names=list(self.names),
        )

    def __repr__(self) -> str:
        return f"<PairwiseExplanations: {len(self)} pairs, {len(self.names)} names>"


def ranked(values: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Return (name, value) by absolute size, largest first, ties by name.

    Values that differ by rounding alone, 1e-12 of the largest, are ties.

    Examples
    --------
    >>> ranked({"b": 1.0, "a": -1.0, "c": 2.0})
    (('c', 2.0), ('a', -1.0), ('b', 1.0))
    """
    largest = max((abs(value) for value in values.values()), default=0.0)
    step = 1e-12 * largest or 1.0
    return tuple(sorted(values.items(), key=lambda item: (-round(abs(item[1]) / step), item[0])))


def decimals(values: Any) -> int:
    """Return how many decimals show the largest value with four digits, at least three decimals.

    It is `SCIENTIFIC` where the numbers would be longer than `LONGEST` digits.
    """
    largest = max((abs(value) for value in values), default=0.0)
    if largest == 0.0 or not math.isfinite(largest):
        return 3
    digits = 3 - math.floor(math.log10(largest))
    return max(3, digits) if -LONGEST <= digits <= LONGEST else SCIENTIFIC


def unsigned(value: float, digits: int) -> str:
    """Format a number with `digits` decimals, or with an exponent (see `decimals`).

    Examples
    --------
    >>> unsigned(1.2251, 3), unsigned(2e-20, SCIENTIFIC)
    ('1.225', '2.000e-20')
    """
    return f"{value:.3e}" if digits == SCIENTIFIC else f"{value:.{digits}f}"


def signed(value: float, digits: int) -> str:
    """Format a number with its sign; a rounded zero is positive.

    Examples
    --------
    >>> signed(1.2251, 3), signed(-0.0001, 3)
    ('+1.225', '+0.000')
    """
    text = unsigned(value, digits)
    text = text if text.startswith("-") else f"+{text}"
    return f"+{text[1:]}" if float(text) == 0.0 else text


def _headline(found: PairwiseExplanation, digits: int) -> str:
    rows = f"{found.n_model_rows} model row{'' if found.n_model_rows == 1 else 's'}"
    return (
        f"score {unsigned(found.score_a, digits)} → {unsigned(found.score_b, digits)}, "
        f"delta {signed(found.delta, digits)} ({found.method}, {rows})"
    )


def _columns(found: PairwiseExplanation) -> dict[str, list[Any]]:
    order = [name for name, _ in found.ranked()]
    columns: dict[str, list[Any]] = {
        "name": order,
        "value_a": [found.values_a.get(name) for name in order],
        "value_b": [found.values_b.get(name) for name in order],
        "contribution": [found.contributions[name] for name in order],
    }
    if found.standard_errors is not None:
        columns["standard_error"] = [found.standard_errors[name] for name in order]
    return columns


def _shap() -> Any:
    try:
        return importlib.import_module("shap")
    except ImportError as error:
        raise MissingDependencyError("shap", "to_shap()", "pip install 'ranklens[shap]'") from error


def _t_quantile(freedom: int, confidence: float) -> float:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    try:
        special = importlib.import_module("scipy.special")
    except ImportError as error:
        raise MissingDependencyError(
            "scipy", "a Student t interval", "pip install 'ranklens[stats]'"
        ) from error
    return float(special.stdtrit(freedom, 0.5 + confidence / 2))

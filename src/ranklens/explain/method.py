"""Which method explains a pair of k differing players within a budget of model rows."""

from __future__ import annotations

from dataclasses import dataclass

from ranklens.core import UnknownNameError
from ranklens.explain.leverage import n_coalition_pairs

METHODS = ("auto", "exact", "tree", "antithetic", "orders", "regression")

DEFAULT_ROWS = 4096
"""Default budget of a pair; up to as many coalitions are always counted in full."""

MOST_PLAYERS = 24
"""Beyond it 2^k scores do not fit a sensible memory."""

REGRESSION_FROM = 6
"""Rows a player, all included, from which a budget alone chooses regression."""

FEWEST_TO_FIT = 4
"""Rows a player, all included, that regression takes at least: two equations for each unknown."""

FIXED_ROWS = 3
"""A, B, and A once more: a model that answers differently then is not a function of the row."""


ENDS = 2
"""A and B, once more: the same check where all coalitions are counted, and the budget has room."""


@dataclass(frozen=True)
class Choice:
    """A method, and how much of it: `n` counts orders, or pairs of coalitions; 0 where all are counted."""

    method: str
    n: int = 0

    def n_rows(self, k: int) -> int:
        """Return how many rows the model is asked for a pair with k differing players."""
        if self.method == "exact":
            return int(2**k)
        return FIXED_ROWS + (2 * self.n if self.method == "regression" else self.n * (k - 1))


@dataclass(frozen=True)
class Budget:
    """What the caller asked for, checked."""

    method: str = "auto"
    max_rows: int = DEFAULT_ROWS
    n_permutations: int | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError("method", str(self.method), METHODS)
        check_positive("max_rows", self.max_rows)
        if self.n_permutations is not None:
            check_positive("n_permutations", self.n_permutations)
        if self.n_permutations is not None and self.method not in ("auto", "antithetic", "orders"):
            raise ValueError(
                f"n_permutations counts orders, which method={self.method!r} does not draw; leave it out"
            )

    def has_room_for_ends(self, n_coalitions: int) -> bool:
        """Whether `n_coalitions` rows, which count all, leave room in the budget for A and B once more."""
        return 1 < n_coalitions <= max(DEFAULT_ROWS, self.max_rows) - ENDS

    def choose(self, k: int) -> Choice:
        """Return the method for a pair with k differing players.

        Raises
        ------
        ValueError
            When the budget is too small for the method.
        """
        method = self.method if k > 1 else "exact"
        if method == "exact" or (method == "auto" and 2**k <= max(DEFAULT_ROWS, self.max_rows)):
            return self._exact(k)
        if method == "auto":
            enough = self.n_permutations is None and self.max_rows >= REGRESSION_FROM * k
            method = "regression" if enough else "antithetic"
        return self._regression(k) if method == "regression" else self._orders(method, k)

    def _exact(self, k: int) -> Choice:
        if (k > 1 and 2**k > max(DEFAULT_ROWS, self.max_rows)) or k > MOST_PLAYERS:
            rows = f"2^{k} = {2**k}" if k < 64 else f"2^{k}"
            raise ValueError(
                f"{k} features differ, so that method='exact' takes {rows} model rows, and "
                f"max_rows is {self.max_rows}; raise it (to 2^{MOST_PLAYERS} at most), or sample"
            )
        return Choice("exact")

    def _orders(self, method: str, k: int) -> Choice:
        together = 2 if method == "antithetic" else 1
        if self.n_permutations is not None:
            return Choice(method, -(-self.n_permutations // together) * together)
        n = (self.max_rows - FIXED_ROWS) // (together * (k - 1)) * together
        if n < 1:
            raise self._too_few(method, k, FIXED_ROWS + together * (k - 1))
        return Choice(method, n)

    def _regression(self, k: int) -> Choice:
        n = min((self.max_rows - FIXED_ROWS) // 2, n_coalition_pairs(k))
        least = min((FEWEST_TO_FIT * k - FIXED_ROWS) // 2, n_coalition_pairs(k))
        if n < least:
            raise self._too_few("regression", k, FIXED_ROWS + 2 * least)
        return Choice("regression", n)

    def _too_few(self, method: str, k: int, needed: int) -> ValueError:
        return ValueError(
            f"max_rows={self.max_rows} is too few for method={method!r}: {k} features differ, which takes "
            f"at least {needed} model rows; raise max_rows, or let features change together with groups="
        )


def check_positive(name: str, value: object) -> None:
    """Raise ValueError unless `value` is an integer of at least 1."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")

"""Many comparisons of plain arrays, as columns."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core import frames
from ranklens.core.presentation import counted, fixed, html_table, p_text, plain

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
_SHOWN = 10
_OF_ALL = ("seed", "q_permutations")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DeltaTable:
    """The comparisons of a batch, a place in each column for each; all columns are NumPy arrays on the host.

    NaN stands for what a comparison with too few queries does not have (its p-value, interval and effect),
    and for an effect without spread.

    Attributes
    ----------
    delta : numpy.ndarray of float64, shape (n_comparisons,)
        The mean differences.
    ci_low, ci_high : numpy.ndarray of float64
        Their intervals; one end is infinite with a one-sided alternative.
    p_value, q_value : numpy.ndarray of float64
        Sign-flip p-values, and what the correction makes of them (NaN without one).
    n_queries : numpy.ndarray of int64
        How many queries were measured.
    effect : numpy.ndarray of float64
        The mean over the standard deviation (ddof 1).
    wins, ties, losses : numpy.ndarray of int64
        Queries with a difference above, at and below zero.
    method : numpy.ndarray of str
        ``"monte-carlo"``, or the name of the exact step.
    p_error : numpy.ndarray of float64
        The standard error of a Monte-Carlo p-value, the error bound of an exact one.
    seed : int
        What reproduces the random decisions.
    n_units : numpy.ndarray of int64, or None
        The units that were flipped and resampled: clusters, or queries of positive weight; None where no
        weights and no clusters were given.
    p_t, p_wilcoxon : numpy.ndarray of float64, or None
        The paired t-test's and Wilcoxon's signed-rank p-values, where asked for; never corrected. NaN where
        they are not defined.
    relative_delta : numpy.ndarray of float64, or None
        The differences as shares of the size of A's means, where these were given; NaN where one is zero.
    q_permutations : int or None
        Of step-down max-T: the sign flips (drawn from `seed`) that the q-values were sampled from, whatever
        the p-values were made of; 0 where all were listed. None for other corrections.

    Examples
    --------
    >>> import numpy as np
    >>> import ranklens as rl
    >>> table = rl.compare_deltas(np.arange(-4.0, 20.0)[None, :] / 100, method="exact")
    >>> len(table), table.delta.tolist(), table.wins.tolist()
    (1, [0.075], [19])
    """

    delta: Floats
    ci_low: Floats
    ci_high: Floats
    p_value: Floats
    q_value: Floats
    n_queries: Counts
    effect: Floats
    wins: Counts
    ties: Counts
    losses: Counts
    method: NDArray[np.str_]
    p_error: Floats
    seed: int
    n_units: Counts | None = None
    p_t: Floats | None = None
    p_wilcoxon: Floats | None = None
    relative_delta: Floats | None = None
    q_permutations: int | None = None

    def __len__(self) -> int:
        return len(self.delta)

    def __getitem__(self, rows: Any) -> DeltaTable:
        """Return some of the comparisons, by a slice, an array of booleans or an array of places."""
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "biu"):
                raise TypeError(
                    "a DeltaTable is indexed by a slice, booleans or places: table[table.q_value < 0.05]; "
                    "a single number stands in a column: table.p_value[0]"
                )
            rows = rows if rows.size else rows.astype(np.int64)
        return replace(self, **{name: column[rows] for name, column in self._columns().items()})

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python lists by column, fit for JSON (None for NaN and infinity), and the seed."""
        return {name: plain(column.tolist()) for name, column in self._columns().items()} | {
            "seed": self.seed,
            "q_permutations": self.q_permutations,
        }

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with a row for each comparison (see `core.frames`)."""
        return frames.to_frame({name: column.tolist() for name, column in self._columns().items()}, library)

    def __str__(self) -> str:
        """Print the first comparisons, a line each."""
        lines = [self._line(i) for i in range(min(len(self), _SHOWN))]
        more = [f"... and {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return "\n".join([repr(self)[1:-1] + self._q_made(), *lines, *more])

    def __repr__(self) -> str:
        return f"<DeltaTable: {counted(len(self), 'comparison')}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        rows = [
            {name: plain(column[i].item()) for name, column in self._columns().items()}
            for i in range(min(len(self), _SHOWN))
        ]
        return f"{html_table(rows)}<p>{counted(len(self), 'comparison')}, seed {self.seed}</p>"

    def _q_made(self) -> str:
        if self.q_permutations is None:
            return ""
        flips = counted(self.q_permutations, "random sign flip") if self.q_permutations else "all sign flips"
        return f"; q: step-down max-T over {flips}"

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in _OF_ALL}
        return {name: column for name, column in columns.items() if column is not None}

    def _line(self, i: int) -> str:
        delta, low, high, p, q = (
            plain(float(column[i]))
            for column in (self.delta, self.ci_low, self.ci_high, self.p_value, self.q_value)
        )
        queries = counted(int(self.n_queries[i]), "query", "queries")
        return (
            f"{i}: delta {fixed(delta, sign=True)} [{fixed(low, sign=True)}, {fixed(high, sign=True)}], "
            f"p {p_text(p)}, q {p_text(q)} ({queries}, {self.method[i]})"
        )

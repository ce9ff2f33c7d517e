"""Thousands of comparisons of values that are arrays already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, Seed, backend_of, is_array, resolve_backend, to_host
from ranklens.core.delta_table import DeltaTable
from ranklens.stats.corrections import CORRECTIONS, warn_of_coarse_p_values, warn_of_few_max_t_flips
from ranklens.stats.masked import without_masks
from ranklens.stats.maxt import MAX_T, flips_of
from ranklens.stats.options import Options, check_choice, is_plain, warn_of_coarse_ends
from ranklens.stats.power import MIN_QUERIES
from ranklens.stats.q_values import Q_VALUES
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.design_deltas import DesignedColumns, designed_batch, designed_columns
from ranklens.stats.rows.design_maxt import max_t_job
from ranklens.stats.rows.design_statistics import DesignedBatch
from ranklens.stats.rows.jobs import Job, together
from ranklens.stats.rows.methods import statistics_job
from ranklens.stats.rows.statistics import RowStatistics, enough
from ranklens.stats.weighing import weighing_batch


def compare_deltas(
    deltas: Any,
    *,
    mask: Any = None,
    method: str = "auto",
    correction: str | None = "bh",
    family: Sequence[Any] | None = None,
    interval: str = "percentile",
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    n_permutations: int = 10_000,
    alpha: float = 0.05,
    seed: Seed = 0,
    min_queries: int = MIN_QUERIES,
    weights: Any = None,
    clusters: Any = None,
    margin: float | None = None,
    beside: Sequence[str] | str = (),
    mean_a: Any = None,
) -> DeltaTable:
    """Compare many pairs of runs at once, given their differences by query.

    Every row has the numbers that `permutation_test` and `paired_bootstrap` give for it with the same seed:
    all rows share one stream of signs and one of resamples, which are multiplied with all rows at once. Where
    queries are missing, the signs stay those of the whole row, zeros standing for what was not measured, and
    the resamples are drawn among the measured queries, so that rows with one mask share them. Exact rows are
    those of the single exact calls.

    Parameters
    ----------
    deltas : array, shape (comparisons, queries)
        Differences B minus A; a numpy, cupy, jax or torch array is worked on where it lies, and one transfer
        brings the results back (with exact methods at most two; a mask on the device is one more). What a
        `numpy.ma` array masks is not measured.
    mask : array of bool, shape (comparisons, queries) or (queries,), optional
        True where a query is measured; anything may stand elsewhere. All are measured by default.
    method : {"auto", "exact", "monte-carlo"}
        Exact wherever that costs no more than sampling, everywhere, or nowhere.
    correction : {"bh", "by", "holm", "maxt", None}
        How the q-values are made. ``"maxt"`` is the step-down of Westfall and Young on the shared signs,
        which knows how the comparisons are correlated; its q-values are sampled from `n_permutations` sign
        flips, also where the p-values are exact (up to 16 queries all flips are listed instead).
    family : sequence of labels, shape (comparisons,), optional
        Rows of one label (a text, a number, a tuple) are corrected together; all of them by default.
    interval, alternative, n_resamples, n_permutations, alpha
        As for `compare`.
    seed : int, SeedSequence, Generator or None
        Where the random decisions come from; the table records an int that reproduces it.
    min_queries : int
        Rows with fewer measured queries (or clusters) get NaN for what a test would give, and take no part in
        the correction.
    weights : array of float, shape (queries,), optional
        What each query counts for, say its traffic, see `compare`. Queries of weight 0 take no part,
        and are not counted.
    clusters : sequence of names, shape (queries,), optional
        Queries of one name are flipped and resampled together.
    margin : float, optional
        Positive: test for non-inferiority, non-superiority or equivalence within it, see `compare`.
    beside : {"t", "wilcoxon"} or a sequence of them, optional
        Classical tests of the same hypothesis to report beside, see `compare`.
    mean_a : array of float, shape (comparisons,), optional
        The means of A, for the differences as shares of their size.

    Returns
    -------
    DeltaTable

    Raises
    ------
    ValueError
        For another shape, for measured values that are not finite, and as for `compare`.

    Examples
    --------
    >>> import numpy as np
    >>> import ranklens as rl
    >>> deltas = np.array([[0.1, 0.3, 0.2, -0.1, 0.4] * 5, [0.1, -0.1, 0.0, 0.2, -0.2] * 5])
    >>> table = rl.compare_deltas(deltas, method="exact", correction="holm")
    >>> [round(q, 6) for q in table.q_value.tolist()]
    [0.000237, 1.0]
    """
    if correction is not None:
        check_choice("correction", correction, (*CORRECTIONS, MAX_T), or_none=True)
    options = Options.of(locals())
    deltas, mask = without_masks(deltas, mask)
    backend = resolve_backend(deltas)
    with backend.precise():
        batch = Batch.of(deltas, mask, backend)
        families = _families(family, batch.shape[0])
        has_units = not options.design.is_simple
        batch, options = weighing_batch(batch, options)
        designed = designed_batch(batch, options)
        asked: list[Job[Any]] = [_columns(designed, options), _host_means(mean_a, backend)]
        if correction == MAX_T:
            asked += _max_t_jobs(designed, families, options)
        columns, means, *adjusted = together(asked)
        found = columns.found
        drawn = int(found.n_resamples.max(initial=0))
        warn_of_coarse_ends(drawn, options.alpha, options.alternative)
        q_values = _q_values(designed, found, families, correction, adjusted, options)
    return DeltaTable(
        found.delta,
        found.ci_low,
        found.ci_high,
        found.p_value,
        q_values,
        found.n_queries,
        found.effect,
        found.wins,
        found.ties,
        found.losses,
        found.method.astype(np.str_),
        found.p_error,
        options.seed,
        found.n_queries if has_units and columns.n_units is None else columns.n_units,
        columns.p_t,
        columns.p_wilcoxon,
        None if means is None else _shares(found.delta, means),
        _max_t_flips(designed, options) if correction == MAX_T else None,
    )


def _host_means(mean_a: Any, backend: Backend) -> Job[NDArray[np.float64] | None]:
    """Bring the means of A to the host, with all else if they lie where the differences do."""
    if is_array(mean_a) and backend_of(mean_a) == backend:
        (mean_a,) = yield (mean_a,)
    else:
        yield ()
        mean_a = to_host(mean_a)[0] if is_array(mean_a) else mean_a
    return None if mean_a is None else np.asarray(mean_a, dtype=np.float64)


def _shares(delta: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the differences as shares of the size of A's means; NaN where such a mean is zero."""
    if means.shape != delta.shape:
        raise ValueError(f"mean_a must have shape {delta.shape}, a mean for each row, got {means.shape}")
    shares = np.full(delta.shape, np.nan)
    np.divide(delta, np.abs(means), out=shares, where=means != 0.0)
    return shares


class _Tested(NamedTuple):
    p_value: float
    n_permutations: int
    alpha: float


def _families(family: Sequence[Any] | None, n_rows: int) -> list[NDArray[np.int64]]:
    """Return the rows of each family."""
    if family is None:
        return [np.arange(n_rows)]
    if isinstance(family, (str, bytes)) or not isinstance(family, Iterable):
        raise ValueError(
            f"family must be a sequence with a label for each of the {n_rows} comparisons, got {family!r}; "
            "leave it out to correct all of them together"
        )
    labels = family.tolist() if isinstance(family, np.ndarray) else list(family)
    if len(labels) != n_rows:
        raise ValueError(f"family must have a label for each of the {n_rows} comparisons, got {len(labels)}")
    members: dict[Any, list[int]] = {}
    for row, label in enumerate(labels):
        try:
            members.setdefault(label, []).append(row)
        except TypeError:
            raise ValueError(
                f"family has {label!r} as the label of comparison {row}; a label is a text, a number or a "
                "tuple of them"
            ) from None
    return [np.array(rows) for rows in members.values()]


def _q_values(
    designed: DesignedBatch,
    found: RowStatistics,
    families: list[NDArray[np.int64]],
    correction: str | None,
    adjusted: Sequence[NDArray[np.float64]],
    options: Options,
) -> NDArray[np.float64]:
    q = np.full(len(found.p_value), np.nan)
    if correction is None:
        return q
    tested = _tested_rows(designed, families, options)
    if correction == MAX_T:
        warn_of_few_max_t_flips(_max_t_flips(designed, options), options.alpha)
        for rows, own in zip(tested, adjusted, strict=True):
            q[rows] = np.maximum(found.p_value[rows], own)
        return q
    warn_of_coarse_p_values(([_tested(found, row, options) for row in rows] for rows in tested), correction)
    for rows in tested:
        q[rows] = Q_VALUES[correction](found.p_value[rows].tolist())
    return q


def _columns(designed: DesignedBatch, options: Options) -> Job[DesignedColumns]:
    if not is_plain(options):
        return (yield from designed_columns(designed, options))
    return DesignedColumns((yield from statistics_job(designed.batch, options)))


def _max_t_jobs(
    designed: DesignedBatch, families: list[NDArray[np.int64]], options: Options
) -> list[Job[Any]]:
    tested = _tested_rows(designed, families, options)
    return [max_t_job(designed.batch, rows, designed.union, options) for rows in tested]


def _tested_rows(
    designed: DesignedBatch, families: list[NDArray[np.int64]], options: Options
) -> list[NDArray[np.int64]]:
    """Return the rows of each family that have enough units for a test; families without any are left out."""
    tested = enough(designed.n_units, options)
    return [rows[tested[rows]] for rows in families if tested[rows].any()]


def _max_t_flips(designed: DesignedBatch, options: Options) -> int:
    units = designed.union
    return flips_of(designed.batch.shape[1] if units is None else units.n, options)


def _tested(found: RowStatistics, row: int, options: Options) -> _Tested:
    return _Tested(float(found.p_value[row]), int(found.n_permutations[row]), options.alpha)

"""Exact contributions of a tree ensemble, without a model call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, cut, rows_within
from ranklens.arrays.threads import for_each, n_cores
from ranklens.explain.trees.ensemble import TreeEnsemble
from ranklens.explain.trees.on_device import parts_on_device
from ranklens.explain.trees.on_host import PAIRS_AT_ONCE, HostBlock, add_contributions

_THREADED_PAIRS = 256
"""Fewer pairs are done before a second thread has started."""
_CODED_AT_ONCE = 2048
# Both points' values and codes, and one feature's comparisons spread over all.
_CODE_BYTES = 20


def tree_contributions(
    ensemble: TreeEnsemble, a: Any, b: Any, backend: Backend, groups: NDArray[np.int64] | None = None
) -> Any:
    r"""Return the Shapley values of the steps from the rows of `a` to the rows of `b`.

    The conditions on each leaf's path are merged by player. Against a pair, p players of a path are satisfied
    by B only and q by A only; where some player is satisfied by neither, no mixture of A and B reaches the
    leaf. Any other leaf, of value w, adds

        + w (p - 1)! q! / (p + q)!      to each B-only player,
        - w p! (q - 1)! / (p + q)!      to each A-only player.

    Parameters
    ----------
    ensemble : TreeEnsemble
    a, b : array, shape (m, features)
        On the host or on the device of `backend`. NaN is a value like any other.
    backend : Backend
        Where the work is done. Values become integer codes, so that every backend takes the same branches.
    groups : int array, shape (features,), optional
        The player of each feature, counted from 0; by default each feature is one. A group's members change
        together: the group is satisfied when all of its conditions on the path are.

    Returns
    -------
    array, shape (m, players)
        In the namespace of `backend`. A player that the trees do not look at, or cannot tell apart, gets
        exactly 0; each row sums to the difference of the two scores.

    References
    ----------
    G. Laberge, Y. Pequignot, "Understanding interventional TreeSHAP: how and why it works", arXiv 2209.15123.

    Examples
    --------
    >>> import numpy as np
    >>> from ranklens.arrays import current_backend
    >>> from ranklens.explain.trees import Tree, TreeEnsemble, tree_contributions
    >>> stump = Tree(
    ...     feature=np.asarray([2, -1, -1]),
    ...     threshold=np.asarray([0.5, 0.0, 0.0]),
    ...     left=np.asarray([1, 0, 0]),
    ...     right=np.asarray([2, 0, 0]),
    ...     value=np.asarray([0.0, 2.0, 7.0]),
    ...     nan_left=np.asarray([True, False, False]),
    ... )
    >>> a, b = np.asarray([[1.0, 1.0, 0.2]]), np.asarray([[2.0, 2.0, 0.9]])
    >>> tree_contributions(TreeEnsemble.of([stump], 3), a, b, current_backend())
    array([[0., 0., 5.]])
    """
    player_of = np.arange(ensemble.n_features) if groups is None else np.asarray(groups)
    n_players = int(player_of.max(initial=-1)) + 1
    if backend.name == "numpy":
        return _on_host(ensemble, np.asarray(a), np.asarray(b), player_of, n_players)
    with backend.precise():
        return parts_on_device(ensemble, player_of, a, b, backend).on_device(backend)


def _on_host(
    ensemble: TreeEnsemble, a: NDArray[Any], b: NDArray[Any], player_of: NDArray[np.int64], n_players: int
) -> NDArray[np.float64]:
    total = np.zeros((a.shape[0], n_players))
    blocks, used = ensemble.host_blocks(_key(player_of))
    coding = ensemble.coding

    def explain(some: range) -> None:
        codes_a, codes_b = (coding.on_host(points[some.start : some.stop]) for points in (a, b))
        with ensemble.scratches.one() as scratch:
            for few in cut(range(len(some)), at_once):
                columns = slice(few.start, few.stop)
                found = np.zeros((used.size, len(few)))
                for block in blocks:
                    add_contributions(block, codes_a[:, columns], codes_b[:, columns], found, scratch)
                total[some.start + few.start : some.start + few.stop, used] = found.T

    n = a.shape[0]
    if blocks and n:
        n_threads = n_cores() if n >= _THREADED_PAIRS else 1
        at_once = _pairs_at_once(blocks, n_threads)
        # Codes take a few calls a feature, so they are made for many chunks at once.
        coded = rows_within(_CODE_BYTES * len(coding.features), _CODED_AT_ONCE, share=0.5 / n_threads)
        slices = -(-n // (n_threads * coded)) * n_threads
        length = -(-n // (slices * at_once)) * at_once
        for_each(explain, cut(range(n), length), n_threads=n_threads)
    return total


def _pairs_at_once(blocks: list[HostBlock], n_threads: int) -> int:
    """Return the pairs of a chunk: what stays in the cache, unless the memory budget is smaller still."""
    most = max(block.bytes_per_pair for block in blocks)
    return rows_within(most, PAIRS_AT_ONCE, share=0.5 / n_threads)


def _key(player_of: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(player_of.tolist())

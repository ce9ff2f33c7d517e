"""Statistics of comparing two runs: is the difference real, or noise of the query sample?

Everything here is about one number: the mean over queries of the per-query difference of one measure at one
cutoff (say nDCG@10), B minus A. The query is the unit of observation, and the inference is about the
population of queries, never about documents, sessions or users. It does not say whether two runs order
documents differently (that is `ranklens.metrics.rbo`), nor whether users will notice (that is an online
experiment).

Names are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklens.stats.bootstrap import paired_bootstrap as paired_bootstrap
    from ranklens.stats.comparison import compare as compare
    from ranklens.stats.corrections import adjust as adjust
    from ranklens.stats.deltas import compare_deltas as compare_deltas
    from ranklens.stats.joint_intervals import simultaneous as simultaneous
    from ranklens.stats.lattice import Lattice as Lattice
    from ranklens.stats.lattice import lattice_of as lattice_of
    from ranklens.stats.many import compare_many as compare_many
    from ranklens.stats.moments import standard_deviation as standard_deviation
    from ranklens.stats.paired import paired_deltas as paired_deltas
    from ranklens.stats.permutation import SignFlip as SignFlip
    from ranklens.stats.permutation import permutation_test as permutation_test
    from ranklens.stats.permutation import sign_flip_test as sign_flip_test
    from ranklens.stats.power import MIN_QUERIES as MIN_QUERIES
    from ranklens.stats.power import mde as mde
    from ranklens.stats.power import minimum_detectable_effect as minimum_detectable_effect
    from ranklens.stats.power import required_queries as required_queries
    from ranklens.stats.ppi.comparison import MIN_GOLD as MIN_GOLD
    from ranklens.stats.ppi.comparison import ppi_compare as ppi_compare
    from ranklens.stats.q_values import benjamini_hochberg as benjamini_hochberg
    from ranklens.stats.q_values import benjamini_yekutieli as benjamini_yekutieli
    from ranklens.stats.q_values import holm as holm
    from ranklens.stats.sample import check_deltas as check_deltas
    from ranklens.stats.segments import compare_segments as compare_segments

_HOMES = {
    "bootstrap": "paired_bootstrap",
    "comparison": "compare",
    "corrections": "adjust",
    "deltas": "compare_deltas",
    "exact.p_value": "ExactP exact_p_value",
    "ideal.percentile": "exact_interval",
    "joint_intervals": "simultaneous",
    "lattice": "Lattice lattice_of",
    "many": "compare_many",
    "moments": "standard_deviation",
    "paired": "paired_deltas",
    "permutation": "SignFlip permutation_test sign_flip_test",
    "power": "MIN_QUERIES mde minimum_detectable_effect required_queries",
    "ppi.comparison": "MIN_GOLD ppi_compare",
    "q_values": "benjamini_hochberg benjamini_yekutieli holm",
    "sample": "check_deltas",
    "segments": "compare_segments",
}
_HOME_OF = {name: f"ranklens.stats.{home}" for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'ranklens.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""Statistics of comparing two runs: is the difference real, or noise of the query sample?

Everything here is about one number: the mean over queries of the per-query difference of one measure at one
cutoff (say nDCG@10), B minus A. The query is the unit of observation, and the inference is about the population
of queries, never about documents, sessions or users. It does not say whether two runs order documents
differently (that is `ranklens.metrics.rbo`), nor whether users will notice (that is an online experiment).

Names are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklens.stats.bootstrap import paired_bootstrap as paired_bootstrap
    from ranklens.stats.lattice import Lattice as Lattice
    from ranklens.stats.lattice import lattice_of as lattice_of
    from ranklens.stats.permutation import SignFlip as SignFlip
    from ranklens.stats.permutation import permutation_test as permutation_test
    from ranklens.stats.permutation import sign_flip_test as sign_flip_test
    from ranklens.stats.sample import check_deltas as check_deltas

_HOMES = {
    "bootstrap": "paired_bootstrap",
    "compare": "compare",
    "corrections": "adjust benjamini_hochberg",
    "exact": "ExactP exact_p_value",
    "exact_interval": "exact_interval",
    "lattice": "Lattice lattice_of",
    "many": "compare_many",
    "paired": "MIN_QUERIES paired_deltas",
    "permutation": "SignFlip permutation_test sign_flip_test",
    "power": "mde minimum_detectable_effect required_queries standard_deviation",
    "ppi": "MIN_GOLD ppi_compare",
    "sample": "check_deltas",
    "segments": "compare_segments",
}
_HOME_OF = {name: f"ranklens.stats.{home}" for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'ranklens.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""What a measure is: a name, a function of a batch of rankings, and the parameters that it takes."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ranklens.core import RankLensError

Kernel = Callable[..., Any]

_NOT_PARAMETERS = ("cutoff", "numerator", "denominator")


class BadMeasureError(RankLensError, ValueError):
    """A known measure was asked for with a cutoff or a parameter that it does not have or cannot take."""


@dataclass(frozen=True, eq=False)
class Definition:
    """A family of measures, such as nDCG at any cutoff.

    Parameters
    ----------
    name : str
        The canonical name.
    kernel : callable
        ``kernel(batch, *, cutoff=None, ...)`` gives an array of shape (runs, queries), where `batch` is a
        `ranklens.kernels.measures_batch.MeasureBatch`. Its keyword parameters, all with a default, are the
        measure's parameters; `cutoff` is what follows the @, and `rel` the relevance threshold.
    summary : str
        The definition in a line.
    aliases : tuple of str
        Other spellings; case, hyphens and underscores do not count.
    level : {"rank", "recall", None}
        What follows the @: a rank, a recall level, or nothing.
    shown : tuple of str
        Parameters that the canonical name always states.
    depth : int or None
        How many ranks the kernel looks at without a cutoff; None for all.
    """

    name: str
    kernel: Kernel
    summary: str
    aliases: tuple[str, ...] = ()
    level: str | None = "rank"
    shown: tuple[str, ...] = ()
    depth: int | None = None

    @functools.cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters and their defaults, in the order in which the canonical name states them."""
        found = list(inspect.signature(self.kernel).parameters.values())[1:]
        return {p.name: p.default for p in found if p.name not in _NOT_PARAMETERS}


@dataclass(frozen=True)
class Measure:
    """One measure, ready to be computed: calling it with a batch gives an array of shape (runs, queries).

    Parameters
    ----------
    definition : Definition
        The family it belongs to.
    cutoff : int, float or None
        The rank (or recall level) after the @.
    arguments : tuple of (name, value)
        The parameters that were given.
    """

    definition: Definition
    cutoff: float | None = None
    arguments: tuple[tuple[str, Any], ...] = ()

    @functools.cached_property
    def name(self) -> str:
        """The canonical name: parameters at their default are left out, the cutoff comes last."""
        given = dict(self.arguments)
        stated = [
            f"{key}={plain_text(given.get(key, default))}"
            for key, default in self.definition.parameters.items()
            if key in self.definition.shown or given.get(key, default) != default
        ]
        parameters = f"({','.join(stated)})" if stated else ""
        cutoff = "" if self.cutoff is None else f"@{plain_text(self.cutoff)}"
        return f"{self.definition.name}{parameters}{cutoff}"

    @property
    def depth(self) -> int | None:
        """How many ranks it looks at; None for all."""
        if self.definition.level == "rank" and self.cutoff is not None:
            return int(self.cutoff)
        return self.definition.depth

    def with_default_rel(self, rel: float) -> Measure:
        """Return the measure with this relevance threshold, unless it has its own or none."""
        given = dict(self.arguments)
        if "rel" not in self.definition.parameters or "rel" in given or "max_rel" in given:
            return self
        return Measure(self.definition, self.cutoff, (*self.arguments, ("rel", rel)))

    def __call__(self, batch: Any) -> Any:
        return self.definition.kernel(batch, **self._level(), **dict(self.arguments))

    def __str__(self) -> str:
        return self.name

    def _level(self) -> dict[str, int]:
        if self.cutoff is None:
            return {}
        if self.definition.level == "rank":
            return {"cutoff": int(self.cutoff)}
        millionths = round(self.cutoff * 1_000_000)
        shared = math.gcd(millionths, 1_000_000)
        return {"numerator": millionths // shared, "denominator": 1_000_000 // shared}


def plain_text(value: Any) -> str:
    """Print a parameter or cutoff; 2.0 is 2."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)

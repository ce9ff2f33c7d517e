"""Measures that come from outside: plain functions, and plug-ins of other packages.

A plug-in is an entry point of the group ``ranklens.measures``: its name is the measure's name, its object a
function as below (whose docstring's first line describes it) or a `Definition`. Entry points are looked up
only when a name is not otherwise known, or when the known measures are listed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ranklens.metrics.catalogue import folded
from ranklens.metrics.definitions import BadMeasureError, Definition, Measure

GROUP = "ranklens.measures"


def definition_of(function: Callable[..., Any], name: str | None = None) -> Definition:
    """Describe a function as a measure.

    Parameters
    ----------
    function : callable
        ``function(batch, *, cutoff=None, rel=1.0, ...)``: takes a
        `ranklens.kernels.measures_batch.MeasureBatch` and gives an array of shape (runs, queries). All its
        other parameters need a default; ``cutoff`` and ``rel`` mean what they mean for every measure.
    name : str, optional
        The measure's name; by default the function's.

    Raises
    ------
    BadMeasureError
        When it has no name, or its signature does not fit.
    """
    name = name or str(getattr(function, "__name__", ""))
    if not name.isidentifier():
        raise BadMeasureError(f"the measure {function!r} has no name; define it with def")
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        raise BadMeasureError(f"the measure {name} takes no argument; its first one must take the batch")
    without = [
        p.name
        for p in parameters[1:]
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if without:
        raise BadMeasureError(f"the measure {name} needs a default for its parameter {without[0]!r}")
    level = "rank" if any(p.name == "cutoff" for p in parameters[1:]) else None
    summary = (inspect.getdoc(function) or f"the function {name}").partition("\n")[0].rstrip(".")
    return Definition(name, function, summary, level=level)


def function_measure(function: Callable[..., Any]) -> Measure:
    """Make a measure of a plain function, with the defaults of its parameters."""
    return Measure(definition_of(function))


def find_plugin(spelling: str) -> Definition | None:
    """Load the plug-in with this folded name, or None; no other plug-in is loaded."""
    for entry in _entries():
        if folded(entry.name) == spelling:
            return _load(entry)
    return None


def plugin_names() -> list[str]:
    """Return the names of the installed plug-ins, without loading them."""
    return sorted({entry.name for entry in _entries()})


def _entries() -> Any:
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _load(entry: Any) -> Definition:
    try:
        loaded = entry.load()
    except Exception as error:
        raise BadMeasureError(
            f"the measure {entry.name} of the plug-in {entry.value} cannot be loaded: {error}; reinstall or "
            "remove the package that offers it"
        ) from error
    if isinstance(loaded, Definition):
        return loaded
    if not callable(loaded):
        raise BadMeasureError(
            f"the plug-in {entry.value} offers {loaded!r} as measure {entry.name}: no function"
        )
    return definition_of(loaded, entry.name)

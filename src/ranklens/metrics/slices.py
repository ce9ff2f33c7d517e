"""Segments as `evaluate` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ranklens.core.evaluation import Segments


def as_segments(source: Any) -> Segments | None:
    """Return a mapping of field to {query: value}; a path or frame is read, None stays None."""
    if source is None:
        return None
    if isinstance(source, Mapping) and all(isinstance(values, Mapping) for values in source.values()):
        return source
    from ranklens.io import read_segments

    found: Segments = read_segments(source)
    return found

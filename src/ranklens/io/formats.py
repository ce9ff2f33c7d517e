"""Which format some bytes are in: the file's name first, the content second."""

from __future__ import annotations

from collections.abc import Mapping

from ranklens.io.faults import Faults
from ranklens.io.layout import Layout
from ranklens.io.pairs import Extract
from ranklens.io.text import Text
from ranklens.io.trec import read_trec


def read_text(
    text: Text, file: str, layout: Layout, columns: Mapping[str, str | int] | None, faults: Faults
) -> Extract:
    """Find the format and read it."""
    return read_trec(text, layout, None, faults)

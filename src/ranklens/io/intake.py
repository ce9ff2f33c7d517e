"""From any source to a checked table: find the reader, read, report what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ranklens.io.checks import with_finite_grades, without_repeats
from ranklens.io.faults import Fault, Faults
from ranklens.io.layout import Layout
from ranklens.io.mappings import nested_mapping, read_mapping, read_records
from ranklens.io.pairs import Extract, PairTable
from ranklens.io.sources import holds_bytes, load, source_name

Columns = Mapping[str, str | int] | None


def take_in(source: Any, layout: Layout, columns: Columns, on_error: str) -> tuple[PairTable, str, int]:
    """Read `source`, check every row; return the table, the source's name and the number of rows left out.

    Raises
    ------
    DataError
        At the first fault with ``on_error="raise"``; in any case when nothing is left to measure.
    """
    file = source_name(source)
    faults = Faults(file, on_error)
    if isinstance(getattr(source, "pairs", None), PairTable):
        if source.layout is not layout:
            raise TypeError(
                f"a {layout.kind} is needed, not {source!r}; are the arguments in the right order?"
            )
        return source.pairs, source.name, source.n_left_out
    extract = _extract(source, file, layout, columns, faults)
    pairs = without_repeats(with_finite_grades(extract, layout, faults), layout, faults)
    faults.tell()
    if not len(pairs):
        raise faults.error(Fault(f"there are no rows in this {layout.kind} source"))
    return pairs, file, faults.n_left_out


def _extract(source: Any, file: str, layout: Layout, columns: Columns, faults: Faults) -> Extract:
    if holds_bytes(source):
        from ranklens.io.formats import read_text

        return read_text(load(source, file), file, layout, columns, faults)
    nested = nested_mapping(source)
    is_frame = hasattr(source, "__arrow_c_stream__") or hasattr(type(source), "columns")
    if columns and (nested is not None or not is_frame):
        raise ValueError(
            f"columns={dict(columns)!r} speaks of a table, and {file} has no columns; leave it out"
        )
    if nested is not None:
        return read_mapping(nested, layout, faults)
    if is_frame:
        from ranklens.io.tables import read_frame

        return read_frame(source, layout, columns, faults)
    records = getattr(source, f"{'qrels' if layout.kind == 'qrels' else 'scoreddocs'}_iter", None)
    if callable(records):
        return read_records(records(), layout, faults)
    if isinstance(source, Iterable):
        return read_records(source, layout, faults)
    raise TypeError(
        f"cannot read a {layout.kind} from {type(source).__name__}; "
        f"give a path, an open file, bytes, a frame, a dictionary or an iterable of rows"
    )

"""Write a run or judgements, whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ranklens.core.errors import DataError, UnknownNameError
from ranklens.core.files import replacing
from ranklens.core.spreadsheet import neutralise as neutralised
from ranklens.io.compression import SUFFIXES
from ranklens.io.sources import suffix_of

if TYPE_CHECKING:
    from ranklens.io.collection import PairCollection

_PACKED = (".gz", ".bz2", ".xz")
_BLANK = re.compile(r"\s", re.ASCII)
_TREC_SUFFIXES = (".run", ".txt", ".trec", ".res", ".results", ".qrels", ".qrel", "")
Writer = Callable[["PairCollection", BinaryIO], None]


def write_pairs(pairs: PairCollection, path: str | os.PathLike[str], *, neutralise: bool = True) -> None:
    """Write in the format that the suffix names; what stood at `path` is replaced at the end, in one step.

    Parameters
    ----------
    pairs : Run or Qrels
        What to write: queries sorted by text, documents in ranking order.
    path : path
        ``.run``, ``.txt``, ``.trec``, ``.res``, ``.qrels``: TREC text. ``.csv``, ``.tsv``, ``.jsonl``,
        ``.parquet``, ``.feather``, ``.arrow``: columns with a header or names. ``.gz``, ``.bz2`` or ``.xz``
        behind any of them compresses.
    neutralise : bool
        In CSV and TSV, put an apostrophe before ids that a spreadsheet would run as formulas
        (``=``, ``+``, ``-``, ``@`` at the start); reading takes it off again. Numbers are never touched.

    Raises
    ------
    DataError
        When an id cannot be written as TREC, since it holds a blank or begins a line with ``#``.
    UnknownNameError
        For another suffix.
    """
    target = Path(path)
    writer = _writer(suffix_of(target.name), neutralise)
    packing = target.suffix.lower()
    if packing in SUFFIXES and packing not in _PACKED:
        raise UnknownNameError("compression to write", packing, _PACKED)
    with replacing(target) as stream, _packed(stream, packing) as packed:
        writer(pairs, packed)


def _packed(stream: BinaryIO, packing: str) -> contextlib.AbstractContextManager[Any]:
    if packing == ".gz":
        import gzip

        return gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)
    if packing == ".bz2":
        import bz2

        return bz2.BZ2File(stream, "wb")
    if packing == ".xz":
        import lzma

        return lzma.LZMAFile(stream, "wb")
    return contextlib.nullcontext(stream)


def _writer(suffix: str, neutralise: bool) -> Writer:
    if suffix in _TREC_SUFFIXES:
        return _write_trec
    if suffix in (".csv", ".tsv"):
        separator = "," if suffix == ".csv" else "\t"
        return lambda pairs, stream: _write_delimited(pairs, stream, separator, neutralise)
    if suffix in (".jsonl", ".ndjson"):
        return _write_jsonl
    if suffix in (".parquet", ".pq"):
        return lambda pairs, stream: pairs.frame.write_parquet(stream)
    if suffix in (".feather", ".arrow", ".ipc"):
        return lambda pairs, stream: pairs.frame.write_ipc(stream)
    known = (*_TREC_SUFFIXES[:-1], ".csv", ".tsv", ".jsonl", ".parquet", ".feather", ".arrow")
    raise UnknownNameError("file suffix", suffix, known)


def _write_trec(pairs: PairCollection, stream: BinaryIO) -> None:
    is_run = pairs.layout.kind == "run"
    tag = re.sub(r"\s+", "_", pairs.name) or "run"
    for query, found in pairs.items():
        _check_trec_id("query", query, first=True)
        for rank, (document, value) in enumerate(found.items(), 1):
            _check_trec_id("document", document)
            tail = (
                f"{rank} {value!r} {tag}" if is_run else f"{value:g}" if value == int(value) else repr(value)
            )
            stream.write(f"{query} {'Q0' if is_run else '0'} {document} {tail}\n".encode())


def _check_trec_id(what: str, text: str, *, first: bool = False) -> None:
    if _BLANK.search(text):
        raise DataError(
            f"the {what} id {text!r} holds a blank, which TREC files cannot; write CSV, JSONL or Parquet"
        )
    if first and text.startswith("#"):
        raise DataError(f"the {what} id {text!r} would make its line a comment; write CSV, JSONL or Parquet")


def _write_jsonl(pairs: PairCollection, stream: BinaryIO) -> None:
    """Write one object a line; JSON has no infinity, which goes out as text and reads back as the number."""
    for query, found in pairs.items():
        for document, value in found.items():
            number = value if math.isfinite(value) else str(value)
            row = {"query": query, "document": document, pairs.layout.value: number}
            stream.write(f"{json.dumps(row, ensure_ascii=False)}\n".encode())


def _write_delimited(pairs: PairCollection, stream: BinaryIO, separator: str, neutralise: bool) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=separator, lineterminator="\r\n")
    writer.writerow(("query", "document", pairs.layout.value))
    for query, found in pairs.items():
        safe = neutralised(query) if neutralise else query
        for document, value in found.items():
            writer.writerow((safe, neutralised(document) if neutralise else document, repr(value)))
    text.detach()

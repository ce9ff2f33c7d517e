"""Everything that holds bytes: paths, standard input, open files, bytes."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from ranklens.io.compression import SUFFIXES, compression_of, decompress
from ranklens.io.text import MARGIN, Text

_RUN_SUFFIXES = (
    ".run", ".txt", ".trec", ".res", ".results", ".tsv", ".csv", ".jsonl", ".ndjson", ".json", ".parquet",
    ".pq", ".feather", ".arrow", ".ipc", ".qrels", ".qrel",
)  # fmt: skip


def holds_bytes(source: Any) -> bool:
    """Tell whether `source` is a path, ``"-"``, bytes or an open file."""
    return isinstance(source, (str, os.PathLike, bytes, bytearray, memoryview)) or hasattr(source, "read")


def source_name(source: Any) -> str:
    """Name a source in messages."""
    if isinstance(source, (str, os.PathLike)):
        return "standard input" if source == "-" else os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else f"<{type(source).__name__}>"


def load(source: Any, file: str) -> Text:
    """Read all bytes of `source`, decompressed."""
    if isinstance(source, (str, os.PathLike)) and source != "-":
        return _load_path(Path(source), file)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    else:
        stream = sys.stdin.buffer if isinstance(source, (str, os.PathLike)) else source
        content = stream.read()
        data = content.encode() if isinstance(content, str) else bytes(content)
    return _text(data, file)


def _load_path(path: Path, file: str) -> Text:
    with path.open("rb", buffering=0) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            return _text(stream.readall(), file)
        head = stream.read(8) or b""
        stream.seek(0)
        if compression_of(head) is not None:
            return _text(stream.readall(), file)
        array = np.empty(status.st_size + 2 * MARGIN, dtype=np.uint8)
        inside = array.data[MARGIN : MARGIN + status.st_size]
        done = 0
        while done < len(inside) and (count := stream.readinto(inside[done:])):
            done += count
        return Text(array[: done + 2 * MARGIN], done)


def _text(data: bytes, file: str) -> Text:
    kind = compression_of(data[:8])
    return Text.of(data if kind is None else decompress(data, kind, file))


def suffix_of(file: str) -> str:
    """Return the lower-case suffix of a file name, that of a compression left out."""
    path = PurePath(file.lower())
    while path.suffix in SUFFIXES:
        path = path.with_suffix("")
    return path.suffix


def run_name(path: str | os.PathLike[str]) -> str:
    """Name a run by its file: without folders, ``.gz`` and the like, ``.run``, ``.txt``, ``.trec``, …

    Examples
    --------
    >>> run_name("runs/bm25.run.gz"), run_name("v1.2.txt"), run_name("results.test")
    ('bm25', 'v1.2', 'results.test')
    """
    name = PurePath(path).name
    for suffixes in (SUFFIXES, _RUN_SUFFIXES):
        ending = next((suffix for suffix in suffixes if name.lower().endswith(suffix)), "")
        if ending and len(name) > len(ending):
            name = name[: -len(ending)]
    return name

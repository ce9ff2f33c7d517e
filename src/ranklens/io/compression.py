"""Decompress a whole file, recognised by its first bytes whatever its name says."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ranklens.core.errors import DataError, MissingDependencyError

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_ZSTD_MODULES = ("compression.zstd", "backports.zstd", "zstandard")


def compression_of(head: bytes) -> str | None:
    """Name the compression that these first bytes announce."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def decompress(data: bytes, kind: str, file: str) -> bytes:
    """Decompress all members of `data`; zero bytes behind a gzip file are padding.

    Raises
    ------
    DataError
        When the data are damaged or end too early.
    MissingDependencyError
        For zstd, when no library for it is installed.
    """
    expand, errors = _zstd() if kind == "zstd" else _standard(kind)
    try:
        return expand(data)
    except errors as error:
        raise DataError(f"the {kind} data are damaged or cut off ({error})", file=file) from error


Expander = Callable[[bytes], bytes]
Errors = tuple[type[Exception], ...]


def _standard(kind: str) -> tuple[Expander, Errors]:
    """Load the one module that is needed."""
    if kind == "gzip":
        import gzip
        import zlib

        return gzip.decompress, (EOFError, OSError, zlib.error)
    if kind == "bzip2":
        import bz2

        return bz2.decompress, (EOFError, OSError, ValueError)
    import lzma

    return lzma.decompress, (EOFError, lzma.LZMAError)


def _zstd() -> tuple[Expander, Errors]:
    for name in _ZSTD_MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name == "zstandard":
            return _every_frame(module), (EOFError, module.ZstdError)
        return module.decompress, (EOFError, ValueError, module.ZstdError)
    raise MissingDependencyError("zstd", "a .zst file", "pip install backports.zstd")


def _every_frame(module: Any) -> Expander:
    def expand(data: bytes) -> bytes:
        reader = module.ZstdDecompressor().stream_reader(data, read_across_frames=True)
        content: bytes = reader.read()
        return content

    return expand

"""Decompress a whole file, recognised by its first bytes whatever its name says."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import zlib
from collections.abc import Callable

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
    expand = {"gzip": gzip.decompress, "bzip2": bz2.decompress, "xz": lzma.decompress}.get(kind)
    try:
        return _zstd()(data) if expand is None else expand(data)
    except (EOFError, zlib.error, lzma.LZMAError, OSError, ValueError) as error:
        raise DataError(f"the {kind} data are damaged or cut off ({error})", file=file) from error
    except Exception as error:
        if kind == "zstd" and type(error).__name__ == "ZstdError":
            raise DataError(f"the zstd data are damaged or cut off ({error})", file=file) from error
        raise


def _zstd() -> Callable[[bytes], bytes]:
    for name in _ZSTD_MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name == "zstandard":
            return lambda data: module.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
        expand: Callable[[bytes], bytes] = module.decompress
        return expand
    raise MissingDependencyError("zstd", "a .zst file", "pip install backports.zstd")

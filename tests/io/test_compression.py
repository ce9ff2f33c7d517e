"""Compressed sources are recognised by their content, and damage is named."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ranklens.core import DataError, MissingDependencyError
from ranklens.io import read_run, run_name, sha256_of

TEXT = b"q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 a 1 1 t\n"
EXPECTED = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}}


def zstd(data: bytes) -> bytes:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    module = pytest.importorskip(name, reason="no zstd library is installed")
    packed: bytes = module.compress(data)
    return packed


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("misnamed", [False, True])
def test_compressed_files_are_read_whatever_they_are_called(
    suffix: str, misnamed: bool, tmp_path: Path
) -> None:
    path = tmp_path / ("a.run" if misnamed else f"a.run{suffix}")
    path.write_bytes(PACKERS[suffix](TEXT))
    run = read_run(path)
    assert run.to_dict() == EXPECTED
    assert run.name == "a"


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_second_member_continues_the_line_of_the_first(suffix: str) -> None:
    pack = PACKERS[suffix]
    assert read_run(pack(TEXT[:20]) + pack(TEXT[20:])).to_dict() == EXPECTED


def test_zero_bytes_behind_a_gzip_file_are_padding() -> None:
    assert read_run(gzip.compress(TEXT[:20]) + gzip.compress(TEXT[20:]) + bytes(512)).to_dict() == EXPECTED


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_file_that_is_cut_off_is_a_data_error(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.run{suffix}"
    path.write_bytes(PACKERS[suffix](TEXT)[:-5])
    with pytest.raises(DataError, match=f"{path.name}: the .* data are damaged or cut off"):
        read_run(path)


def test_damaged_gzip_data_are_a_data_error() -> None:
    packed = bytearray(gzip.compress(TEXT * 100))
    packed[30] ^= 0xFF
    with pytest.raises(DataError, match="the gzip data are damaged or cut off"):
        read_run(bytes(packed))


def test_a_missing_zstd_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = zstd(TEXT)
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=r"pip install backports\.zstd"):
        read_run(packed)


def test_standard_input_open_files_and_bytes_are_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.run.gz"
    path.write_bytes(gzip.compress(TEXT))
    for source in (TEXT, bytearray(TEXT), memoryview(TEXT), io.BytesIO(TEXT), io.StringIO(TEXT.decode())):
        assert read_run(source).to_dict() == EXPECTED
    with path.open("rb") as stream:
        run = read_run(stream)
    assert (run.to_dict(), run.name) == (EXPECTED, "x")
    assert read_run(str(path)).to_dict() == EXPECTED
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT))))
    run = read_run("-")
    assert (run.to_dict(), run.name) == (EXPECTED, "run")


def test_a_missing_file_is_the_operating_systems_error() -> None:
    with pytest.raises(FileNotFoundError):
        read_run("no/such/file.run")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/bm25.run.gz", "bm25"),
        ("BM25 (intents as queries).res.gz", "BM25 (intents as queries)"),
        ("v1.2.txt", "v1.2"),
        ("results.test", "results.test"),
        ("A.TREC", "A"),
        ("a.parquet", "a"),
        (".run", ".run"),
    ],
)
def test_runs_are_named_by_their_file(path: str, name: str) -> None:
    assert run_name(path) == name


def test_the_fingerprint_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")
    assert sha256_of(path) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

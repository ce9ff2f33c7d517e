"""Files that are there completely or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


def write_text(path: str | os.PathLike[str], text: str, *, append: bool = False) -> None:
    """Write `text` as UTF-8; see `replacing`."""
    with replacing(path, append=append) as stream:
        stream.write(text.encode("utf-8", "surrogateescape"))


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, append: bool = False) -> Iterator[BinaryIO]:
    """Give a binary file under a temporary name; move it to `path` when the block ends without an error.

    With `append` the old content comes first. A link stays a link, and a replaced file keeps its mode. What
    is no regular file (a device, a pipe), and an open descriptor such as ``/dev/stdout`` or ``/dev/fd/3``,
    cannot be replaced, and is written to as it is.

    Raises
    ------
    OSError
        When the folder does not exist or the file cannot be written; the old file is then untouched.
    """
    if not is_replaced(path):
        with _as_it_is(os.fspath(path)) as stream:
            yield stream
        return
    target = Path(path).resolve()
    handle, name = _temporary(target)
    try:
        with open(handle, "wb") as stream:
            if append and target.exists():
                with target.open("rb") as old:
                    shutil.copyfileobj(old, stream)
            yield stream
        os.chmod(name, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def is_replaced(path: str | os.PathLike[str]) -> bool:
    """Tell whether writing to `path` makes a new file there, and not a stream of what is written."""
    if _descriptor(os.fspath(path)) is not None:
        return False
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder that becomes `path` when the block ends well, and vanishes when it does not.

    An empty folder that exists may be where somebody stands or a disk is mounted: it stays, and is filled.

    Raises
    ------
    FileExistsError
        When `path` exists and is not an empty folder.
    """
    check_new(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Beside the new folder, or inside the one that is there.
        place = path if path.exists() else path.resolve().parent
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=place))
    except OSError as error:
        raise _unwritable(error, path) from error
    try:
        yield folder
        _become(folder, path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _become(folder: Path, path: Path) -> None:
    if not path.exists():
        folder.chmod(0o777 & ~_umask())
        os.replace(folder, path)
        return
    for made in sorted(folder.iterdir()):
        os.replace(made, path / made.name)
    folder.rmdir()


def check_new(path: Path) -> None:
    """Raise FileExistsError when `path` exists and is not an empty folder."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(f"{path} exists and is not an empty folder; name a new one")


def _as_it_is(path: str) -> BinaryIO:
    descriptor = _descriptor(path)
    if descriptor is None:
        return open(path, "wb")
    try:
        # A duplicate goes on where the descriptor stands; opening its name again would begin at the start.
        return open(os.dup(descriptor), "wb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def _descriptor(path: str) -> int | None:
    place = os.path.abspath(path)
    found = _DESCRIPTOR.fullmatch(place)
    return int(found[1]) if found is not None else _STREAMS.get(place)


def _temporary(target: Path) -> tuple[int, str]:
    try:
        return tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise _unwritable(error, target) from error


def _unwritable(error: OSError, target: Path) -> OSError:
    """Name what was asked for, not the temporary file."""
    return type(error)(error.errno, f"cannot write here: {error.strerror}", str(target))


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current

"""Files that are there completely or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def write_text(path: Path, text: str, *, append: bool = False) -> None:
    """Write `text` as UTF-8; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"), append=append)


def write_bytes(path: Path, data: bytes, *, append: bool = False) -> None:
    """Write `data` under a temporary name beside `path`, then move it there.

    With `append` the old content comes first. Something that is no regular file (a device, a pipe) cannot be
    replaced, and is written to as it is.

    Raises
    ------
    OSError
        When the folder does not exist or the file cannot be written; the old file is then untouched.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        with target.open("ab" if append else "wb") as stream:
            stream.write(data)
        return
    handle, name = _temporary(target)
    try:
        with open(handle, "wb") as stream:
            if append and target.exists():
                with target.open("rb") as old:
                    shutil.copyfileobj(old, stream)
            stream.write(data)
        _keep_mode(target, name)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder that becomes `path` when the block ends well, and vanishes when it does not.

    Raises
    ------
    FileExistsError
        When `path` exists and is not an empty folder.
    """
    check_new(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.resolve().parent))
    try:
        yield folder
        folder.chmod(0o777 & ~_umask())
        os.replace(folder, path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def check_new(path: Path) -> None:
    """Raise FileExistsError when `path` exists and is not an empty folder."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(f"{path} exists and is not an empty folder; name a new one")


def _temporary(target: Path) -> tuple[int, str]:
    try:
        return tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, f"cannot write here: {error.strerror}", str(target)) from error


def _keep_mode(target: Path, name: str) -> None:
    os.chmod(name, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current

"""Fingerprints of input files, for results that say what they were made from."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

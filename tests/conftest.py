"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from backends import backend as backend
from backends import user_backend as user_backend

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real runs and judgements, which is not part of the repository."""
    named = os.environ.get("RANKLENS_TEST_DATA")
    folder = Path(named) if named else CHECKOUT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set RANKLENS_TEST_DATA to the folder that holds it")
    return folder

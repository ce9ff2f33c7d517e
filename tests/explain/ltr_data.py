"""Learning-to-rank rows of the shared data as plain arrays."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def svmlight(path: Path, n_features: int, *, first: int = 0) -> tuple[Floats, Floats]:
    """Return rows and grades of ``grade [qid:n] feature:value ...``; column 0 is feature `first`."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    rows, grades = [], []
    for line in text.splitlines():
        grade, *pairs = line.partition("#")[0].split()
        row = np.zeros(n_features)
        for pair in pairs:
            feature, value = pair.split(":")
            if feature != "qid":
                row[int(feature) - first] = float(value)
        rows.append(row)
        grades.append(float(grade))
    return np.asarray(rows), np.asarray(grades)


def lambdarank_example(data_dir: Path, part: str = "train") -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return rows, grades and query sizes of LightGBM's example."""
    folder = data_dir / "ltr-lightgbm-lambdarank"
    rows, grades = svmlight(folder / f"rank.{part}.gz", 301)
    return rows, grades, np.loadtxt(folder / f"rank.{part}.query", dtype=np.int64)


def pairs_of(rows: Floats, n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return `n` random pairs of rows."""
    chosen = np.random.default_rng(seed).integers(0, len(rows), (2, n))
    return rows[chosen[0]], rows[chosen[1]]


def single(rows: Floats) -> Floats:
    """Return values that float32 holds exactly; shap does not round, as many models do."""
    return rows.astype(np.float32).astype(np.float64)


def with_gaps(rows: Floats, share: float = 0.1) -> Floats:
    """Return a copy with NaN in a share of the places."""
    gaps = rows.copy()
    gaps[np.random.default_rng(1).random(rows.shape) < share] = np.nan
    return gaps

"""The files of a command: what runs are called, which file is which, and what was in them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.cli.failures import UseError
from ranklens.core import DataError, DataWarning

if TYPE_CHECKING:
    from ranklens.core.evaluation import Evaluation

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Input:
    """A file on the command line."""

    role: str
    name: str
    path: str

    def to_dict(self) -> dict[str, Any]:
        """Return the name, the path as it was given and the hash of the bytes (None for a stream)."""
        from ranklens.io import sha256_of

        digest = sha256_of(self.path) if os.path.isfile(self.path) else None
        return {"role": self.role, "name": self.name, "path": self.path, "sha256": digest}


@dataclass(frozen=True, slots=True)
class Inputs:
    """The judgements, the runs in the order of the command line, and perhaps tables about the queries."""

    qrels: Input
    runs: tuple[Input, ...]
    segments: Input | None = None
    segment_fields: tuple[str, ...] | None = None
    more: tuple[Input, ...] = ()

    def to_list(self) -> list[dict[str, Any]]:
        """Return every file with its hash, fit for JSON."""
        files = [self.qrels, *self.runs, *([self.segments] if self.segments else []), *self.more]
        return [file.to_dict() for file in files]


def find_inputs(qrels: str, runs: Sequence[str], segments: str | None = None) -> Inputs:
    """Name every file and see that it is there, before any of them is read.

    Parameters
    ----------
    qrels : str
        A file, or ``-``.
    runs : sequence of str
        ``FILE`` or ``NAME=FILE``. A file whose own name holds ``=`` is found as it is.
    segments : str, optional
        ``FILE`` or ``FILE:field,field``.

    Raises
    ------
    UseError
        For a file that does not exist, a name that two runs share, or standard input used twice.
    """
    table, fields = _segments(segments) if segments is not None else (None, None)
    named = [_run(text) for text in runs]
    judgements = Input("qrels", "qrels", existing(qrels, "QRELS"))
    _check_names(named)
    if [judgements.path, *(run.path for run in named)].count(STDIN) > 1:
        raise UseError("standard input (-) is named twice; only one input can come from it")
    return Inputs(judgements, tuple(named), table, fields)


def read_segments_of(inputs: Inputs, names: Sequence[str] | None) -> Mapping[str, Mapping[str, str]]:
    """Read the table of segments: for each field the value of each query; empty without a table.

    A field that was not asked for by name, and has another value for every query, is a text and no segment:
    it is left out with a warning.
    """
    if inputs.segments is None:
        return {}
    from ranklens.io import read_segments
    from ranklens.io.sources import source_name

    segments = read_segments(inputs.segments.path, fields=inputs.segment_fields, names=names)
    found, file = dict(segments.items()), source_name(inputs.segments.path)
    for field in () if inputs.segment_fields else segments:
        if len(set(found[field].values())) == len(found[field]) > 1:
            del found[field]
            warnings.warn(
                f"{file}: {field!r} has another value for every query and is left out; "
                f"--segments {inputs.segments.path}:{field} compares by it nevertheless",
                DataWarning,
                stacklevel=2,
            )
    if not found:
        fields = ", ".join(segments)
        why = f"no segments: {fields} has another value for every query; ask for a field by its name"
        raise DataError(f"{why}: --segments FILE:FIELD,...", file=file)
    return found


def check_segments(
    inputs: Inputs, segments: Mapping[str, Mapping[str, str]], evaluations: Mapping[str, Evaluation]
) -> None:
    """Raise DataError for a field of segments in which no measured query has a value."""
    from ranklens.io.sources import source_name

    measured = {query for found in evaluations.values() for query in found.metrics[0].query_ids}
    for field, by_query in segments.items():
        if inputs.segments is not None and measured.isdisjoint(by_query):
            has, are = (", ".join(sorted(map(str, ids))[:3]) or "none" for ids in (by_query, measured))
            why = f"no measured query has a segment of {field!r}; the table has {has}, measured are {are}"
            raise DataError(why, file=source_name(inputs.segments.path))


def is_input(text: str) -> bool:
    """Whether a word of the command line names a file that exists, as FILE or NAME=FILE."""
    return text == STDIN or os.path.exists(text) or bool(_named_files(text))


def _run(text: str) -> Input:
    from ranklens.io import run_name

    if text == STDIN:
        return Input("run", "stdin", STDIN)
    if os.path.exists(text) or "=" not in text:
        return Input("run", run_name(text), existing(text, "RUN"))
    candidates = _named_files(text)
    name, path = candidates[0] if candidates else (text.partition("=")[0], text.partition("=")[2])
    if not name:
        raise UseError(f"RUN {text!r} has an empty name before '='; write NAME=FILE")
    return Input("run", name, existing(path, "RUN"))


def _named_files(text: str) -> list[tuple[str, str]]:
    """Return the ways to read NAME=FILE in which the file exists, for both sides may hold ``=``."""
    places = (i for i, character in enumerate(text) if character == "=" and i > 0)
    splits = ((text[:i], text[i + 1 :]) for i in places)
    return [(name, path) for name, path in splits if path == STDIN or os.path.exists(path)]


def _segments(text: str) -> tuple[Input, tuple[str, ...] | None]:
    path, colon, fields = text.rpartition(":")
    if os.path.exists(text) or not colon or not os.path.exists(path):
        return Input("segments", "segments", existing(text, "--segments")), None
    names = tuple(field.strip() for field in fields.split(",") if field.strip())
    return Input("segments", "segments", path), names or None


def existing(path: str, what: str) -> str:
    """Return the path of a file; UseError where there is none, naming those of like names."""
    if path != STDIN:
        if not os.path.exists(path):
            raise UseError(f"{what}: no such file: {path}{_advice(path)}")
        if os.path.isdir(path):
            raise UseError(f"{what}: {path} is a folder; name a file in it")
    return path


def _advice(path: str) -> str:
    from ranklens.core.errors import nearest_names

    folder = Path(path).parent
    try:
        siblings: Iterable[str] = [entry.name for entry in os.scandir(folder) if entry.is_file()]
    except OSError:
        return f"\nthe folder {folder} does not exist either" if not folder.exists() else ""
    near = nearest_names(Path(path).name, siblings)
    return f"\ndid you mean {' or '.join(str(folder / name) for name in near)}?" if near else ""


def _check_names(runs: Sequence[Input]) -> None:
    by_name: dict[str, str] = {}
    for run in runs:
        if run.name in by_name:
            raise UseError(
                f"two runs are named {run.name!r}: {by_name[run.name]} and {run.path}\n"
                f"give them names: {run.name}_1={by_name[run.name]} {run.name}_2={run.path}"
            )
        by_name[run.name] = run.path

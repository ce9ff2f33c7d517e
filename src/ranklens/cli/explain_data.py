"""The model and the documents of ``ranklens explain``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranklens.cli.failures import UseError
from ranklens.cli.inputs import Input

_TABLES = (".csv", ".tsv", ".parquet", ".pq")
_COLUMNS = {"query": "query_id", "document": "document", "grade": "grade"}


@dataclass(frozen=True)
class Task:
    """What was named on the command line, read.

    Attributes
    ----------
    model : Model
    other : Model or None
        That of ``--compare-with``.
    queries : tuple of QueryFeatures
    groups : tuple of tuples of str, or None
    files : tuple of Input
    """

    model: Any
    other: Any
    queries: tuple[Any, ...]
    groups: tuple[tuple[str, ...], ...] | None
    files: tuple[Input, ...]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Task:
        """Read the files that the options name."""
        named = {"model": options["model"], "data": options["data"], "compare-with": options["compare_with"]}
        files = tuple(_existing(role, path) for role, path in named.items() if path is not None)
        names = _names(options["names"]) if options["names"] is not None else None
        model = _model(options["model"], names, options)
        other = _model(options["compare_with"], names, options) if options["compare_with"] else None
        queries = _queries(options, model, other, names)
        if options["query"] is not None:
            queries = _only(queries, options["query"])
        return cls(model, other, queries, _groups(options, queries, model.names), files)

    def inputs(self) -> list[dict[str, Any]]:
        """Return every file with its hash, fit for JSON."""
        return [file.to_dict() for file in self.files]


def _existing(role: str, path: str) -> Input:
    if not os.path.isfile(path):
        raise UseError(
            f"{role.upper() if role != 'compare-with' else '--compare-with'}: no such file: {path}"
        )
    return Input(role, Path(path).name, path)


def _model(path: str, names: Sequence[str] | None, options: Mapping[str, Any]) -> Any:
    from ranklens.explain.model_files import UnsafeModelError, load_model

    try:
        return load_model(path, names, allow_pickle=options["allow_pickle"])
    except UnsafeModelError as error:
        raise UseError(str(error).replace("pass allow_pickle=True", "add --allow-pickle")) from error
    except ValueError as error:
        if "names" not in str(error):
            raise
        raise UseError(f"{path} does not name its features; add --names FILE or --names NAME,...") from error


def _names(text: str) -> list[str]:
    if not os.path.isfile(text):
        return [name.strip() for name in text.split(",")]
    content = Path(text).read_text("utf-8")
    if content.lstrip().startswith("["):
        return [str(name) for name in json.loads(content)]
    return [line.strip() for line in content.splitlines() if line.strip()]


def _queries(
    options: Mapping[str, Any], model: Any, other: Any, names: Sequence[str] | None
) -> tuple[Any, ...]:
    from ranklens.io.sources import suffix_of

    path = options["data"]
    if suffix_of(path) in _TABLES:
        wanted = dict.fromkeys([*model.names, *(other.names if other is not None else ())])
        return _from_table(path, options["columns"] or {}, list(wanted))
    from ranklens.io import read_letor

    found: tuple[Any, ...] = read_letor(
        path,
        names=names,
        n_features=len(model.names) if names is None else None,
        missing=float("nan") if options["missing"] == "nan" else 0.0,
        first=options["first"],
        query_sizes=options["query_sizes"],
    )
    return found


def _from_table(path: str, columns: Mapping[str, Any], features: list[str]) -> tuple[Any, ...]:
    import polars

    from ranklens.core import DataError
    from ranklens.io import QueryFeatures
    from ranklens.io.sources import load, suffix_of

    suffix = suffix_of(path)
    data = bytes(load(path, path).content())
    try:
        if suffix in (".parquet", ".pq"):
            frame = polars.read_parquet(data)
        else:
            separator = "\t" if suffix == ".tsv" else ","
            frame = polars.read_csv(data, separator=separator, infer_schema_length=None)
    except polars.exceptions.PolarsError as error:
        raise DataError(f"the table cannot be read: {error}", file=path) from error
    chosen = {role: columns.get(role, usual) for role, usual in _COLUMNS.items()}
    for role, column in chosen.items():
        if isinstance(column, int):
            chosen[role] = frame.columns[column]
        elif column not in frame.columns:
            raise UseError(
                f"{path} has no column {column!r}; add --columns {role}=NAME, one of "
                f"{', '.join(map(repr, frame.columns[:12]))}"
            )
    found: tuple[Any, ...] = QueryFeatures.from_frame(frame, **chosen, features=features)
    return found


def _only(queries: tuple[Any, ...], wanted: str) -> tuple[Any, ...]:
    from ranklens.core import UnknownNameError

    found = tuple(query for query in queries if query.query_id == wanted)
    if not found:
        raise UnknownNameError("query", wanted, [query.query_id for query in queries])
    return found


def _groups(
    options: Mapping[str, Any], queries: tuple[Any, ...], names: Sequence[str]
) -> tuple[tuple[str, ...], ...] | None:
    text = options["groups"]
    if text is None:
        return None
    if text == "auto":
        from ranklens.explain import correlated_groups

        found: tuple[tuple[str, ...], ...] = correlated_groups(queries, names, threshold=options["threshold"])
        return found
    return tuple(tuple(name.strip() for name in group.split("+")) for group in text.split(","))

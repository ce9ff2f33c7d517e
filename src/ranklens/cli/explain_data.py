"""The model and the documents of ``ranklens explain``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.cli.failures import UseError
from ranklens.cli.inputs import STDIN, Input

if TYPE_CHECKING:
    from ranklens.cli.explain_categories import Categories

_TABLES = (".csv", ".tsv", ".parquet", ".pq")
_NAME = re.compile(r'(?:\s*"(?P<quoted>(?:[^"]|"")*)"\s*|(?P<plain>(?!\s*")[^+,]*))(?P<end>[+,]|$)')


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
    categories : mapping of feature to tuple
        The categories, in the order of their codes, of features whose codes `queries` hold.
    """

    model: Any
    other: Any
    queries: tuple[Any, ...]
    groups: tuple[tuple[str, ...], ...] | None
    files: tuple[Input, ...]
    categories: Mapping[str, tuple[Any, ...]]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Task:
        """Read the files that the options name."""
        from ranklens.cli.explain_categories import Categories

        named = {"model": options["model"], "data": options["data"], "compare-with": options["compare_with"]}
        files = tuple(_existing(role, path) for role, path in named.items() if path is not None)
        names = _names(options["names"]) if options["names"] is not None else None
        paths = [path for path in (options["model"], options["compare_with"]) if path is not None]
        models = [_model(path, names, options) for path in paths]
        categories = Categories.of(models, options["categories"])
        models, queries = _queries(options, models, names, categories)
        for model, path in zip(models, paths, strict=True):
            if not model.ordered and any(query.names is None for query in queries):
                raise UseError(
                    f"{path} names its features and does not hold their order, and those of DATA are "
                    "numbered; add --names FILE or --names NAME,..., all in the order of the numbers"
                )
        if options["query"] is not None:
            queries = _only(queries, options["query"])
        groups = _groups(options, queries, models[0].names)
        other = models[1] if len(models) > 1 else None
        return cls(models[0], other, queries, groups, files, categories.known)

    def title(self, pair: Sequence[str] | None) -> str:
        """Say what a picture is of: the files, and the documents of a pair."""
        names = {file.role: file.name for file in self.files}
        models = " → ".join(names[role] for role in ("model", "compare-with") if role in names)
        documents = f": from {pair[0]} (A) to {pair[1]} (B)" if pair else ""
        return f"{models} on {names['data']}{documents}"

    def shown(self, name: str, value: float | None) -> Any:
        """Return a feature's value as it was before it became a code."""
        known = self.categories.get(name, ())
        is_code = value is not None and value in range(len(known))
        return known[int(value)] if value is not None and is_code else value

    def inputs(self) -> list[dict[str, Any]]:
        """Return every file with its hash, fit for JSON."""
        return [file.to_dict() for file in self.files]


def _existing(role: str, path: str) -> Input:
    if path == STDIN and role == "data":
        return Input(role, path, path)
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
        raise UseError(
            str(error).replace("pass load_model allow_pickle=True", "add --allow-pickle")
        ) from error
    except ValueError as error:
        if names is not None or "names is missing" not in str(error):
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
    options: Mapping[str, Any], models: list[Any], names: Sequence[str] | None, categories: Categories
) -> tuple[list[Any], tuple[Any, ...]]:
    """Return the queries, and the models, which may have become wider."""
    path = options["data"]
    if is_table(path):
        from ranklens.cli.explain_table import table_queries

        wanted = dict.fromkeys(name for model in models for name in model.names)
        graded = options["pair"] is None
        queries = table_queries(path, options["columns"], list(wanted), categories, graded=graded)
    else:
        from ranklens.cli.explain_letor import letor_queries

        models, queries = letor_queries(path, models, names, options)
        queries = categories.in_queries(queries, names or models[0].names, path)
    categories.taken_from(models)
    return models, queries


def is_table(path: str) -> bool:
    """Whether the data is a table, by its name; else it is a LETOR file."""
    from ranklens.io.sources import suffix_of

    return suffix_of(path) in _TABLES


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
    return named_groups(text, names)


def named_groups(text: str, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of ``A+B,C+D``; names that hold + or , stand in double quotes, doubled inside."""
    groups: list[list[str]] = [[]]
    position = 0
    while position <= len(text):
        part = _NAME.match(text, position)
        if part is None:
            raise UseError(f'--groups: the " in {text[position:]!r} opens no name in quotes')
        quoted, plain = part["quoted"], part["plain"]
        name = plain.strip() if quoted is None else quoted.replace('""', '"')
        if quoted is None and name not in names and any("+" in known or "," in known for known in names):
            near = [known for known in names if known.startswith(name) and not _NAME.fullmatch(known)]
            if near:
                raise UseError(
                    f"--groups: unknown feature {name!r}; a name that holds + or , stands in double quotes: "
                    f"'\"{near[0]}\"+...'"
                )
        groups[-1].append(name)
        if part["end"] == ",":
            groups.append([])
        position = part.end() + (not part["end"])
    return tuple(map(tuple, groups))

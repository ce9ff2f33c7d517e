"""LETOR (SVMlight) files for a model: which column its features go to, and what a line leaves out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranklens.cli.failures import UseError
from ranklens.core import DataError
from ranklens.io.letor import queries_of_lines, read_lines
from ranklens.io.letor_lines import LetorLines

# What LightGBM, XGBoost and RankLib call features that have no names.
_AUTOMATIC = re.compile(r"(Column_|f)?\d+")


@dataclass(frozen=True)
class Numbering:
    """The number of the first column, and the value of features that a line leaves out."""

    first: int
    missing: float

    @classmethod
    def of(cls, lines: LetorLines, models: Sequence[Any], options: Mapping[str, Any]) -> Numbering:
        """Take what the options say, and find out the rest."""
        first, missing = options["first"], options["missing"]
        if first is None:
            first = _agreed([first_feature(lines, model) for model in models], "first feature", "--first 0|1")
        if missing is None:
            absent = [model.absent for model in models] if lines.sparse() else [0.0]
            missing = _agreed(["nan" if math.isnan(a) else "zero" for a in absent], "value of a feature that "
                              "a line leaves out", "--missing zero|nan")  # fmt: skip
        return cls(first, math.nan if missing == "nan" else 0.0)


def letor_queries(
    path: str, models: Sequence[Any], names: Sequence[str] | None, options: Mapping[str, Any]
) -> tuple[list[Any], tuple[Any, ...]]:
    """Read a file for models; these may become as wide as the data (see `Model.widened`)."""
    lines = read_lines(path)
    models = [model.widened(lines.span()[1]) for model in models]
    numbering = Numbering.of(lines, models, options)
    n_features = len(models[0].names)
    sizes = options["query_sizes"]
    try:
        queries = queries_of_lines(lines, path, names, n_features, numbering.missing, numbering.first, sizes)
    except DataError as error:
        why = error.why.replace("pass query_sizes=", "add --query-sizes FILE")
        why = why.replace("query_sizes is given", "--query-sizes is given")
        raise DataError(why, file=error.file, line=error.line, text=error.text) from error
    return models, queries


def first_feature(lines: LetorLines, model: Any) -> int:
    """Find out whether the model's first column is the file's feature 0 or 1.

    LightGBM and XGBoost, trained on such a file by themselves, take its numbers for columns: the model has
    one column more than the file has features, the first of which it cannot look at. Arrays of the features
    have no such column, but a model of one may also not look at its first feature, and a file may lack the
    last: what could be either is refused.
    """
    (smallest, largest), width = lines.span(), len(model.names)
    if smallest == 0:
        return 0
    if model.first_feature is not None or largest >= width:
        return 1
    read, one_more = model.columns_read(), largest == width - 1
    if read is None and one_more:
        raise _ambiguous(lines, model, f"whether it looks at {model.names[0]} cannot be seen")
    unread = read is not None and 0 not in read
    if unread and (one_more or all(_AUTOMATIC.fullmatch(name) for name in model.names)):
        raise _ambiguous(lines, model, f"it never looks at {model.names[0]}")
    return 1


def _ambiguous(lines: LetorLines, model: Any, why: str) -> UseError:
    return UseError(
        f"{lines.file} numbers its features up to {lines.span()[1]}, and {model.kind} has "
        f"{len(model.names)}; {why}, so its first may be feature 0 or 1: add --first 0 (a model that was "
        "trained on such a file by LightGBM or XGBoost itself) or --first 1"
    )


def _agreed(found: Sequence[Any], what: str, option: str) -> Any:
    if len(set(found)) > 1:
        raise UseError(f"the two models read DATA differently: the {what} is {found[0]} and {found[1]}; "
                       f"add {option}")  # fmt: skip
    return found[0]

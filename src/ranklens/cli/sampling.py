"""Options about the sample of queries and the intervals, and the tables that they name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ranklens.cli import options as opt
from ranklens.cli.failures import UseError

if TYPE_CHECKING:
    from ranklens.cli.inputs import Input

F = TypeVar("F", bound=Callable[..., Any])

SAMPLING = ("weights", "clusters", "margin", "beside", "interval")
INTERVALS = ("percentile", "expanded", "bca", "studentized")


def sampling(function: F) -> F:
    """Add the options about weights, clusters, a margin, intervals and further tests."""
    for decorator in reversed(_OPTIONS):
        function = decorator(function)
    return function


def read_sampling(options: Mapping[str, Any]) -> tuple[dict[str, Any], list[Input]]:
    """Return what the options mean to `ranklens.compare_many`, and the tables that were read.

    Raises
    ------
    UseError
        For a file that is not there, or whose column must be named.
    DataError
        For a weight that is not a number.
    """
    files: list[Input] = []
    chosen = {name: options[name] for name in SAMPLING}
    for name in ("weights", "clusters"):
        if options[name] is not None:
            table, values = _column(name, options[name])
            files.append(table)
            chosen[name] = _numbers(values, table.path) if name == "weights" else values
    return chosen, files


def _column(role: str, text: str) -> tuple[Input, Mapping[str, str]]:
    """Read ``FILE`` or ``FILE:column``: the value of each query."""
    from ranklens.cli.inputs import Input, existing
    from ranklens.core import UnknownNameError
    from ranklens.io import read_segments

    path, colon, column = text.rpartition(":")
    if os.path.exists(text) or not colon or not os.path.exists(path):
        path, column = existing(text, f"--{role}"), ""
    try:
        found = read_segments(path, fields=[column] if column else None)
    except UnknownNameError as error:
        known = ", ".join(error.known) or "none"
        raise UseError(f"--{role} {text}: unknown column {column!r}\nthe table has {known}") from error
    if len(found) != 1:
        columns = ", ".join(found) or "none"
        raise UseError(
            f"--{role} {text}: the table has {len(found)} columns beside the queries' ({columns})\n"
            f"name one of them: --{role} {path}:COLUMN"
        )
    (values,) = found.values()
    return Input(role, role, path), values


def _numbers(values: Mapping[str, str], path: str) -> dict[str, float]:
    from ranklens.core import DataError

    numbers = {}
    for query, text in values.items():
        try:
            numbers[query] = float(text)
        except ValueError:
            raise DataError(
                f"the weight of query {query} is {text!r}, which is not a number", file=path
            ) from None
    return numbers


_OPTIONS = (
    click.option(
        "--interval",
        type=click.Choice(INTERVALS),
        default="percentile",
        show_default=True,
        help="The kind of bootstrap interval; studentized covers best on few skewed differences.",
    ),
    click.option(
        "--simultaneous",
        type=click.Choice(["bonferroni", "maxt"]),
        is_flag=False,
        flag_value="bonferroni",
        help=(
            "Also give intervals that hold together for all rows of a family: by Bonferroni's bound "
            "(--simultaneous alone), or shorter ones that know how the rows depend on each other (maxt)."
        ),
    ),
    click.option(
        "--margin",
        type=opt.FiniteRange(0, min_open=True),
        metavar="X",
        help=(
            "Test for a difference within X: not worse by X (--alternative greater), not better by X (less), "
            "or equivalent (two-sided)."
        ),
    ),
    click.option(
        "--weights",
        metavar="FILE[:COLUMN]",
        help="A table of query_id and what each query counts for, say its traffic.",
    ),
    click.option(
        "--clusters",
        metavar="FILE[:COLUMN]",
        help="A table of query_id and the session, or other cluster, that each query was drawn with.",
    ),
    click.option(
        "--beside",
        type=click.Choice(["t", "wilcoxon"]),
        multiple=True,
        help="Show the p-value of the paired t-test or of Wilcoxon's signed-rank test beside; repeatable.",
    ),
)

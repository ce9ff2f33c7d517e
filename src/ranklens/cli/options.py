"""Options that several commands share, and what they mean to the library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ranklens.cli.deliver import Delivery

if TYPE_CHECKING:
    _ParamType = click.ParamType[dict[str, str | int]]
else:
    # Older releases of click have no type argument here.
    _ParamType = click.ParamType

F = TypeVar("F", bound=Callable[..., Any])

MEASURING = ("missing", "score_precision", "depth", "judged_only", "rel", "on_error")
TESTING = ("method", "alternative", "alpha", "n_resamples", "n_permutations", "seed", "min_queries")
DELIVERING = ("format", "output", "append", "raw_csv")
BACKENDS = ("numpy", "jax", "cupy", "torch", "array_api_strict", "auto")


class Finite(click.types.FloatParamType):
    """A number, neither NaN nor infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class FiniteRange(Finite, click.FloatRange):
    """A range of numbers; NaN and infinity are outside of every one."""


PROPORTION = FiniteRange(0, 1, min_open=True, max_open=True)


def common(function: F) -> F:
    """Add ``--quiet``, ``--debug`` and ``--backend``."""
    return _stack(
        function,
        click.option(
            "--backend",
            type=click.Choice(BACKENDS),
            help="Arrays to compute with. Default: $RANKLENS_BACKEND, else numpy.",
        ),
        click.option(
            "--quiet",
            is_flag=True,
            expose_value=False,
            callback=_remember,
            help="No progress bar, no warnings.",
        ),
        click.option(
            "--debug",
            is_flag=True,
            expose_value=False,
            callback=_remember,
            help="Show the traceback of an error.",
        ),
    )


def delivering(formats: Sequence[str]) -> Callable[[F], F]:
    """Add ``--format``, ``--output``, ``--append`` and ``--raw-csv``."""

    def add(function: F) -> F:
        return _stack(
            function,
            click.option("--format", type=click.Choice(list(formats)), default="table", show_default=True),
            click.option(
                "--output",
                "-o",
                metavar="FILE",
                help="Write to FILE, which is there completely or not at all, and is no input.",
            ),
            click.option(
                "--append", is_flag=True, help="Add to the end of FILE; CSV under one header, JSON never."
            ),
            click.option(
                "--raw-csv", is_flag=True, help="In CSV keep text that a spreadsheet would run as a formula."
            ),
        )

    return add


def measures(default: Sequence[str]) -> Callable[[F], F]:
    """Add ``-m``."""
    return click.option(
        "-m",
        "--measures",
        multiple=True,
        metavar="MEASURE...",
        help=(f"One or more measures, up to the next option or existing file. Default: {' '.join(default)}."),
    )


class Columns(_ParamType):
    """``query=qid,document=sku,score=3``: the columns of a table, by name or by position from 0."""

    name = "field=column,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, str | int]:
        pairs = [part.partition("=") for part in str(value).split(",")]
        if not all(field.strip() and column.strip() for field, _, column in pairs):
            self.fail(f"{value!r} is not FIELD=COLUMN,...", param, ctx)
        named = {field.strip(): column.strip() for field, _, column in pairs}
        return {field: int(column) if column.isdecimal() else column for field, column in named.items()}


def measuring(function: F) -> F:
    """Add the options of `ranklens.evaluate`, and those of `read_run` and `read_qrels`."""
    return _stack(
        function,
        click.option(
            "--run-columns",
            type=Columns(),
            help="Columns of the runs, where their names are unusual: query=,document=,score=.",
        ),
        click.option(
            "--qrels-columns",
            type=Columns(),
            help="Columns of the judgements: query=,document=,grade=.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["zero", "skip"]),
            default="zero",
            show_default=True,
            help="A judged query that a run does not answer scores 0, or is left out.",
        ),
        click.option(
            "--min-coverage",
            type=FiniteRange(0, 1),
            metavar="SHARE",
            help="Exit with code 3 if a run answers a smaller share of the judged queries.",
        ),
        click.option(
            "--score-precision",
            type=click.Choice(["float64", "float32"]),
            default="float64",
            show_default=True,
            help="float32 ties scores as older trec_eval and pytrec_eval do.",
        ),
        click.option(
            "--depth", type=click.IntRange(min=1), help="Cut every ranking at this rank (trec_eval -M)."
        ),
        click.option(
            "--judged-only", is_flag=True, help="Take unjudged documents out of the rankings (trec_eval -J)."
        ),
        click.option(
            "--rel",
            type=int,
            default=1,
            show_default=True,
            help="Lowest relevant grade where a measure does not say (trec_eval -l).",
        ),
        click.option(
            "--on-error",
            type=click.Choice(["raise", "skip"]),
            default="raise",
            show_default=True,
            help="Stop at broken lines, or skip and count them.",
        ),
    )


def testing(function: F) -> F:
    """Add the options of `ranklens.compare_many`."""
    return _stack(
        function,
        click.option(
            "--method",
            type=click.Choice(["monte-carlo", "exact", "auto"]),
            default="auto",
            show_default=True,
            help="p-values and intervals are sampled, computed, or (auto) computed where that is as fast.",
        ),
        click.option(
            "--alternative",
            type=click.Choice(["two-sided", "greater", "less"]),
            default="two-sided",
            show_default=True,
            help="The side of the test: the run differs from, is above, or is below the baseline.",
        ),
        click.option(
            "--alpha", type=PROPORTION, default=0.05, show_default=True, help="Level of the verdicts."
        ),
        click.option("--n-resamples", type=click.IntRange(min=2), default=10_000, show_default=True),
        click.option("--n-permutations", type=click.IntRange(min=1), default=10_000, show_default=True),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
        click.option(
            "--min-queries",
            type=click.IntRange(min=2),
            default=20,
            show_default=True,
            help="Fewer paired queries than this are shown without a test.",
        ),
    )


def pick(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the named options."""
    return {name: options[name] for name in names}


def delivery(options: Mapping[str, Any]) -> Delivery:
    """Return how the document is to be delivered."""
    return Delivery(**pick(options, DELIVERING))


def choose_backend(name: str | None) -> str:
    """Choose the backend until the command ends, and return its name."""
    from ranklens.arrays import current_backend, use_backend

    if name is not None:
        click.get_current_context().with_resource(use_backend(name))
    return current_backend().name


def _remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    from ranklens.cli.group import Session

    setattr(ctx.ensure_object(Session), str(param.name), value)


def _stack(function: F, *decorators: Callable[[F], F]) -> F:
    for decorator in reversed(decorators):
        function = decorator(function)
    return function

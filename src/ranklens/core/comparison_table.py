"""Many comparisons as one table that says what its q-values mean."""

from __future__ import annotations

import html
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, overload

from ranklens.core import frames
from ranklens.core.comparison_text import comparison_cells, how_made, notes
from ranklens.core.comparisons import ComparisonResult
from ranklens.core.errors import UnknownNameError
from ranklens.core.evaluation import position_of
from ranklens.core.presentation import counted, html_table
from ranklens.core.tables import render_table

_ANY: Any = object()


@dataclass(frozen=True, slots=True, repr=False, init=False)
class ComparisonTable(Sequence[ComparisonResult]):
    """The comparisons of an experiment, a row each; all differences are B minus A.

    A sequence of `ComparisonResult`; slices, `filter` and `sort` give tables again. The q-values stay those
    of the families that were corrected, whatever is shown of them.

    Parameters
    ----------
    rows : sequence of ComparisonResult
        The rows.
    canonical : callable, optional
        From any spelling of a measure to its name in the rows.

    Examples
    --------
    >>> row = ComparisonResult(
    ...     "AP", 0.2, 0.25, 0.05, 0.02, 0.08, 0.05, 0.001, 50, 0, 0, 10_000, 10_000, 0, q_value=0.002,
    ...     run_a="bm25", run_b="dense", wins=33, ties=2, losses=15, correction="bh", family="AP (2 runs)",
    ... )
    >>> table = ComparisonTable([row])
    >>> table
    <ComparisonTable: 1 comparison, 1 significant>
    >>> table.best("AP").run_b
    'dense'
    >>> print("\\n".join(table.notes))
    delta is B minus A, the mean over the n paired queries
    interval: 95%, percentile bootstrap (10000 resamples)
    p: two-sided sign-flip test by 10000 random flips; seed 0
    q: Benjamini-Hochberg within AP (2 runs)
    † q < 0.05
    """

    rows: tuple[ComparisonResult, ...]
    canonical: Callable[[str], str] | None = field(compare=False)

    def __init__(
        self, rows: Sequence[ComparisonResult], canonical: Callable[[str], str] | None = None
    ) -> None:
        object.__setattr__(self, "rows", tuple(rows))
        object.__setattr__(self, "canonical", canonical)

    @overload
    def __getitem__(self, item: int) -> ComparisonResult: ...
    @overload
    def __getitem__(self, item: slice) -> ComparisonTable: ...
    def __getitem__(self, item: int | slice) -> ComparisonResult | ComparisonTable:
        return self._of(self.rows[item]) if isinstance(item, slice) else self.rows[item]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ComparisonResult]:
        return iter(self.rows)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The measures, in the order of their first row."""
        return tuple(dict.fromkeys(row.metric for row in self.rows))

    @property
    def notes(self) -> tuple[str, ...]:
        """How the numbers were made, what the daggers mean, and where an interval and a p-value disagree."""
        return (*how_made(self.rows), *notes(self.rows))

    def filter(
        self,
        predicate: Callable[[ComparisonResult], bool] | None = None,
        *,
        metric: str | Collection[str] = _ANY,
        segment: str | Collection[str] | None = _ANY,
        run_a: str | Collection[str] = _ANY,
        run_b: str | Collection[str] = _ANY,
        significant: bool | None = None,
        tested: bool | None = None,
    ) -> ComparisonTable:
        """Return the rows that meet every condition; the q-values are left as they are.

        Parameters
        ----------
        predicate : callable, optional
            Takes a row and says whether to keep it.
        metric, segment, run_a, run_b : str or collection of str, optional
            The values wanted, measures in any spelling; ``segment=None`` asks for the overall rows.
        significant, tested : bool, optional
            Rows whose verdict holds (or does not); rows with enough queries (or without).

        Raises
        ------
        UnknownNameError
            For a name that no row of the table has; of a measure all are listed that it has.
        """
        wanted = {"metric": metric, "segment": segment, "run_a": run_a, "run_b": run_b}
        kept = self.rows
        for attribute, value in wanted.items():
            if value is not _ANY:
                names = self._names(attribute, value)
                kept = tuple(row for row in kept if getattr(row, attribute) in names)
        for attribute, flag in (("significant", significant), ("tested", tested)):
            if flag is not None:
                kept = tuple(row for row in kept if getattr(row, attribute) is flag)
        return self._of(kept if predicate is None else [row for row in kept if predicate(row)])

    def sort(
        self, key: str | Callable[[ComparisonResult], Any] = "p_value", *, descending: bool = False
    ) -> ComparisonTable:
        """Return the rows in the order of `key`, an attribute's name or a function; missing values come last.

        Rows with equal keys keep their order.
        """
        value: Callable[[ComparisonResult], Any]
        if callable(key):
            value = key
        else:
            known = [*ComparisonResult.__dataclass_fields__, "relative_delta", "significant", "tested"]
            if key not in known:
                raise UnknownNameError("sort key", key, known)
            name = key
            value = lambda row: getattr(row, name)  # noqa: E731
        present = [row for row in self.rows if value(row) is not None]
        missing = [row for row in self.rows if value(row) is None]
        return self._of([*sorted(present, key=value, reverse=descending), *missing])

    def best(self, metric: str | None = None) -> ComparisonResult | None:
        """Return the row with the largest improvement whose verdict holds, or None where none does.

        None says that no difference above zero is significant, not that the runs are equal. The verdict on a
        margin is none of an improvement. Like is compared with like: where the table has rows on all queries,
        those of segments, which are of other queries, are left aside.

        Parameters
        ----------
        metric : str, optional
            The measure, in any spelling; needed where the table has several, for their scales differ.
        """
        if metric is None and len(self.metrics) > 1:
            raise ValueError(
                f"metric must name one measure, since the table has several: {', '.join(self.metrics)}"
            )
        rows = self.rows if metric is None else self.filter(metric=metric).rows
        if any(row.segment is None for row in rows):
            rows = tuple(row for row in rows if row.segment is None)
        better = [
            row
            for row in rows
            if row.significant and row.margin is None and row.delta is not None and row.delta > 0.0
        ]
        return max(better, key=lambda row: row.delta or 0.0, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, fit for JSON."""
        return {"comparisons": [row.to_dict() for row in self.rows]}

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with a row per comparison (see `ranklens.core.frames.to_frame` for `library`)."""
        names = [*ComparisonResult.__dataclass_fields__, "relative_delta", "significant"]
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        return frames.to_frame(columns, library, _TYPES)

    def to_markdown(self, path: str | PathLike[str] | None = None) -> str:
        """Return the table as Markdown, with what the columns mean below it; write it to `path` if given."""
        below = "\n".join(f"- {line}" for line in self.notes)
        return _written(f"{self._rendered('markdown')}\n\n{below}\n", path)

    def to_latex(self, path: str | PathLike[str] | None = None, *, caption: str | None = None) -> str:
        """Return a LaTeX ``table`` (for the package booktabs), escaped; write it to `path` if given.

        The caption starts with `caption`, and says how the numbers were made and what the daggers mean.
        """
        # Words start a sentence with a capital, the symbols p and q do not.
        explained = ". ".join(
            line[:1].upper() + line[1:] if line[1:2].isalpha() else line for line in self.notes
        )
        text = f"{explained}." if caption is None else f"{caption.rstrip('.')}. {explained}."
        return _written(self._rendered("latex", text) + "\n", path)

    def __str__(self) -> str:
        return "\n".join([self._rendered("table"), "", *self.notes])

    def __repr__(self) -> str:
        held = sum(row.significant for row in self.rows)
        return f"<ComparisonTable: {counted(len(self.rows), 'comparison')}, {held} significant>"

    def _repr_html_(self) -> str:
        header, cells = comparison_cells(self.rows)
        rows = [dict(zip(header, row, strict=True)) for row in cells]
        below = "".join(f"<li>{html.escape(line)}</li>" for line in self.notes)
        return f"{html_table(rows)}<ul>{below}</ul>"

    def _rendered(self, style: str, caption: str | None = None) -> str:
        header, cells = comparison_cells(self.rows)
        return render_table(header, cells, style, caption=caption)

    def _of(self, rows: Sequence[ComparisonResult]) -> ComparisonTable:
        return ComparisonTable(rows, self.canonical)

    def _names(self, attribute: str, value: str | Collection[str] | None) -> set[str | None]:
        names: set[str | None] = {value} if value is None or isinstance(value, str) else set(value)
        if attribute == "metric" and self.rows:
            known_metrics = self.metrics
            return {known_metrics[position_of(str(name), known_metrics, self.canonical)] for name in names}
        known = {getattr(row, attribute) for row in self.rows}
        for name in names:
            if self.rows and name is not None and name not in known:
                raise UnknownNameError(attribute, name, sorted(item for item in known if item is not None))
        return names


_KINDS: dict[str, type] = {"float": float, "int": int, "str": str, "bool": bool}
_TYPES = {
    name: _KINDS[str(field.type).partition(" | ")[0]]
    for name, field in ComparisonResult.__dataclass_fields__.items()
} | {"relative_delta": float, "significant": bool}
"""What each column of a frame holds."""


def _written(text: str, path: str | PathLike[str] | None) -> str:
    if path is not None:
        from ranklens.core.files import write_text

        write_text(path, text)
    return text

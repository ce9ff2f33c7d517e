"""Every error and warning that ranklens raises on purpose.

The first sentence of a message says what is wrong and where, the next one what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

LISTED = 30
"""Known names that a message lists where none is near."""


class RankLensError(Exception):
    """Root of the errors that ranklens raises on purpose."""


class DataError(RankLensError, ValueError):
    """A file, frame or mapping holds something that cannot be read as a run or as judgements.

    Parameters
    ----------
    why : str
        What is wrong, and what to do about it.
    file : str, optional
        The file, or a description of the object that was read.
    line : int, optional
        The line (for files) or row (for frames) where it was found, counted from 1.
    text : str, optional
        The offending text.

    Examples
    --------
    >>> print(DataError("the score is not a number", file="a.run", line=3, text="q1 Q0 d1 1 x t"))
    a.run:3: the score is not a number (in 'q1 Q0 d1 1 x t')
    """

    def __init__(
        self, why: str, *, file: str | None = None, line: int | None = None, text: str | None = None
    ) -> None:
        self.why = why
        self.file = file
        self.line = line
        self.text = text
        super().__init__(why)

    def __str__(self) -> str:
        where = self.file or ""
        if self.line is not None:
            where = f"{where}:{self.line}" if where else f"line {self.line}"
        quoted = f" (in {_quoted(self.text)})" if self.text is not None else ""
        return f"{where}: {self.why}{quoted}" if where else f"{self.why}{quoted}"


class InsufficientSampleError(RankLensError, ValueError):
    """There are fewer observations than the method needs.

    Examples
    --------
    >>> print(InsufficientSampleError(1, 2, unit="gold queries"))
    1 gold queries, and at least 2 are needed
    """

    def __init__(self, n: int, minimum: int, unit: str = "queries") -> None:
        self.n = n
        self.minimum = minimum
        self.unit = unit
        super().__init__(f"{n} {unit}, and at least {minimum} are needed")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.n, self.minimum, self.unit)


class UnknownNameError(RankLensError, ValueError):
    """A measure, column, backend or segment has a name that nobody knows; the nearest known ones are listed.

    Examples
    --------
    >>> print(UnknownNameError("measure", "nDGC@10", ["nDCG", "AP", "RR"]))
    unknown measure 'nDGC@10'; did you mean nDCG?
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str | None = None) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        self.nearest = nearest_names(name, self.known)
        if hint is not None:
            advice = hint
        elif self.nearest:
            advice = f"did you mean {', '.join(self.nearest)}?"
        else:
            advice = f"known: {_listed(self.known)}" if self.known else "none are known"
        self.advice = advice
        super().__init__(f"unknown {kind} {name!r}; {advice}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, self.name, self.known, self.advice)


def _listed(names: tuple[str, ...]) -> str:
    """Join names; of more than `LISTED` the first ones, and how many there are beside them."""
    if len(names) <= LISTED:
        return ", ".join(names)
    return f"{', '.join(names[:LISTED])} and {len(names) - LISTED} more"


class MissingDependencyError(RankLensError, ImportError):
    """A library that the call needs is not installed (or finds no device)."""

    def __init__(self, library: str, needed_for: str, install: str) -> None:
        self.library = library
        self.needed_for = needed_for
        self.install = install
        super().__init__(
            f"{needed_for} needs {library}, which is not available here; install it with: {install}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.library, self.needed_for, self.install)


class ModelError(RankLensError, ValueError):
    """A model raised an exception, or answered with something that is not one finite score a row."""


class SmallSampleWarning(UserWarning):
    """There are so few queries that the interval says little."""


class CoarsePValueWarning(UserWarning):
    """There are so few sign flips for so many comparisons that a lone effect cannot be rejected."""


class CoarseIntervalWarning(UserWarning):
    """There are so few resamples that none is expected beyond an end of the interval: it is too short."""


class DataWarning(UserWarning):
    """Something in the data was repaired or left out; the message counts it and shows the first examples."""


def nearest_names(name: str, known: Iterable[str], n: int = 3) -> list[str]:
    """Return up to `n` known names that resemble `name`, nearest first, case ignored."""
    by_lower = {str(candidate).lower(): candidate for candidate in known}
    close = difflib.get_close_matches(str(name).lower(), list(by_lower), n=n, cutoff=0.5)
    return [by_lower[key] for key in close]


def _quoted(text: str) -> str:
    """Quote a text with its control characters escaped; bytes that are no UTF-8 are escaped already."""
    return repr(_shorten(text)).replace("\\\\", "\\")


def _shorten(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"

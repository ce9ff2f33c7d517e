"""What to do about bad data: stop at the first fault, or count them all, show the first few and go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ranklens.core.errors import DataError, DataWarning, UnknownNameError
from ranklens.core.user_line import warn_user

N_EXAMPLES = 3


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: why, in which line (or row), and the text found there."""

    why: str
    line: int | None = None
    text: str | None = None


class Faults:
    """Collects the faults of one source.

    Parameters
    ----------
    file : str
        The name of the source in messages.
    on_error : {"raise", "skip"}
        Whether the first fault is an error, or all are left out, counted and told in one warning.
    """

    def __init__(self, file: str, on_error: str) -> None:
        if on_error not in ("raise", "skip"):
            raise UnknownNameError("on_error", on_error, ("raise", "skip"))
        self.file = file
        self._skip = on_error == "skip"
        self._count = 0
        self._examples: list[Fault] = []
        self._notes: list[str] = []

    @property
    def stops(self) -> bool:
        """Whether the first fault is an error."""
        return not self._skip

    @property
    def n_left_out(self) -> int:
        """How many faults were skipped."""
        return self._count

    def found(self, count: int, fault: Callable[[int], Fault]) -> None:
        """Report `count` faults; ``fault(i)`` describes the i-th and is called for the few that are shown."""
        if count and not self._skip:
            raise self.error(fault(0))
        shown = min(count, N_EXAMPLES - len(self._examples))
        self._examples += [fault(i) for i in range(shown)]
        self._count += count

    def note(self, text: str) -> None:
        """Keep something that is not wrong but that the user should know."""
        self._notes.append(text)

    def error(self, fault: Fault) -> DataError:
        """Make the error of one fault."""
        return DataError(fault.why, file=self.file, line=fault.line, text=fault.text)

    def tell(self) -> None:
        """Issue one warning for the rows left out, and one for each note."""
        if self._count:
            examples = "; ".join(str(self.error(example)) for example in self._examples)
            more = "" if self._count <= N_EXAMPLES else f"; and {self._count - N_EXAMPLES} more"
            rows = "1 row" if self._count == 1 else f"{self._count} rows"
            warn_user(f"{rows} of {self.file} left out: {examples}{more}", DataWarning)
        for text in self._notes:
            warn_user(f"{self.file}: {text}", DataWarning)

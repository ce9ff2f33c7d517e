"""The error for trees without a closed form here."""

from __future__ import annotations

from ranklens.core.errors import RankLensError


class UnsupportedTreesError(RankLensError, ValueError):
    """The model's trees hold something that has no closed form here; the model can still be asked.

    Examples
    --------
    >>> print(UnsupportedTreesError("the leaves of its trees are linear models"))
    no closed form: the leaves of its trees are linear models; contributions come from model calls
    """

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"no closed form: {why}; contributions come from model calls")

    def __reduce__(self) -> tuple[type[UnsupportedTreesError], tuple[str]]:
        return type(self), (self.why,)

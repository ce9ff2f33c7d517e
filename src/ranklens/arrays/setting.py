"""A choice that holds for the process, or for a ``with`` block in the thread that entered it."""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")


class Setting(Generic[T]):
    """A value that is set for the whole process, and overridden for the length of a ``with`` block."""

    def __init__(self, name: str) -> None:
        self._default: T | None = None
        self._local: ContextVar[T | None] = ContextVar(name, default=None)

    def get(self) -> T | None:
        """Return the value that holds here; None when nobody chose."""
        local = self._local.get()
        return self._default if local is None else local

    def change(self, value: T) -> Change[T]:
        """Set the value now; what is returned may be used in a ``with`` to bring the old one back."""
        return Change(self, value)


class Change(Generic[T]):
    """A change of a `Setting` that took effect already, and that leaving a ``with`` block undoes."""

    def __init__(self, setting: Setting[T], value: T) -> None:
        self._setting = setting
        self._value = value
        self._default_before = setting._default
        self._local_before = setting._local.get()
        self._token: Token[T | None] | None = None
        setting._default = value
        if self._local_before is not None:
            setting._local.set(value)

    def __enter__(self) -> T:
        self._setting._default = self._default_before
        self._setting._local.set(self._local_before)
        self._token = self._setting._local.set(self._value)
        return self._value

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._token is not None
        self._setting._local.reset(self._token)

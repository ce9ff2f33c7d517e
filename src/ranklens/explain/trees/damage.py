"""What is wrong with a model's file, in the words of an error message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from ranklens.core import DataError
from ranklens.explain.trees.unsupported import UnsupportedTreesError


@contextmanager
def parsing(what: str, advice: str, source: str | None) -> Iterator[None]:
    """Raise a `DataError` for whatever a text lacks that should be a model.

    Parameters
    ----------
    what : str
        What it should be.
    advice : str
        How such a text is made.
    source : str or None
        The file.
    """
    try:
        yield
    except UnsupportedTreesError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise DataError(
            f"this is no {what}, or a damaged one ({what_is_wrong(error)}); {advice}", file=source
        ) from error


def what_is_wrong(error: Exception) -> str:
    """Say what an exception found out about the text that was parsed.

    Examples
    --------
    >>> what_is_wrong(KeyError("trees"))
    "it lacks 'trees'"
    """
    if isinstance(error, json.JSONDecodeError):
        return f"it breaks off or is no JSON at line {error.lineno}, column {error.colno}: {error.msg}"
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)

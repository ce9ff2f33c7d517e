"""What is wrong with a model's file, in the words of an error message."""

from __future__ import annotations

import json


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

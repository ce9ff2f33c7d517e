"""What exceptions of other libraries say, in a line."""

from __future__ import annotations

import re

_TRACE = "\nStack trace:"
_PLACE = re.compile(r"^\[\d\d:\d\d:\d\d\] \S+:\d+: ")


def said(error: Exception) -> str:
    """Return the message, of one with a trace of C++ its first line without the place in the source.

    Examples
    --------
    >>> said(ValueError("[23:47:40] /src/data.cc:46: Check failed: n > 0\\nStack trace:\\n  [bt] (0) lib.so"))
    'Check failed: n > 0'
    """
    text = str(error).strip()
    if _TRACE not in text:
        return text
    return _PLACE.sub("", text.partition("\n")[0])

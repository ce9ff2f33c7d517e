"""Messages of the library in the words of the command line: arguments are options there."""

from __future__ import annotations

import re

_VALUE = re.compile(r"\b(method|correction|interval|alternative|family|beside)=\"([^\"]*)\"")
_NAME = re.compile(r"(?<![-\w])(n_permutations|n_resamples|min_queries)(?!\w)(?:=(?=\w))?")


def as_options(text: str) -> str:
    """Write ``method="exact"`` as ``--method exact``, and names that no sentence has as options.

    Examples
    --------
    >>> as_options('needs n_permutations of at least 20, or method="exact"')
    'needs --n-permutations of at least 20, or --method exact'
    >>> as_options("the family and the method")
    'the family and the method'
    """
    return _VALUE.sub(_option_with_value, _NAME.sub(_option, text))


def _option_with_value(found: re.Match[str]) -> str:
    name, value = found.groups()
    return f"--{name} '{value}'" if " " in value else f"--{name} {value}"


def _option(found: re.Match[str]) -> str:
    separator = " " if found[0].endswith("=") else ""
    return f"--{found[1].replace('_', '-')}{separator}"

"""The names of measures, in any of their spellings."""

from __future__ import annotations


def canonical_measure(name: str) -> str:
    """Return the one form that a measure's name is printed in; the name itself of what is no known measure.

    Examples
    --------
    >>> canonical_measure("map"), canonical_measure("clicks per visit")
    ('AP', 'clicks per visit')
    """
    from ranklens.metrics import parse_measure

    try:
        return parse_measure(name).name
    except ValueError:
        # The user's own values may be called anything.
        return name

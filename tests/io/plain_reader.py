"""A reader of TREC runs that is slow and obvious: the oracle of the real one."""

from __future__ import annotations


def read_plainly(text: str) -> list[tuple[str, str, float]]:
    """Split every line that is neither blank nor a comment."""
    rows = []
    for line in text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"):
        if line.startswith("#"):
            continue
        fields = line.replace("\t", " ").replace("\r", " ").split(" ")
        fields = [field for field in fields if field]
        if fields:
            rows.append((fields[0], fields[2], float(fields[4])))
    return rows

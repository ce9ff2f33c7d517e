"""Categories in the data of ``ranklens explain``, and the codes that the models know them by."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars

from ranklens.cli.failures import UseError
from ranklens.core import DataError
from ranklens.explain.category_codes import some_of
from ranklens.io.query_features import QueryFeatures

Codes = list[float]


@dataclass(frozen=True)
class Categories:
    """The categories of pandas that models were trained on, by feature, in the order of their codes.

    Attributes
    ----------
    known : mapping of feature to tuple
        Empty tuples say that the model has some, and does not tell them.
    reading : {"values", "codes"} or None
        What the data holds; None finds out for each feature, and refuses numbers that could be either.
    """

    known: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    reading: str | None = None

    @classmethod
    def of(cls, models: Sequence[Any], reading: str | None) -> Categories:
        """Return those of one model, or of two that know each feature by the same codes."""
        known: dict[str, tuple[Any, ...]] = {}
        for model in models:
            for name, some in model.categories.items():
                if reading != "codes" and known.setdefault(name, tuple(some)) != tuple(some):
                    raise UseError(
                        f"the two models know the categories of {name!r} by different codes "
                        f"({some_of(known[name])} and {some_of(some)}), and are asked about the same rows; "
                        "train them on a column with the same categories in the same order"
                    )
                known[name] = tuple(some)
        if reading is not None and not known:
            warnings.warn(
                "--categories has no effect here: the model has no categories of pandas", stacklevel=2
            )
        return cls(known, reading)

    def taken_from(self, models: Sequence[Any]) -> None:
        """Let the models take numbers as codes, which the data holds from now on."""
        for model in models:
            model.categories = {}

    def in_frame(self, frame: polars.DataFrame, path: str) -> polars.DataFrame:
        """Return a table with codes in the columns of categories."""
        codes = [
            polars.Series(name, self.codes(name, frame[name].to_list(), path), dtype=polars.Float64)
            for name in self.known
            if name in frame.columns
        ]
        return frame.with_columns(codes)

    def in_queries(
        self, queries: Sequence[QueryFeatures], names: Sequence[str], path: str
    ) -> tuple[QueryFeatures, ...]:
        """Return queries with codes in the columns of categories; `names` are those of the columns."""
        features = [np.array(query.features) for query in queries]
        ends = np.cumsum([len(rows) for rows in features])[:-1]
        for column, name in enumerate(names):
            if name in self.known:
                items = np.concatenate([rows[:, column] for rows in features]).tolist()
                codes = np.asarray(self.codes(name, items, path))
                for rows, some in zip(features, np.split(codes, ends), strict=True):
                    rows[:, column] = some
        return tuple(replace(query, features=rows) for query, rows in zip(queries, features, strict=True))

    def codes(self, name: str, items: Sequence[Any], path: str) -> Codes:
        """Return the code of each item of a column; NaN for those that are missing."""
        items = [None if item is None or item != item else item for item in items]
        # A column has few different items, and each is looked at once.
        there = [item for item in dict.fromkeys(items) if item is not None]
        found = self._code_of(_Column(name, self.known[name], there, path))
        found[None] = math.nan
        return [found[item] for item in items]

    def _code_of(self, column: _Column) -> dict[Any, float]:
        numbers, by_value = column.numbers(), column.by_value()
        are_numbers = len(numbers) == len(column.items)
        if self.reading == "codes" or (self.reading is None and are_numbers and column.is_numbered):
            if are_numbers:
                return numbers
            odd = next(item for item in column.items if item not in numbers)
            raise DataError(f"{column.name!r} is {odd!r}, which is no code of a category", file=column.path)
        may_be_codes = are_numbers and all(code in range(len(column.known)) for code in numbers.values())
        if column.known and len(by_value) == len(column.items):
            if self.reading is None and may_be_codes and by_value != numbers:
                raise UseError(
                    f"the numbers of {column.name!r} in {column.path} may be categories of the model "
                    f"({some_of(column.known)}) or their codes 0, 1, ...: add --categories values or "
                    "--categories codes"
                )
            return by_value
        if self.reading is None and may_be_codes and is_text(column.known):
            return numbers
        raise DataError(column.unknown(may_be_codes=may_be_codes), file=column.path)


@dataclass(frozen=True)
class _Column:
    """The different items of a column, and the categories that a model knows of it."""

    name: str
    known: tuple[Any, ...]
    items: Sequence[Any]
    path: str

    @property
    def is_numbered(self) -> bool:
        """Whether each category is its own code."""
        return bool(self.known) and list(self.known) == list(range(len(self.known)))

    def by_value(self) -> dict[Any, float]:
        """Return the code of each item that is a category."""
        place = {str(category): code for code, category in enumerate(self.known)}
        place.update({category: code for code, category in enumerate(self.known)})
        return {item: float(place[item]) for item in self.items if item in place}

    def numbers(self) -> dict[Any, float]:
        """Return the number of each item that is one."""
        found = {}
        for item in self.items:
            try:
                found[item] = float(item)
            except (TypeError, ValueError):
                continue
        return found

    def unknown(self, *, may_be_codes: bool) -> str:
        """Say which item is no category, and what may be meant by it."""
        if not self.known:
            return (
                f"the model does not tell the categories of {self.name!r}, only that it knows them by codes; "
                "give these, and add --categories codes"
            )
        odd = next(item for item in self.items if item not in self.by_value())
        advice = ""
        if may_be_codes:
            advice = "; add --categories codes if it is the code of one"
        elif odd == 0:
            advice = "; add --missing nan if it is for a line that leaves the feature out"
        known = some_of(self.known)
        return f"{self.name!r} is {odd!r}, which is none of the model's categories ({known}){advice}"


def is_text(known: Sequence[Any]) -> bool:
    """Whether the categories are texts, such as "007"."""
    return bool(known) and all(isinstance(category, str) for category in known)

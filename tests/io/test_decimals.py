"""Numbers are read exactly as Python reads them."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens.io.decimals import parse_decimal, parse_decimals
from ranklens.io.text import Text


def parse(tokens: list[str]) -> tuple[np.ndarray, list[int]]:
    text = Text.of(" ".join(tokens).encode() + b" 1.5.3e9")
    length = np.array([len(token) for token in tokens], dtype=np.int64)
    start = text.begin + np.cumsum(length + 1) - (length + 1)
    values, rejected = parse_decimals(text.array, start, start + length)
    return values, rejected.tolist()


DIGITS = st.text("0123456789", min_size=0, max_size=24)
SIGN = st.sampled_from(["", "-", "+"])
NUMBER = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(allow_nan=False, width=32).map(repr),
    st.integers().map(str),
    st.tuples(SIGN, DIGITS.filter(bool), DIGITS).map(lambda p: f"{p[0]}{p[1]}.{p[2]}"),
    st.tuples(SIGN, DIGITS.filter(bool)).map(lambda p: f"{p[0]}.{p[1]}"),
    st.sampled_from(["inf", "-Infinity", "1E5", "2e-310", "1e400", "9007199254740993", "9007199254740992.5"]),
)


@settings(max_examples=500, deadline=None)
@given(st.lists(NUMBER, min_size=1, max_size=20))
def test_numbers_are_rounded_as_python_rounds_them(tokens: list[str]) -> None:
    values, rejected = parse(tokens)
    expected = [float(token) for token in tokens]
    assert values.tolist() == expected
    assert [math.copysign(1, value) for value in values] == [math.copysign(1, value) for value in expected]
    assert rejected == []


def test_seventeen_digits_are_rounded_as_python_rounds_them() -> None:
    generator = np.random.default_rng(5)
    scores = generator.gamma(2.0, 5.0, 20_000)
    tokens = [f"{score:.17g}" for score in scores] + [f"{score:.18f}" for score in scores]
    assert parse(tokens)[0].tolist() == [float(token) for token in tokens]


@given(st.lists(st.text("0123456789.+-eE_xnaif:/", min_size=1, max_size=10), min_size=1, max_size=20))
def test_what_is_no_number_is_rejected(tokens: list[str]) -> None:
    values, rejected = parse(tokens)
    for row, token in enumerate(tokens):
        try:
            expected = math.nan if "_" in token else float(token)
        except ValueError:
            expected = math.nan
        assert values[row] == expected or (math.isnan(values[row]) and math.isnan(expected))
        assert (row in rejected) == (parse_decimal(token.encode()) is None)


def test_nan_is_no_number_to_reject_and_python_spellings_are() -> None:
    values, rejected = parse(["nan", "1_000", "0x10", "1e", "--1"])
    assert np.isnan(values).all()
    assert rejected == [1, 2, 3, 4]

"""The random words: known answers, NumPy as the oracle, and independence of every cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import Purpose, seed_of, words
from ranklens.arrays.streams import philox_at

ONES = 2**64 - 1
# Random123's published vectors for philox4x64-10: counter, key, output.
KNOWN = [
    (
        (0, 0, 0, 0),
        (0, 0),
        (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B),
    ),
    (
        (ONES,) * 4,
        (ONES,) * 2,
        (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0),
    ),
    (
        (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0x452821E638D01377, 0xBE5466CF34E90C6C),
        (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_host_words_are_the_published_vectors(counter, key, expected):
    assert tuple(philox_at(key, counter).random_raw(4).tolist()) == expected


def test_words_are_numpys_philox_from_the_documented_counter():
    key = np.random.SeedSequence(11).generate_state(2, np.uint64)
    # Column 3, second block; numpy adds one to the counter before its first output.
    before = np.array([ONES, 2, 1, Purpose.RESAMPLES], dtype=np.uint64)
    expected = np.random.Philox(key=key, counter=before).random_raw(4096)
    np.testing.assert_array_equal(words(11, 4096, 8192, range(3, 4), Purpose.RESAMPLES)[0], expected)


def test_golden_words():
    drawn = words(0, 4094, 4098, range(1, 3), Purpose.FLIPS)
    assert [[f"{word:016x}" for word in row] for row in drawn.tolist()] == GOLDEN


GOLDEN = [
    ["2ddfa3124a0b592a", "bbe012ee7876e1a7", "b005ae1f4f146ebb", "2b68865e9006da51"],
    ["a22c1aabaaf944d9", "826037fea30dca50", "1563e84bf7503538", "e063e496c926be0f"],
]


@given(st.integers(0, 9000), st.integers(0, 300), st.integers(0, 5), st.sampled_from(Purpose))
def test_any_cut_gives_the_same_words(start, length, column, purpose):
    whole = words(5, 0, 9300, range(column, column + 1), purpose)
    part = words(5, start, start + length, range(column, column + 1), purpose)
    np.testing.assert_array_equal(part, whole[:, start : start + length])


def test_purposes_and_seeds_have_words_of_their_own():
    drawn = [words(seed, 0, 8, 2, purpose).tobytes() for seed in (0, 1) for purpose in Purpose]
    assert len(set(drawn)) == len(drawn)


def test_seed_kinds():
    sequence = np.random.SeedSequence(4)
    assert seed_of(sequence) == seed_of(np.random.SeedSequence(4)) < 2**63
    assert seed_of(np.random.default_rng(4)) == seed_of(np.random.default_rng(4)) < 2**63
    assert seed_of(np.int64(3)) == 3
    assert seed_of(None) != seed_of(None)


@pytest.mark.parametrize("seed", [-1, True, 1.5, "7"])
def test_other_seeds_are_refused_by_name(seed):
    with pytest.raises(ValueError, match="seed must be a non-negative integer"):
        seed_of(seed)

"""The words made by array operations are the host's words, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from test_streams import KNOWN

from ranklens.arrays import Purpose, draw_words, to_host, words
from ranklens.arrays.philox import ROUNDS, _signed, device_words, philox

WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_device_words_are_the_published_vectors(backend, counter, key, expected):
    def signed(word):
        return backend.asarray(np.array([_signed(word)], dtype=np.int64))

    rounds = [[_signed(k + step * w) for k, w in zip(key, WEYL, strict=True)] for step in range(ROUNDS)]
    lanes = philox(*map(signed, counter), backend.asarray(np.array(rounds, dtype=np.int64)))
    found = [int(lane.view(np.uint64)[0]) for lane in to_host(*[lane[:1] for lane in lanes])]
    assert tuple(found) == expected


@pytest.mark.parametrize(("start", "stop"), [(0, 9), (4093, 4101), (10_001, 10_002)])
@pytest.mark.parametrize("purpose", [Purpose.FLIPS, Purpose.SYNTHETIC])
def test_device_words_are_the_hosts(backend, start, stop, purpose):
    (found,) = to_host(device_words(backend, 2**40 + 3, start, stop, range(2, 5), purpose))
    expected = words(2**40 + 3, start, stop, range(2, 5), purpose)
    np.testing.assert_array_equal(found.view(np.uint64), expected)


def test_draw_words_keeps_the_bits_and_stays_on_the_device(backend):
    drawn = draw_words(backend, 1, 0, 5, range(2), Purpose.FLIPS)
    assert drawn.dtype == backend.xp.int64
    assert getattr(drawn, "device", None) == backend.device or backend.device is None
    np.testing.assert_array_equal(to_host(drawn)[0].view(np.uint64), words(1, 0, 5, 2, Purpose.FLIPS))

"""What a sample of differences may be, and what is said of one that is none."""

from __future__ import annotations

import numpy as np
import pytest

from ranklens.arrays import to_host, use_backend
from ranklens.core import InsufficientSampleError
from ranklens.stats import check_deltas


@pytest.mark.parametrize("deltas", [[1, 0, -1], [True, False, True], (0.5, 1.0), range(3)])
def test_lists_of_numbers_are_widened(user_backend, deltas):
    with use_backend(user_backend.name):
        found = check_deltas(deltas)
        assert found.dtype == user_backend.float_dtype
        assert to_host(found)[0].tolist() == [float(value) for value in deltas]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool", "float32", "float64"])
def test_arrays_are_widened_where_they_lie(user_backend, dtype):
    host = np.array([1, 0, 1]).astype(dtype)
    with user_backend.precise():
        array = user_backend.xp.asarray(host.copy(), device=user_backend.device)
    found = check_deltas(array)
    assert found.dtype == user_backend.float_dtype
    assert getattr(found, "device", None) == getattr(array, "device", None)
    assert to_host(found)[0].tolist() == [1.0, 0.0, 1.0]


def test_a_narrow_types_multiples_come_back_as_what_they_were(user_backend):
    narrow = np.array([0.1, 0.7, -0.3], dtype=np.float32)
    with user_backend.precise():
        array = user_backend.xp.asarray(narrow.copy(), device=user_backend.device)
    assert to_host(check_deltas(array))[0].tolist() == pytest.approx([0.1, 0.7, -0.3], rel=2.0**-52)
    off_step = np.array([0.1, 2**0.5], dtype=np.float32)
    assert check_deltas(off_step).tolist() == off_step.astype(float).tolist()


def test_the_input_is_left_alone():
    deltas = np.array([0.1, 0.2])
    deltas.flags.writeable = False
    assert check_deltas(deltas) is deltas or check_deltas(deltas).tolist() == [0.1, 0.2]


def test_a_value_that_is_not_finite_is_named_by_its_query(user_backend):
    queries = [f"q{i}" for i in range(20)]
    deltas = [0.1] * 20
    deltas[17] = float("nan")
    with (
        use_backend(user_backend.name),
        pytest.raises(ValueError, match=r"1 of 20 values that are not finite \(at query q17\)"),
    ):
        check_deltas(deltas, query_ids=queries)
    with pytest.raises(ValueError, match=r"20 of 20 .* \(at query q0, q1, q2, q3, q4 and 15 more\)"):
        check_deltas([float("inf")] * 20, query_ids=queries)


def test_the_smallest_sample_is_the_callers():
    assert check_deltas([0.5]).shape == (1,)
    with pytest.raises(InsufficientSampleError, match="1 queries, and at least 2 are needed"):
        check_deltas([0.5], minimum=2)
    with pytest.raises(ValueError, match="deltas is empty"):
        check_deltas([])

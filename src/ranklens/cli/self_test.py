"""Known answers that a working installation gives, on every backend."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

# Salmon et al. 2011, known-answer vectors of Philox4x64-10: counter and key of zeros.
PHILOX_OF_ZEROS = (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B)
_SIGNED_SPREAD = [0.1] * 8 + [-0.1] * 2


class Check(NamedTuple):
    """One known answer; `error` says why there is no answer."""

    name: str
    backend: str
    expected: str
    found: str
    passed: bool


def self_test(backends: list[str]) -> Iterator[Check]:
    """Ask every question on every backend; the exact methods always compute on the host."""
    for backend in backends:
        for name, (question, expected) in ON_BACKENDS.items():
            yield _check(name, backend, question, expected)
    for name, (question, expected) in ON_HOST.items():
        yield _check(name, "host", question, expected)


def _check(name: str, backend: str, question: Callable[[], Any], expected: Any) -> Check:
    from ranklens.arrays import use_backend

    try:
        with use_backend("numpy" if backend == "host" else backend):
            found = question()
    except Exception as error:
        return Check(name, backend, _text(expected), f"{type(error).__name__}: {error}", False)
    return Check(name, backend, _text(expected), _text(found), _agree(found, expected))


def _philox() -> str:
    import numpy as np

    # NumPy counts up before it draws: all ones come before zeros.
    drawn = np.random.Philox(key=0, counter=2**256 - 1).random_raw(4)
    return " ".join(f"{int(word):016x}" for word in drawn)


def _same_words() -> str:
    import numpy as np

    from ranklens.arrays import Purpose, current_backend, to_host, words
    from ranklens.arrays.philox import device_words

    backend = current_backend()
    with backend.precise():
        (found,) = to_host(device_words(backend, 7, 3, 4103, range(2), Purpose.FLIPS))
    host = words(7, 3, 4103, 2, Purpose.FLIPS)
    return "the same" if np.array_equal(found.astype(np.uint64), host) else "others"


def _sign_flips() -> float:
    from ranklens.stats import permutation_test

    return permutation_test([1.0] * 50, n_permutations=99)


def _ndcg() -> float:
    from ranklens.metrics import evaluate

    return evaluate({"q1": {"b": 1.0, "c": 1.0}}, {"q1": {"a": 0, "b": 1, "c": 0}}, ["nDCG@10"])[
        "nDCG@10"
    ].mean


def _exact_p() -> float:
    from ranklens.stats import permutation_test

    return permutation_test(_SIGNED_SPREAD, method="exact")


def _all_positive() -> float:
    from ranklens.stats import permutation_test

    return permutation_test([0.11, 0.23, 0.31, 0.47, 0.59], method="exact")


def _corrected() -> str:
    from ranklens.stats import benjamini_hochberg

    return " ".join(f"{q:g}" for q in benjamini_hochberg([0.01, 0.04, 0.5]))


Questions = dict[str, tuple[Callable[[], Any], Any]]
ON_BACKENDS: Questions = {
    "random words, beside the host's": (_same_words, "the same"),
    "99 sign flips of 50 ones: p": (_sign_flips, 0.01),
    "nDCG@10 of one tie": (_ndcg, 1.0 / math.log2(3.0)),
}
ON_HOST: Questions = {
    "Philox4x64-10 of zeros": (_philox, " ".join(f"{word:016x}" for word in PHILOX_OF_ZEROS)),
    "exact p of 8 gains and 2 losses": (_exact_p, 7 / 64),
    "exact p of 5 gains": (_all_positive, 2 / 32),
    "Benjamini-Hochberg of 3": (_corrected, "0.03 0.06 0.5"),
}


def _text(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _agree(found: Any, expected: Any) -> bool:
    if isinstance(expected, float):
        return isinstance(found, float) and math.isclose(found, expected, rel_tol=1e-6)
    return bool(found == expected)

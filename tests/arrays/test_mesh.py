"""Several devices count what one counts, and programs do not follow the number of queries."""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from backends import open_variant

import ranklens as rl
from ranklens.arrays import even, open_backend, use_backend

COMPILING = re.compile(r"Compiling (?:jit\()?(\w+)")

# Eight devices of the host must be asked for before JAX starts, so in a process of their own.
ON_DEVICES = """
import json
import numpy as np
import jax
import ranklens as rl
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from ranklens.arrays import Purpose, backend_of, to_host, use_backend, words
from ranklens.arrays.draws import draw_words
from ranklens.arrays.philox import device_words

rng = np.random.default_rng(0)
single = rng.normal(0.02, 0.3, 90)
rows = rng.normal(0.01, 0.3, (8, 90))
rows[::2] = np.round(rows[::2], 1)
mask = np.arange(90) < np.array([90, 90, 60, 90, 60, 90, 60, 90])[:, None]
quiet = {"n_resamples": 400, "n_permutations": 400, "method": "monte-carlo"}

def found(deltas, batch):
    plain = rl.compare_deltas(batch, correction="maxt", **quiet)
    masked = rl.compare_deltas(batch, mask=mask, correction=None, **quiet)
    interval = rl.paired_bootstrap(deltas, n_resamples=400)
    studentized = rl.paired_bootstrap(deltas, n_resamples=400, interval="studentized")
    p = rl.permutation_test(deltas, n_permutations=400)
    counts = [p, *plain.p_value, *masked.p_value, *plain.q_value]
    ends = [interval.low, interval.high, studentized.low, *plain.ci_low, *plain.ci_high, *masked.ci_low]
    return {"counts": [float(x) for x in counts], "ends": [float(x) for x in ends]}

out = {}
for n in (1, 2, 3, 4, 8):
    with use_backend("jax", devices=n) as backend, backend.precise():
        out[n] = found(single.tolist(), rows.tolist())
        drawn = draw_words(backend, 3, 5, 29, range(2), Purpose.RESAMPLES)
        made = device_words(backend, 3, 5, 29, range(2), Purpose.RESAMPLES)
        expected = words(3, 5, 29, 2, Purpose.RESAMPLES).view(np.int64)
        assert (np.asarray(drawn) == expected).all() and (np.asarray(made) == expected).all()
        parts = {piece.data.shape for piece in drawn.addressable_shards}
        assert parts == {(2, 24 // n)}, parts
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
for name, spec in {"rows": P("a", None), "queries": P(None, "b"), "copies": P()}.items():
    with jax.enable_x64(True):
        lying = jax.device_put(rows, NamedSharding(mesh, spec))
        alone = jax.device_put(single, NamedSharding(mesh, P("b") if name != "copies" else P()))
    assert len(backend_of(lying).device.device_set) == 8
    out[name] = found(alone, lying)
print(json.dumps(out))
"""


def run(script, **environment):
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_any_number_of_devices_counts_the_same():
    open_variant("jax")
    found = run(ON_DEVICES, XLA_FLAGS="--xla_force_host_platform_device_count=8", JAX_PLATFORMS="cpu")
    alone = found.pop("1")
    assert set(found) == {"2", "3", "4", "8", "rows", "queries", "copies"}
    for name, shared in found.items():
        assert shared["counts"] == alone["counts"], name
        np.testing.assert_allclose(shared["ends"], alone["ends"], rtol=1e-12, atol=1e-15, err_msg=name)


def test_one_device_is_what_jax_prefers():
    expected = open_variant("jax")
    with use_backend("jax", devices=1) as backend:
        assert backend == expected
    with use_backend("jax", devices=[expected.device]) as backend:
        assert backend == expected


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        (0, "devices must be from 1 to the"),
        (4096, r"got 4096; on the host, XLA_FLAGS="),
        ([], "a number of devices or JAX devices"),
        (["cpu"], r"a number of devices or JAX devices, got \['cpu'\]"),
    ],
)
def test_devices_that_are_not_there_are_refused(devices, message):
    open_variant("jax")
    with pytest.raises(ValueError, match=message):
        use_backend("jax", devices=devices)


def test_only_jax_takes_devices():
    with pytest.raises(ValueError, match="devices= is for the backend 'jax', got 'numpy'"):
        use_backend("numpy", devices=2)


def test_a_single_device_shares_nothing():
    assert even(1023, open_backend("numpy")) == 1023


def compilations(caplog, job):
    """Return the names of the programs that a job compiles."""
    caplog.clear()
    with importlib.import_module("jax").log_compiles(), caplog.at_level(logging.WARNING):
        job()
    return {found[1] for record in caplog.records if (found := COMPILING.match(record.getMessage()))}


# What ships an array, pads it to its bucket or gathers rows is new for each length, and small.
_SMALL = {"_identity_fn", "_pad", "convert_element_type", "concatenate"}


@pytest.mark.slow
def test_programs_of_a_batch_serve_many_query_counts(caplog):
    open_variant("jax")
    rng = np.random.default_rng(0)
    deltas = rng.normal(0.1, 1.0, (6, 64))

    def compare(n, correction="maxt"):
        options = {"n_resamples": 60, "n_permutations": 60, "method": "monte-carlo"}
        mask = rng.random((6, n)) < 0.9
        with use_backend("jax"):
            rl.compare_deltas(deltas[:, :n].tolist(), correction=correction, **options)
            rl.compare_deltas(deltas[:, :n].tolist(), mask=mask, correction=None, **options)

    for n in (64, 63, 50):
        compare(n)
    for n in (41, 47, 59):
        assert compilations(caplog, lambda n=n: compare(n)) <= _SMALL


def test_programs_call_nothing_on_the_host():
    backend = open_variant("jax")
    jax = importlib.import_module("jax")
    from ranklens.arrays.jax_ends import ends_of_rows
    from ranklens.kernels.flip_counts import _extreme_flips
    from ranklens.kernels.resample_sums import _drawn_parts

    with backend.precise():
        words = backend.xp.zeros((32, 40), dtype="int64")
        values = backend.xp.ones((5, 64), dtype="float64")
        some = values[:, 0]
        programs = [
            jax.make_jaxpr(lambda drawn: _drawn_parts(drawn, values, 60, False, 20))(words),
            jax.make_jaxpr(lambda drawn: _extreme_flips(drawn, values, some, some, "less"))(words),
            *[
                jax.make_jaxpr(lambda sums, one=one: ends_of_rows(sums, (1, 2, 37, 38), one))(values[:, :40])
                for one in (True, False)
            ],
        ]
    for program in programs:
        assert "callback" not in str(program)

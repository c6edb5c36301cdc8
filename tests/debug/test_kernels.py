"""Time by kernel: which kernels there are, how often each runs, what it costs, and the trace."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from phlox import debug, device_put, jit, load_hlo
from phlox.debug.machine_limits import MachineLimits


@jit
def settle(x, rounds):
    for _ in range(rounds):
        x = np.sort(np.cos(x) * x)
    return x, x @ x


def rows_by_operation(profile):
    return {row.operations: row for row in profile.rows}


def test_calls_and_costs():
    x = np.linspace(0, 1, 1000)
    expected = settle(x, 7)
    with debug.kernels() as profile:
        for _ in range(3):
            found = settle(x, 7)
    np.testing.assert_array_equal(found[0], expected[0])
    rows = rows_by_operation(profile)
    fused = rows["cosine", "multiply"]
    assert (fused.calls, fused.flops, fused.transcendentals, fused.bytes) == (21, 1000, 1000, 16_000)
    assert rows[("sort",)].calls == 21 and rows[("sort",)].bytes == 16_000
    assert (rows[("dot",)].calls, rows[("dot",)].flops, rows[("dot",)].bytes) == (3, 2000, 8008)
    assert {row.program for row in profile.rows} == {"settle"}
    assert fused.lines[0][0] == __file__
    assert "cosine" in str(profile) and "GB/s" in str(profile)


def test_a_slice_and_an_update_count_what_they_touch():
    @jit
    def f(x):
        x[3:5] = np.sin(x[100:102])

    with debug.kernels() as profile:
        f(np.zeros(1000))
    assert [row.bytes for row in profile.rows if "sine" in row.operations] == [2 * 8 + 2 * 8]
    assert "f is compiled for one form of call" in str(f.explain())


def test_calls_afterwards_and_before_are_not_counted():
    x = np.ones(100)
    settle(x, 3)
    with debug.kernels() as profile:
        settle(x, 4)
    settle(x, 5)
    assert rows_by_operation(profile)[("sort",)].calls == 4


def test_programs_from_text_are_timed():
    with debug.kernels() as profile:
        program = load_hlo("HloModule m\nENTRY e {\n x = f32[3] parameter(0)\n ROOT y = f32[3] sine(x)\n}")
        program(np.zeros(3, np.float32))
    assert [(row.program, row.operations, row.calls) for row in profile.rows] == [("m", ("sine",), 1)]


def test_fraction_of_limits():
    with debug.kernels() as profile:
        settle(np.ones(100), 1)
    row = rows_by_operation(profile)[("dot",)]._replace(calls=10, seconds=2.0, bytes=4, flops=30, element_bytes=4)
    limits = MachineLimits(100.0, 600.0, 300.0)
    assert row.fraction_of_limit(limits) == 10 * 30 / 600 / 2
    assert row._replace(element_bytes=8).fraction_of_limit(limits) == 10 * 30 / 300 / 2
    assert row._replace(bytes=1000).fraction_of_limit(limits) == 10 * 10 / 2


def test_the_trace(tmp_path):
    with debug.kernels() as profile:
        settle(np.ones(100), 5)
        settle(np.ones(100), 5)
    profile.chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    sorts = [event for event in events if event.get("args", {}).get("operations") == "sort"]
    assert len(sorts) == 10 and all(event["dur"] >= 0 and event["ph"] == "X" for event in sorts)
    assert [event["ts"] for event in sorts] == sorted(event["ts"] for event in sorts)
    assert [event["name"] for event in events if event.get("cat") == "compilation"] == ["compile settle"]


def test_a_process_that_is_asked_to(tmp_path):
    trace = tmp_path / "trace.json"
    code = "import numpy as np, phlox\nf = phlox.jit(lambda x: np.sort(x))\nfor _ in range(4): f(np.ones(50))"
    environment = {**os.environ, "PHLOX_PROFILE": str(trace)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "kernels: 1," in done.stderr and done.stderr.splitlines()[-1].endswith("sort") and not done.stdout
    assert len([event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "kernel"]) == 4


def test_a_backend_without_clocks_is_named():
    on_reference = device_put(np.ones(3), "reference")
    for add, x in ((jit(lambda x: x + 1, backend="reference"), np.ones(3)), (jit(lambda x: x + 1), on_reference)):
        with debug.kernels(), pytest.raises(NotImplementedError, match="backend 'reference' does not time kernels"):
            add(x)

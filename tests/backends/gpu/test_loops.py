"""Loops on a device: what the host counts, and those that are one kernel, beside the reference."""

from dataclasses import replace

import numpy as np
import pytest
from opencl_device import opencl_driver
from phlox.backends.gpu import persistent
from phlox.backends.gpu.pipeline import PIPELINE
from phlox.backends.registry import get_backend
from phlox.compile.pass_manager import run_passes
from phlox.hlo import parse_module

X = np.arange(6, dtype=np.float32)


@pytest.fixture(autouse=True, scope="module")
def opencl():
    opencl_driver()


def plan_of(text, *arguments):
    """The plan of a module whose results are the reference's."""
    module = parse_module(text)
    executable = get_backend("opencl").compile(module)
    expected = get_backend("reference").compile(module)(*arguments)
    for found, wanted in zip(executable(*arguments), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    return executable.as_text("plan")


def counting(body, start=0, limit=5, step=1, kind="s32", direction="LT", size=6):
    """A loop over a counter, an array x that becomes y, and a scalar j that becomes k."""
    state = f"({kind}[], f32[{size}], {kind}[])"
    return f"""HloModule m
add {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
body {{
  s = {state} parameter(0)
  i = {kind}[] get-tuple-element(s), index=0
  x = f32[{size}] get-tuple-element(s), index=1
  j = {kind}[] get-tuple-element(s), index=2
  one = {kind}[] constant({step})
  n = {kind}[] add(i, one)
  {body}
  ROOT t = {state} tuple(n, y, k)
}}
cond {{
  s = {state} parameter(0)
  i = {kind}[] get-tuple-element(s), index=0
  l = {kind}[] constant({limit})
  ROOT c = pred[] compare(i, l), direction={direction}
}}
ENTRY e {{
  x = f32[{size}] parameter(0)
  z = {kind}[] constant({start})
  j = {kind}[] constant(7)
  i = {state} tuple(z, x, j)
  ROOT w = {state} while(i), condition=cond, body=body
}}
"""


DOUBLED = "y = f32[6] add(x, x)  k = {kind}[] copy(j)"
ADDED = "f = f32[] convert({value})  g = f32[6] broadcast(f), dimensions={{}}  y = f32[6] add(x, g)  k = {kind}[] copy({value})"


@pytest.mark.of_gpus
def test_a_counter_that_nothing_reads_is_not_computed():
    plan = plan_of(counting(DOUBLED.format(kind="s32")), X)
    assert plan.count("launch") == 2 and "launch loop_" in plan and "constant: 0 bytes" in plan


@pytest.mark.parametrize("value", ["i", "n"])
@pytest.mark.parametrize(
    ("kind", "start", "limit", "step", "direction"),
    [
        ("s32", 0, 5, 1, "LT"),
        ("s32", 3, -50, -7, "GE"),
        ("s8", -128, 127, 85, "LT"),
        ("u8", 250, 255, 1, "LT"),
        ("u64", 2**63, 2**63 + 3, 1, "LT"),
        ("s32", 5, 5, 1, "LT"),
    ],
)
def test_counters_are_read_from_a_table(value, kind, start, limit, step, direction):
    plan_of(counting(ADDED.format(value=value, kind=kind), start, limit, step, kind, direction), X)


def test_long_counters_are_computed():
    body = "y = f32[6] copy(x)  k = s32[] add(j, i)"
    plan = plan_of(counting(body, -3, 70_000), X)
    assert len(plan) < 2000 and "constant: 0 bytes" in plan


@pytest.mark.of_gpus
def test_rounds_of_arrays_that_are_not_small_are_launched():
    size = 1 << 20
    plan = plan_of(counting(f"y = f32[{size}] add(x, x)  k = s32[] copy(j)", limit=2, size=size), np.ones(size, np.float32))
    assert "2 times:" in plan and "launch loop_" not in plan


REDUCED = """z0 = f32[] constant(0)
  r = f32[] reduce(x, z0), dimensions={{0}}, to_apply=add
  g = f32[{n}] broadcast(r), dimensions={{}}
  m = f32[{n}] constant({{...}})
  q = f32[{n}] add(x, g)
  h = f32[] constant(0.001)
  hs = f32[{n}] broadcast(h), dimensions={{}}
  y = f32[{n}] multiply(q, hs)
  k = s32[] add(j, i)"""


@pytest.mark.parametrize("size", [1, 31, 513, 1500])
@pytest.mark.of_gpus
def test_phases_with_barriers_and_with_several_turns(size):
    body = REDUCED.format(n=size).replace(f"m = f32[{size}] constant({{...}})", "")
    x = np.random.default_rng(0).uniform(0, 1, size).astype(np.float32)
    plan = plan_of(counting(body, limit=7, size=size), x)
    assert "launch loop_" in plan and "times:" not in plan


UNTIL = """HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
left { p = (f32[40], f32[40]) parameter(0)  a = f32[40] get-tuple-element(p), index=0  ROOT r = f32[40] negate(a) }
right { p = (f32[40], f32[40]) parameter(0)  b = f32[40] get-tuple-element(p), index=1  ROOT r = f32[40] abs(b) }
inner {
  s = (s32[], f32[40]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[40] get-tuple-element(s), index=1
  one = s32[] constant(1)
  n = s32[] add(i, one)
  w = f32[40] reverse(x), dimensions={0}
  f = f32[] convert(i)
  g = f32[40] broadcast(f), dimensions={}
  y = f32[40] add(w, g)
  ROOT t = (s32[], f32[40]) tuple(n, y)
}
inner_goes_on {
  s = (s32[], f32[40]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  l = s32[] constant(3)
  ROOT c = pred[] compare(i, l), direction=LT
}
body {
  s = (f32[40], f32[40], s32[]) parameter(0)
  x = f32[40] get-tuple-element(s), index=0
  a = f32[40] get-tuple-element(s), index=1
  j = s32[] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  i0 = (s32[], f32[40]) tuple(zero, x)
  w = (s32[], f32[40]) while(i0), condition=inner_goes_on, body=inner
  x1 = f32[40] get-tuple-element(w), index=1
  half = f32[] constant(0.5)
  hs = f32[40] broadcast(half), dimensions={}
  x2 = f32[40] multiply(x1, hs)
  one = s32[] constant(1)
  k = s32[] add(j, one)
  two = s32[] constant(2)
  parity = s32[] remainder(k, two)
  odd = pred[] compare(parity, one), direction=EQ
  pair = (f32[40], f32[40]) tuple(x2, a)
  x3 = f32[40] conditional(odd, pair, pair), true_computation=left, false_computation=right
  x4 = f32[40] add(x3, x2)
  ROOT t = (f32[40], f32[40], s32[]) tuple(x4, x2, k)
}
cond {
  s = (f32[40], f32[40], s32[]) parameter(0)
  x = f32[40] get-tuple-element(s), index=0
  zero = f32[] constant(0)
  r = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  j = s32[] get-tuple-element(s), index=2
  most = s32[] constant(11)
  early = pred[] compare(j, most), direction=LT
  bound = f32[] constant(1000000)
  small = pred[] compare(r, bound), direction=LT
  ROOT c = pred[] and(early, small)
}
ENTRY e {
  x = f32[40] parameter(0)
  a = f32[40] parameter(1)
  j = s32[] constant(0)
  i = (f32[40], f32[40], s32[]) tuple(x, a, j)
  ROOT w = (f32[40], f32[40], s32[]) while(i), condition=cond, body=body
}
"""


@pytest.mark.parametrize("phases", [1, 20, 1 << 14])
@pytest.mark.of_gpus
def test_loops_that_end_when_the_device_says_so(monkeypatch, phases):
    """Also where the host runs the kernel several times: the arrays that move are then where they were at the beginning."""
    backend = get_backend("opencl")
    monkeypatch.setattr(backend, "target", replace(backend.target, phases=phases))
    generator = np.random.default_rng(1)
    x, a = generator.uniform(-1, 1, (2, 40)).astype(np.float32)
    plan = plan_of(UNTIL, x, a)
    assert "launch loop_" in plan and "branch on" not in plan


HALVED = """HloModule m
add {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
body {{
  s = (f32[300], f32[], s32[]) parameter(0)
  x = f32[300] get-tuple-element(s), index=0
  r = f32[] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=2
  half = f32[] constant(0.5)
  halves = f32[300] broadcast(half), dimensions={{}}
  {update}
  zero = f32[] constant(0)
  q = f32[] reduce(y, zero), dimensions={{0}}, to_apply=add
  one = s32[] constant(1)
  k = s32[] add(n, one)
  ROOT t = (f32[300], f32[], s32[]) tuple(y, q, k)
}}
cond {{
  s = (f32[300], f32[], s32[]) parameter(0)
  r = f32[] get-tuple-element(s), index=1
  bound = f32[] constant({bound})
  ROOT c = pred[] compare(r, bound), direction=GT
}}
ENTRY e {{
  x = f32[300] parameter(0)
  r = f32[] constant(1e6)
  n = s32[] constant(0)
  i = (f32[300], f32[], s32[]) tuple(x, r, n)
  ROOT w = (f32[300], f32[], s32[]) while(i), condition=cond, body=body
}}
"""
IN_PLACE = "y = f32[300] multiply(x, halves)"
BETWEEN_TWO = "v = f32[300] reverse(x), dimensions={0}  y = f32[300] multiply(v, halves)"


@pytest.mark.parametrize("bound", ["2e6", "200", "100", "40", "20", "1", "1e-3"])
@pytest.mark.parametrize("update", [IN_PLACE, BETWEEN_TWO])
@pytest.mark.of_gpus
def test_rounds_that_were_asked_for_after_the_last_do_nothing(monkeypatch, update, bound):
    """Whatever number of rounds there is, and in whichever of two places the array is then."""
    monkeypatch.setattr(persistent, "MOST_TURNS", 0)
    x = np.arange(300, dtype=np.float32) / 300
    plan = plan_of(HALVED.format(update=update, bound=bound), x)
    assert "read some rounds ahead" in plan and (", then point" in plan) == (update != IN_PLACE)


def test_loop_that_a_long_program_runs_in_many_places():
    """There are no functions on a device: a body that the CPU's code would call is copied into each of its loops."""
    adding = "".join(f"  x{i + 1} = f32[4] {('add', 'multiply')[i % 2]}(x{i}, x0)\n" for i in range(40))
    loops = "".join(
        f"  begin{i} = (s32[], f32[4]) tuple(zero, y{i})\n"
        f"  loop{i} = (s32[], f32[4]) while(begin{i}), condition=below, body=next\n"
        f"  y{i + 1} = f32[4] get-tuple-element(loop{i}), index=1\n"
        for i in range(50)
    )
    text = f"""HloModule m
    next {{ s = (s32[], f32[4]) parameter(0)
      k = s32[] get-tuple-element(s), index=0
      one = s32[] constant(1)
      after = s32[] add(k, one)
      x0 = f32[4] get-tuple-element(s), index=1
    {adding}
      ROOT t = (s32[], f32[4]) tuple(after, x40) }}
    below {{ s = (s32[], f32[4]) parameter(0)
      k = s32[] get-tuple-element(s), index=0
      n = s32[] constant(3)
      ROOT l = pred[] compare(k, n), direction=LT }}
    ENTRY main {{ y0 = f32[4] parameter(0)
      zero = s32[] constant(0)
    {loops}
      ROOT y = f32[4] negate(y50) }}"""
    module = run_passes(parse_module(text), PIPELINE)
    assert not [i for computation in module.computations() for i in computation.instructions if i.opcode == "call"]

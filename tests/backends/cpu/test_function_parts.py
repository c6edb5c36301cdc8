"""Programs that native code runs in parts give the same bits as whole; long ones are compiled in parts that LLVM can handle."""

import re
from random import Random

import numpy as np
import pytest
from comparisons import assert_identical
from phlox import cond, fori_loop, hlo, jit, load_hlo
from phlox.backends.cpu import function_parts, region_functions
from phlox.backends.registry import get_backend
from phlox.runtime import register_custom_call, unregister_custom_call
from random_control_flow_modules import control_flow_module, module_arguments
from random_windows_and_casts import windows_and_casts_module


def in_small_parts(monkeypatch):
    monkeypatch.setattr(function_parts, "_LARGEST_WEIGHT", 0)
    monkeypatch.setattr(function_parts, "_PART_LENGTH", 3)
    monkeypatch.setattr(region_functions, "_INLINE_WEIGHT", 0)


def compile_and_run(module):
    executable = get_backend("cpu").compile(module)
    with np.errstate(all="ignore"):
        return executable, executable(*module_arguments(module, 0))


@pytest.mark.parametrize("make", [windows_and_casts_module, control_flow_module], ids=["windows and casts", "control flow"])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(monkeypatch, make, seed):
    module = make(seed, Random(seed).randint(5, 40))
    _, whole = compile_and_run(module)
    in_small_parts(monkeypatch)
    executable, parts = compile_and_run(module)
    assert_identical(parts, whole)
    assert "part.0" in executable.llvm_ir() or module.entry.root.opcode in ("parameter", "tuple")


def newton(x, y):
    """Scalars, real and complex, that loops and branches hand on, and that the parts before and after them need."""
    a, b = x * 2, y * (1 + 2j)
    c = fori_loop(0, 5, lambda i, s: (s[0] * 0.5 + a / s[0], s[1] + b * i, s[2] + 1), (x, b, np.int32(0)))
    d = cond(c[0] > a, lambda v: v * a - c[0], lambda v: v + y, c[0])
    e = fori_loop(
        0, 3, lambda i, s: cond(s > d, lambda s: s - d * a, lambda s: fori_loop(0, i, lambda j, t: t + y + j, s), s), d
    )
    return a, b, c, d, e, c[1] * e + b, c[2] * 2


def arrays(x, y):
    """Arrays that are updated in place, in loops that swap two buffers."""
    v = np.arange(12.0) * x
    for k in range(1, 8):
        v[k] = v[k - 1] * y + v[k]
    w = fori_loop(0, 5, lambda i, s: (s[1][::-1] + s[0][i], s[0] * y), (v, v + 1))
    u = w[0] + v
    u[2:5] = w[1][4:7] * v[3]
    return v, w, u, u.sum() + v.max(), np.sort(u)[:3], np.concatenate([u, v])[5:9]


@pytest.mark.parametrize("program", [newton, arrays])
def test_programs(monkeypatch, program):
    x, y = np.float64(1.25), np.float64(0.75)
    whole = jit(lambda x, y: program(x, y))(x, y)
    in_small_parts(monkeypatch)
    assert_identical(jit(lambda x, y: program(x, y))(x, y), whole)


CALLS = """HloModule m

f {{
  x = f32[] parameter(0)
  v = f32[3] parameter(1)
{steps}
  b = f32[3] broadcast(x{last}), dimensions={{}}
  s = f32[3] add(v, b)
  ROOT t = (f32[], f32[3], f32[]) tuple(x{last}, s, x3)
}}

ENTRY e {{
  x = f32[] parameter(0)
  v = f32[3] parameter(1)
  a = (f32[], f32[3], f32[]) call(x, v), to_apply=f
  y = f32[] get-tuple-element(a), index=0
  w = f32[3] get-tuple-element(a), index=1
  c = (f32[], f32[3], f32[]) call(y, w), to_apply=f
  ROOT r = ((f32[], f32[3], f32[]), f32[]) tuple(c, y)
}}
"""


@pytest.mark.parametrize("count", [20, 1500])
def test_called_computations_in_parts(monkeypatch, count):
    """Functions that are called have a frame of their own."""
    steps = "\n".join(f"  x{k + 1} = f32[] {'add' if k % 2 else 'multiply'}(x{k or ''}, x{k // 2 or ''})" for k in range(count))
    text = CALLS.format(steps=steps, last=count)
    if count < 100:
        in_small_parts(monkeypatch)
    x, v = np.float32(0.5), np.arange(3, dtype=np.float32)
    with np.errstate(all="ignore"):
        expected = hlo.evaluate(hlo.parse_module(text).entry, x, v)
        assert_identical(load_hlo(text)(x, v), expected)


def test_errors_end_all_parts(monkeypatch):
    """An exception in a host call, in a loop, in a part of a part."""
    text = """HloModule m
c { s = (s32[], f32[]) parameter(0) \n i = s32[] get-tuple-element(s), index=0 \n n = s32[] constant(5)
  ROOT l = pred[] compare(i, n), direction=LT }
b { s = (s32[], f32[]) parameter(0) \n i = s32[] get-tuple-element(s), index=0 \n x = f32[] get-tuple-element(s), index=1
  one = s32[] constant(1) \n j = s32[] add(i, one) \n y = f32[] custom-call(x), custom_call_target="test.parts"
  z = f32[] add(y, x) \n ROOT t = (s32[], f32[]) tuple(j, z) }
ENTRY e { x = f32[] parameter(0) \n zero = s32[] constant(0) \n i = (s32[], f32[]) tuple(zero, x)
  w = (s32[], f32[]) while(i), condition=c, body=b \n ROOT y = f32[] get-tuple-element(w), index=1 }"""
    in_small_parts(monkeypatch)
    calls = []

    def target(x):
        calls.append(float(x))
        if x > 100:
            raise OverflowError("more than 100")
        return x * 2

    register_custom_call("test.parts", target)
    try:
        program = load_hlo(text)
        assert program(np.float32(1)) == 243
        with pytest.raises(OverflowError, match="more than 100"):
            program(np.float32(2))
    finally:
        unregister_custom_call("test.parts")
    assert calls == [1, 3, 9, 27, 81, 2, 6, 18, 54, 162]


def longest_function(text):
    """Lines of the longest function of a module."""
    return max(len(body.splitlines()) for body in re.findall(r"^define .*?^}", text, re.MULTILINE | re.DOTALL))


def unrolled_scalars(x, y):
    for _ in range(2000):
        x = x * 0.5 + y
    return x


def unrolled_elements(x, y):
    v = np.zeros(300) + y
    for k in range(1, 300):
        v[k] = v[k - 1] * x
    return v


def unrolled_regions(x, y):
    v = np.arange(20.0) * x
    for k in range(100):
        v = np.sort(v * y)[::-1] + v[k % 20]
    return v


def many_results(x, y):
    return tuple(x * k + y for k in range(1000))


RANDOM = Random(1)
CHOICES = [(RANDOM.randrange(40), RANDOM.randrange(3)) for _ in range(1500)]


def without_order(x, y):
    """Nothing that repeats."""
    values = [x, y]
    for back, operation in CHOICES:
        one, other = values[-1], values[-1 - back % len(values)]
        values.append((one + other, one * 0.5 - other, np.maximum(one, -other) * 0.25)[operation])
    return values[-1]


@pytest.mark.parametrize("program", [unrolled_scalars, unrolled_elements, unrolled_regions, many_results, without_order])
def test_no_function_is_long(program):
    x, y = np.float64(0.9), np.float64(1.1)
    compiled = jit(lambda x, y: program(x, y)).lower(x, y).compile()
    assert longest_function(compiled.executable.llvm_ir()) < 800
    np.testing.assert_allclose(compiled(x, y), program(x, y), rtol=1e-12)


def test_arguments_are_read_by_the_parts_that_use_them():
    numbers = [1.5 * k for k in range(1, 1501)]
    compiled = jit(lambda *numbers: [number * k for k, number in enumerate(numbers)]).lower(*numbers).compile()
    text = compiled.executable.llvm_ir()
    kernel = re.search(r"^define i32 @\"kernel\".*?^}", text, re.MULTILINE | re.DOTALL)[0]
    assert kernel.count(" load double") < 10
    np.testing.assert_array_equal(compiled(*numbers), np.arange(1500) * np.array(numbers))


def test_a_scalar_argument_that_loops_hand_on_reaches_their_parts(monkeypatch):
    """It is read at the kernel's entry, before the kernel has the memory in which its parts find what others have computed."""
    steps = "\n".join(f"  r{k + 1} = f64[400] reverse(r{k}), dimensions={{0}}" for k in range(40))
    state = "(s32[], f64[400], f64[])"
    text = f"""HloModule m

inner_condition {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}}

inner {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f64[400] get-tuple-element(s), index=1
  x = f64[] get-tuple-element(s), index=2
  b = f64[400] broadcast(x), dimensions={{}}
  r0 = f64[400] add(v, b)
{steps}
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = {state} tuple(j, r40, x)
}}

outer {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f64[400] get-tuple-element(s), index=1
  x = f64[] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  u = f64[400] reverse(v), dimensions={{0}}
  first = {state} tuple(zero, u, x)
  last = {state} while(first), condition=inner_condition, body=inner
  w = f64[400] get-tuple-element(last), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = {state} tuple(j, w, x)
}}

ENTRY e {{
  x = f64[] parameter(0)
  v = f64[400] parameter(1)
  zero = s32[] constant(0)
  u = f64[400] reverse(v), dimensions={{0}}
  first = {state} tuple(zero, u, x)
  ROOT last = {state} while(first), condition=inner_condition, body=outer
}}"""
    in_small_parts(monkeypatch)
    monkeypatch.setattr(function_parts, "_LARGEST_WEIGHT_OF_ONE", 1)
    monkeypatch.setattr(function_parts, "_LARGEST_WEIGHT", 40)  # that of the bodies is larger
    arguments = np.float64(0.5), np.arange(400.0)
    expected = hlo.evaluate(hlo.parse_module(text).entry, *arguments)
    assert_identical(load_hlo(text)(*arguments), expected)

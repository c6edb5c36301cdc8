"""Quotients and roots where a device approximates reciprocals: rounded once, whichever neighbours of these it gives."""

import ctypes

import numpy as np
import pytest
from llvmlite import binding, ir
from phlox.backends.cpu.machine_code import target_machine
from phlox.backends.cpu.target import host_target
from phlox.backends.gpu.targets.nvptx import nvptx_target
from phlox.backends.llvm.arithmetic import constant, moderate_quotient, square_root
from phlox.backends.llvm.loops import counted_loop
from phlox.backends.llvm.module import DeviceFeatures, DeviceModule
from phlox.backends.llvm.quotients import RECIPROCAL, quotient
from phlox.backends.llvm.types import FLOAT, I32, I64, POINTER, broadcast_lanes

NAMES = nvptx_target("sm_90a").approximations
# What stands for the device's: so many floats above the one that is nearest.
APPROXIMATED = """
define float @"{name}"(float %x) {{
  %wide = fpext float %x to double
  %root = call double @llvm.sqrt.f64(double %wide)
  %of = select i1 {is_root}, double %root, double %wide
  %exact = fdiv double 1.0, %of
  %nearest = fptrunc double %exact to float
  %bits = bitcast float %nearest to i32
  %others = add i32 %bits, {above}
  %other = bitcast i32 %others to float
  %apart = fsub float %nearest, %nearest
  %is_number = fcmp oeq float %apart, 0.0
  %is_zero = fcmp oeq float %nearest, 0.0
  %is_moved = xor i1 %is_zero, %is_number
  %result = select i1 %is_moved, float %other, float %nearest
  ret float %result
}}
declare double @llvm.sqrt.f64(double)
"""
# Of doubles: the first 32 bits of the reciprocal, and so many units of these above.
APPROXIMATED_DOUBLE = """
define double @"{name}"(double %x) {{
  %exact = fdiv double 1.0, %x
  %bits = bitcast double %exact to i64
  %first = and i64 %bits, -4294967296
  %others = add i64 %first, {above}
  %other = bitcast i64 %others to double
  %apart = fsub double %exact, %exact
  %is_number = fcmp oeq double %apart, 0.0
  %is_zero = fcmp oeq double %exact, 0.0
  %is_moved = xor i1 %is_zero, %is_number
  %result = select i1 %is_moved, double %other, double %exact
  ret double %result
}}
"""


def with_approximation(text, name, above):
    text = "\n".join(line for line in text.splitlines() if not (line.startswith("declare") and name in line))
    text = text.replace(name, "approximated")
    if name == NAMES[RECIPROCAL]:
        text += APPROXIMATED_DOUBLE.format(name="approximated", above=above << 32)
    else:
        is_root = "true" if name == NAMES["reciprocal root"] else "false"
        text += APPROXIMATED.format(name="approximated", is_root=is_root, above=above)
    return text


def applied(function, count, above):
    """Arrays to what the function's code gives, for reciprocals that are so much above the nearest ones, where it has any."""
    module = DeviceModule("approximations", DeviceFeatures(0, approximations=NAMES))
    kind = ir.FunctionType(ir.VoidType(), [I64] + [POINTER] * (count + 1))
    b = ir.IRBuilder(ir.Function(module, kind, "run").append_basic_block("entry"))
    size, *pointers = b.function.args
    with counted_loop(b, 2, stop=size) as number:
        *given, place = [b.gep(pointer, [number], source_etype=FLOAT) for pointer in pointers]
        b.store(function(b, *[b.load(one, typ=FLOAT) for one in given]), place)
    b.ret_void()
    text = str(module)
    (name,) = [name for name in NAMES.values() if name in text] or [None]
    assert (name is None) is (above is None)
    if name is not None:
        text = with_approximation(text, name, above)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(text), target_machine(host_target()))
    engine.finalize_object()
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (count + 1))(engine.get_function_address("run"))

    def call(*arrays):
        result = np.empty_like(arrays[0])
        run(result.size, *[array.ctypes.data for array in (*arrays, result)])
        return result

    call.engine = engine
    return call


@pytest.mark.parametrize("above", [-1, 0, 1])
def test_quotients(above):
    random = np.random.default_rng(above + 1)
    divide = applied(moderate_quotient, 2, above)
    x, y = (np.ldexp(random.uniform(1, 2, 500_000), random.integers(-30, 30, 500_000)).astype(np.float32) for _ in range(2))
    # Divisors just below a power of two have reciprocals that are hardest to round.
    y[::3] = np.ldexp(np.float32(2 - 2.0**-23 * (1 + np.arange(y[::3].size) % 5)), random.integers(-30, 30, y[::3].size))
    assert np.array_equal(divide(x, y), x / y) and np.array_equal(divide(-x, y), -x / y)


def numbers(random, count):
    """Floats of all kinds: any bits, small multiples of powers of two, subnormal ones, what is beside these powers."""
    bits = random.integers(0, 1 << 32, count).astype(np.uint32)
    few = np.ldexp(random.integers(0, 200, count), random.integers(-149, 120, count)).astype(np.float32).view(np.uint32)
    tiny = random.integers(0, 0x800000, count).astype(np.uint32)
    beside = ((random.integers(0, 256, count) << 23) + random.integers(-4, 5, count)).astype(np.uint32)
    return np.choose(random.integers(0, 4, count), [bits, few, tiny, beside]).view(np.float32)


def of_one_lane(builder, x, y):
    vectors = [broadcast_lanes(builder, one, 2) for one in (x, y)]
    return builder.extract_element(quotient(builder, *vectors), I32(1))


@pytest.mark.parametrize("above", [-50, 0, 1, 50])
def test_quotients_of_any_numbers_by_one(above):
    random = np.random.default_rng(above + 50)
    x, y = numbers(random, 500_000), numbers(random, 500_000)
    with np.errstate(all="ignore"):
        expected = x / y
    found = applied(of_one_lane, 2, above)(x, y)
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found)[expected == 0], np.signbit(expected)[expected == 0])


@pytest.mark.parametrize("divisor", [3.0, -0.1, 0.0, -0.0, float("inf"), float("nan"), 1e-45, -3e38])
def test_quotients_by_a_constant(divisor):
    x = numbers(np.random.default_rng(8), 50_000)
    divide = applied(lambda builder, x: quotient(builder, x, constant(FLOAT, divisor)), 1, None)
    with np.errstate(all="ignore"):
        assert np.array_equal(divide(x), x / np.float32(divisor), equal_nan=True)


@pytest.mark.parametrize("above", [-1, 0, 1])
def test_roots(above):
    root = applied(square_root, 1, above)
    bits = np.random.default_rng(above + 1).integers(0, 0x7F800000, 1_000_000, dtype=np.uint32)
    specials = np.array([0, 1, 0x7FFFFF, 0x800000, 0x3F7FFFFF, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000], np.uint32)
    x = np.concatenate([bits, np.random.default_rng(7).integers(0, 0x1000000, 100_000, dtype=np.uint32), specials])
    x = np.concatenate([x.view(np.float32), np.float32([-0.0, -1.0, -np.inf, -1e-45])])
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(x)
    assert np.array_equal(root(x), expected, equal_nan=True) and np.signbit(root(np.float32([-0.0]))).all()

"""Quotients and roots where a device approximates reciprocals: rounded once, whichever neighbours of these it gives."""

import ctypes

import numpy as np
import pytest
from llvmlite import binding, ir
from phlox.backends.cpu.machine_code import target_machine
from phlox.backends.cpu.target import host_target
from phlox.backends.gpu.targets.nvptx import nvptx_target
from phlox.backends.llvm.arithmetic import moderate_quotient, square_root
from phlox.backends.llvm.loops import counted_loop
from phlox.backends.llvm.module import DeviceFeatures, DeviceModule
from phlox.backends.llvm.types import FLOAT, I64, POINTER

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


def applied(function, count, above):
    """Arrays to what the function's code gives, for reciprocals that are this many floats above the nearest ones."""
    module = DeviceModule("approximations", DeviceFeatures(0, approximations=NAMES))
    kind = ir.FunctionType(ir.VoidType(), [I64] + [POINTER] * (count + 1))
    b = ir.IRBuilder(ir.Function(module, kind, "run").append_basic_block("entry"))
    size, *pointers = b.function.args
    with counted_loop(b, 2, stop=size) as number:
        *given, place = [b.gep(pointer, [number], source_etype=FLOAT) for pointer in pointers]
        b.store(function(b, *[b.load(one, typ=FLOAT) for one in given]), place)
    b.ret_void()
    text = str(module)
    (name,) = [name for name in NAMES.values() if name in text]
    text = "\n".join(line for line in text.splitlines() if not (line.startswith("declare") and name in line))
    text = text.replace(name, "approximated")
    is_root = "true" if name == NAMES["reciprocal root"] else "false"
    text += APPROXIMATED.format(name="approximated", is_root=is_root, above=above)
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

"""Quotients of integers by a constant as products: those that truncated division gives."""

import ctypes

import numpy as np
import pytest
from llvmlite import ir
from phlox.backends.cpu.machine_code import LoadedCode, compile_objects
from phlox.backends.cpu.target import FULL, host_target
from phlox.backends.llvm.builder import Builder
from phlox.backends.llvm.integer_quotients import quotient_by_constant
from phlox.backends.llvm.types import POINTER
from thinning import one_in

LANES = 64


def divisors_of(dtype):
    limits = np.iinfo(dtype)
    found = [1, 2, 3, 7, 10, 64, 100, limits.max // 2 + 1, limits.max - 1, limits.max]
    return [*found, -2, -3, -7, limits.min, limits.min + 1] if limits.min else found


@pytest.mark.parametrize("dtype", one_in(6, [np.int32, np.uint8, np.uint32, np.int8, np.int16, np.uint16]))
def test_quotients(dtype):
    module, divisors, limits = ir.Module("quotients"), divisors_of(dtype), np.iinfo(dtype)
    vector = ir.VectorType(ir.IntType(limits.bits), LANES)
    for number, divisor in enumerate(divisors):
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER] * 2), f"by_{number}")
        b = Builder(function.append_basic_block("entry"))
        x = b.load(function.args[0], typ=vector, align=1)
        b.store(quotient_by_constant(b, x, divisor, signed=limits.min < 0), function.args[1], align=1)
        b.ret_void()
    code = LoadedCode(list(compile_objects({str(module): FULL}, host_target())), host_target(), {})
    x = np.random.default_rng(1).integers(limits.min, limits.max, LANES, dtype=dtype, endpoint=True)
    x[:7] = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2]
    for number, divisor in enumerate(divisors):
        found = np.empty_like(x)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address(f"by_{number}"))
        call(x.ctypes.data, found.ctypes.data)
        assert found.tolist() == [abs(n) // abs(divisor) * (1 if (n < 0) == (divisor < 0) else -1) for n in x.tolist()]

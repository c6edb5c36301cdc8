"""What the builder of kernels folds is what LLVM's instructions say."""

import numpy as np
import pytest
from llvmlite import ir
from phlox.backends.gpu.kernel_builder import KernelBuilder
from phlox.backends.llvm.types import I8, I16, I64

EXPECTED = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "udiv": np.floor_divide,
    "urem": np.remainder,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "lshr": np.right_shift,
}


@pytest.fixture
def builder():
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [I8]), "f")
    return KernelBuilder(function.append_basic_block("entry"))


@pytest.mark.parametrize("operation", EXPECTED)
def test_operations_on_constants(builder, operation):
    for x in (0, 1, 7, 200, 255):
        for y in (1, 3, 7):
            given = getattr(builder, operation)(I8(x), I8(y)).constant
            assert given == EXPECTED[operation](np.uint8(x), np.uint8(y))
    assert not builder.block.instructions


def test_operations_whose_results_are_anything_are_left_to_llvm(builder):
    for made in (builder.udiv(I8(3), I8(0)), builder.urem(I8(3), I8(0)), builder.shl(I8(3), I8(8))):
        assert made in builder.block.instructions


@pytest.mark.parametrize("operation", ["udiv", "urem", "and_", "lshr", "mul", "add", "or_"])
def test_results_are_below_what_is_known_of_them(builder, operation):
    number = builder.below(builder.function.args[0], 24)
    for y in (3, 5, 9):
        made = getattr(builder, operation)(number, I8(y))
        most = max(EXPECTED[operation](np.arange(24), y))
        assert builder.urem(builder.zext(made, I16), I16(256)) is builder.zext(made, I16)
        assert most > 24 or isinstance(builder.icmp_unsigned("<", made, I8(64)), ir.Constant)
        assert not isinstance(builder.icmp_unsigned("<", made, I8(int(most))), ir.Constant)


def test_numbers_are_computed_once_and_addresses_each_time(builder):
    number = builder.function.args[0]
    assert builder.mul(number, I8(3)) is builder.mul(I8(3), number)
    wide = builder.zext(number, I64)
    assert builder.add(wide, I64(3)) is not builder.add(wide, I64(3))

"""Elementary functions of every value of the floats of 16 bits and less, against f64: at most the neighbouring number."""

import numpy as np
import pytest
from elementary_accuracy import BINARY, wide_reference
from phlox.backends.llvm.elementary import ELEMENTARY_FUNCTIONS
from phlox.backends.registry import get_backend
from phlox.hlo import Shape, evaluate_operation
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.xla_builder import XlaBuilder
from thinning import one_in

# Functions of one operand; sqrt is among the exact ones.
FUNCTIONS = {opcode: wide_reference(opcode) for opcode in ELEMENTARY_FUNCTIONS if opcode not in BINARY and opcode != "sqrt"}
# Correctly rounded, being exact or correctly rounded in f32.
EXACT = {
    "abs": np.abs,
    "negate": np.negative,
    "ceil": np.ceil,
    "floor": np.floor,
    "round-nearest-even": np.rint,
    "sqrt": np.sqrt,
}
NARROW = [t for t in ELEMENT_TYPES.values() if t.is_float and t.bits <= 16]


def code_numbers(array, element_type):
    """Consecutive integers for consecutive numbers; the two zeros have the same."""
    codes = array.view(f"u{array.dtype.itemsize}").astype(np.int64)
    if element_type.name == "f8e8m0fnu":
        return codes
    sign = 1 << (element_type.bits - 1)
    return np.where(codes & sign, -(codes & (sign - 1)), codes)


@pytest.mark.parametrize("element_type", one_in(3, NARROW), ids=str)
def test_every_value(element_type):
    """NaN, infinities and signs as in f64 rounded to the type; on both backends."""
    values = np.arange(2**element_type.bits).astype(f"u{element_type.byte_size}").view(element_type.dtype)
    functions = {**FUNCTIONS, **EXACT}
    b = XlaBuilder("functions")
    x = b.parameter(Shape(element_type, values.shape))
    produced = get_backend("cpu").compile(b.build_module(b.Tuple([b.emit(opcode, x) for opcode in functions])))(values)
    with np.errstate(all="ignore"):
        for (opcode, function), native in zip(functions.items(), produced):
            wide = function(values.astype(np.float64))
            expected = evaluate_operation("convert", wide, shape=Shape(element_type, values.shape))
            for actual in (native, evaluate_operation(opcode, values)):
                mine, wanted = actual.astype(np.float64), expected.astype(np.float64)
                number = ~np.isnan(wanted)
                np.testing.assert_array_equal(np.isnan(mine), ~number, err_msg=opcode)
                np.testing.assert_array_equal(np.isinf(mine), np.isinf(wanted), err_msg=opcode)
                np.testing.assert_array_equal(np.signbit(mine[number]), np.signbit(wanted[number]), err_msg=opcode)
                apart = np.abs(code_numbers(actual, element_type) - code_numbers(expected, element_type))[number]
                assert apart.max(initial=0) <= (0 if opcode in EXACT else 1), opcode

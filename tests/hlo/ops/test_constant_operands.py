"""Elementwise operations with a constant operand, which passes may rewrite, at the values that are easily missed.

Native code after all passes against the reference on the program as written.
"""

import ml_dtypes
import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import BF16, C64, C128, F16, F32, F64, OPERATIONS, PRED, Shape, ShapeError, evaluate
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.hlo.operation import ELEMENTWISE
from phlox.xla_builder import XlaBuilder

INTEGERS = [t for t in ELEMENT_TYPES.values() if t.is_integer]
BINARY = [o for o, r in OPERATIONS.items() if ELEMENTWISE in r.traits and len(r.operand_names) == 2]
PLAIN = [opcode for opcode in BINARY if opcode not in ("compare", "stochastic-convert", "complex")]
# Of the values, besides the first and the last, those that are tried as constants; the widths, as amounts of a shift.
CONSTANTS = {-1, 0, 1, 2, 3, 0.5, -0.5, 10, 8, 16, 32, 64, float("inf")}
# Those whose results may differ from the reference in the last bits.
APPROXIMATE = {"power", "atan2"}


def integer_values(element_type):
    info = ml_dtypes.iinfo(element_type.dtype)
    low, high, width = int(info.min), int(info.max), element_type.bits
    found = {low, low + 1, high, high - 1, low // 2, high // 2, -1, 0, 1, 2, 3, 5, 7, 10, width - 1, width, width + 1}
    return sorted(value for value in found if low <= value <= high)


def array_of(values, element_type):
    if element_type.is_integer and element_type.bits < 64:
        return np.array(values, np.int64).astype(element_type.dtype)
    with np.errstate(all="ignore"):
        return np.array(values, None if element_type.is_complex else element_type.dtype).astype(element_type.dtype)


def float_values(element_type):
    info = ml_dtypes.finfo(element_type.dtype)
    numbers = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 7.0, np.inf, float(info.max), float(info.smallest_subnormal)]
    return [*numbers, *(-number for number in numbers), np.nan]


def accepts(opcode, element_type):
    try:
        b = XlaBuilder("f")
        b.emit(opcode, b.parameter(Shape(element_type)), b.parameter(Shape(element_type)))
    except ShapeError:
        return False
    return True


def same(actual, expected, element_type, is_exact, message):
    wide = np.complex128 if element_type.is_complex else np.float64 if element_type.is_float else object
    with np.errstate(invalid="ignore"):
        actual, expected = np.asarray(actual).astype(wide), np.asarray(expected).astype(wide)
    if not is_exact:
        tolerance = 4 * float(ml_dtypes.finfo(element_type.dtype).eps)
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=0, err_msg=message)
        return
    np.testing.assert_array_equal(actual, expected, err_msg=message)
    if wide is np.float64:
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(expected[zero]), err_msg=message)


def check(opcode, element_type, values, **attributes):
    """The array of the values with each of them as a constant, on either side."""
    array = array_of(values, element_type)
    b = XlaBuilder("constants")
    x = b.parameter(Shape(element_type, array.shape))
    results = []
    constants = array[[n in (0, len(array) - 1) or complex(value) in CONSTANTS for n, value in enumerate(array)]]
    for value in constants:
        splat = b.BroadcastInDim(b.constant(value), array.shape, ())
        results += [b.emit(opcode, x, splat, **attributes), b.emit(opcode, splat, x, **attributes)]
    module = b.build_module(b.Tuple([*results, b.emit(opcode, x, x, **attributes)]))
    produced = get_backend("cpu").compile(module)(array)
    result_type = module.entry.shape.elements[0].element_type
    for number, (mine, wanted) in enumerate(zip(produced, evaluate(module.entry, array), strict=True)):
        place = "itself" if number == len(results) else f"{constants[number // 2]!r} on the {'left' if number % 2 else 'right'}"
        is_exact = opcode not in APPROXIMATE or not element_type.is_float
        same(mine, wanted, result_type, is_exact, f"{opcode} of {element_type} with {place}")


@pytest.mark.parametrize("element_type", INTEGERS, ids=str)
def test_integers(element_type):
    """Division by 0 and of the lowest number by -1, shifts by the width and more, powers, wrapping sums and products."""
    for opcode in PLAIN:
        if accepts(opcode, element_type):
            check(opcode, element_type, integer_values(element_type))


@pytest.mark.parametrize("element_type", [F32, F64, F16, BF16], ids=str)
def test_floats(element_type):
    """Zeros of both signs, infinities and NaN, in sums with 0, products with 0 and 1, and powers."""
    for opcode in PLAIN:
        if accepts(opcode, element_type):
            check(opcode, element_type, float_values(element_type))


def test_pred():
    for opcode in PLAIN:
        if accepts(opcode, PRED):
            check(opcode, PRED, [False, True])


@pytest.mark.parametrize("element_type", [PRED, *INTEGERS[:3], F32, F16, BF16], ids=str)
def test_comparisons(element_type):
    values = [False, True]
    if element_type is not PRED:
        values = float_values(element_type) if element_type.is_float else integer_values(element_type)
    for direction in ("EQ", "NE", "GE", "GT", "LE", "LT"):
        check("compare", element_type, values, direction=direction)
        if element_type.is_float:
            check("compare", element_type, values, direction=direction, type="TOTALORDER")


@pytest.mark.parametrize("element_type", [C64, C128], ids=str)
def test_complex_numbers(element_type):
    """Finite numbers: what a product with infinity is depends on how it is formed."""
    values = [0, 1, -1, 1j, -1j, 2, 0.5, 1 + 1j, 3 - 4j]
    for opcode in ("add", "subtract", "multiply"):
        check(opcode, element_type, values)
    for direction in ("EQ", "NE"):
        check("compare", element_type, values, direction=direction)


@pytest.mark.parametrize("element_type", [*INTEGERS, F32, F64, F16, BF16], ids=str)
def test_clamp_between_constants(element_type):
    """Bounds that are scalars, and that are in the wrong order: the upper one counts."""
    values = float_values(element_type) if element_type.is_float else integer_values(element_type)
    array = array_of(values, element_type)
    b = XlaBuilder("clamp")
    x = b.parameter(Shape(element_type, array.shape))
    picked = array[:: max(1, len(array) // 5)]
    pairs = [(low, high) for low in picked for high in picked]
    module = b.build_module(b.Tuple([b.Clamp(b.constant(low), x, b.constant(high)) for low, high in pairs]))
    expected = evaluate(module.entry, array)
    for (low, high), mine, wanted in zip(pairs, get_backend("cpu").compile(module)(array), expected, strict=True):
        same(mine, wanted, element_type, True, f"clamp of {element_type} to [{low}, {high}]")
        if element_type.is_integer:
            assert [int(v) for v in wanted] == [min(max(int(v), int(low)), int(high)) for v in array]

"""Literals in HLO text keep every bit, in the spelling of XLA, which reads the same values from them."""

import math

import numpy as np
import pytest
from phlox import hlo
from phlox.hlo import parse_module
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.xla_builder import XlaBuilder


def constant_module(value):
    b = XlaBuilder("c")
    b.emit("constant", literal=value)
    return b.build_module()


def literal_in(text):
    return text.split("constant(", 1)[1].rsplit(")\n", 1)[0]


def every_value(element_type):
    """All values of a narrow type, many bit patterns of a wide one, special values among them."""
    dtype = element_type.dtype
    if element_type.kind == "pred":
        return np.array([True, False])
    if element_type.bits < 8 and element_type.is_integer:
        low = -(2 ** (element_type.bits - 1)) if element_type.kind == "signed" else 0
        return np.arange(low, low + 2**element_type.bits).astype(dtype)
    if dtype.itemsize <= 2:
        return np.arange(2**element_type.bits).astype(f"u{dtype.itemsize}").view(dtype)
    random = np.random.default_rng(element_type.bits).integers(0, 256, 500 * dtype.itemsize, dtype=np.uint8).view(dtype)
    if element_type.is_integer:
        return np.concatenate([random, np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1], dtype)])
    # 7.038531e-26 is the shortest decimal form of 0x15ae43fd, but read as a double and then rounded it is 0x15ae43fe.
    misread = np.array([0x15AE43FD, 0x15AE43FE], np.uint32).view(np.float32).astype(dtype)
    specials = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 0.1, 1e-45, 3.4028235e38, 5e-324]
    return np.concatenate([random, misread, np.array(specials).astype(dtype)])


ARRAY_TYPES = [element_type for element_type in ELEMENT_TYPES.values() if element_type.dtype is not None]


@pytest.mark.parametrize("element_type", ARRAY_TYPES, ids=str)
def test_literals_keep_every_bit(element_type):
    values = every_value(element_type)
    module = constant_module(values)
    literal = parse_module(module.as_text()).entry.root.attributes["literal"]
    assert literal.dtype == values.dtype
    kept = literal.view(np.uint8) == values.view(np.uint8)
    assert kept.all(), values[~kept.reshape(len(values), -1).all(axis=1)]


@pytest.mark.parametrize(
    "value, text",
    [
        (np.float32(0.1), "0.1"),
        (np.float32(1), "1"),
        (np.float64(0.1), "0.1"),
        (np.float64(1e300), "1e+300"),
        (np.float32(-0.0), "-0.0"),
        (np.array([np.inf, -np.inf, np.nan, -np.nan], np.float32), "{inf, -inf, nan, -nan}"),
        (np.array([0x7FC00001, 0x7F800001], np.uint32).view(np.float32), "{nan(0x400001), nan(0x1)}"),
        (np.array([0xFFC12345, 0xFF800001], np.uint32).view(np.float32), "{-nan(0x412345), -nan(0x1)}"),
        (np.complex64(complex(0.5, -np.inf)), "(0.5, -inf)"),
        (np.array([1 + 2j, 3]), "{(1, 2), (3, 0)}"),
        (np.bool_(True), "true"),
        (np.array([[True, False], [False, False]]), "{ { 1, 0 }, { 0, 0 } }"),
        (np.arange(6, dtype=np.int8).reshape(1, 2, 3), "{ { { 0, 1, 2 }, { 3, 4, 5 } } }"),
        (np.zeros(0), "{}"),
        (np.zeros((0, 3)), "{}"),
        (np.zeros((2, 0)), "{ {}, {} }"),
        (np.zeros((2, 0, 3)), "{ {}, {} }"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        ((np.float32(1), (np.array([True]), np.int8(-3))), "(1, ({1}, -3))"),
        ((), "()"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_literals_are_spelled_as_xla_spells_them(value, text):
    module = constant_module(value)
    assert literal_in(module.as_text()) == text
    assert parse_module(module.as_text()) == module


def test_floats_are_read_as_written():
    # Of bfloat16's neighbours of 1/3, 0.334 is the shortest decimal that means the nearest one.
    third = np.float32(1 / 3).astype(hlo.BF16.dtype)
    assert literal_in(constant_module(third).as_text()) == "0.334"
    text = "ENTRY e { ROOT c = f32[6] constant({1, -0, .5, 2., 1e-3, /*index=5*/ -1.5E+2}) }"
    values = parse_module(text).entry.root.attributes["literal"]
    assert values.tolist() == [1.0, 0.0, 0.5, 2.0, np.float32(0.001), -150.0]
    assert math.copysign(1, values[1]) == -1


@pytest.mark.peer
@pytest.mark.parametrize("element_type", ARRAY_TYPES, ids=str)
def test_xla_reads_the_literals_that_are_meant(xla, element_type):
    values = every_value(element_type)
    if element_type.is_complex:
        # XLA gives both parts of a complex number the NaN payload of the last one that it read.
        values = values[~np.isnan(values)]
    if element_type.name == "f8e8m0fnu":
        # XLA prints 2**-127 as 5.9e-39, which its own parser reads as 2**-127 and double rounding as 2**-126.
        values = values[1:]
    module = constant_module(values)
    options = xla.HloPrintOptions()
    options.print_large_constants = True
    printed = xla.hlo_module_from_text(module.as_text()).to_string(options)
    assert parse_module(printed) == module

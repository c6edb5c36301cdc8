"""Complex functions in native code at zeros, infinities and NaN: C99 Annex G, and NumPy's choices beyond it."""

import math

import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import C64, C128, Shape, component_type
from phlox.xla_builder import XlaBuilder

PI = math.pi
ELEMENT_TYPES = pytest.mark.parametrize("element_type", [pytest.param(t, id=t.name) for t in (C64, C128)])

# One row a line: the operands, a colon, the parts of the result. `0?` and `inf?` have either sign, `?` is anything.
# C99 G.6.3.1
EXPONENTIAL = """
    0 0: 1 0
    -0 0: 1 0
    1 inf: nan nan
    1 nan: nan nan
    inf 0: inf 0
    -inf 2: -0 0
    -inf 4: -0 -0
    inf 2: -inf inf
    inf 4: -inf -inf
    -inf inf: 0? 0?
    inf inf: inf? nan
    -inf nan: 0? 0?
    inf nan: inf? nan
    nan 0: nan 0
    nan 1: nan nan
    nan nan: nan nan
"""
# C99 G.6.3.2, and the two sides of the branch cut
LOG = """
    -0 0: -inf pi
    0 0: -inf 0
    1 inf: inf pi/2
    1 nan: nan nan
    -inf 1: inf pi
    inf 1: inf 0
    -inf inf: inf 3pi/4
    inf inf: inf pi/4
    inf nan: inf nan
    -inf nan: inf nan
    nan 1: nan nan
    nan inf: inf nan
    nan nan: nan nan
    1 0: 0 0
    -1 0: 0 pi
"""
# C99 G.6.4.2, and the two sides of the branch cut
SQRT = """
    0 0: 0 0
    -0 0: 0 0
    1 inf: inf inf
    nan inf: inf inf
    -inf inf: inf inf
    inf inf: inf inf
    1 nan: nan nan
    -inf 1: 0 inf
    inf 1: inf 0
    -inf nan: nan inf?
    inf nan: inf nan
    nan 1: nan nan
    nan nan: nan nan
    -4 0: 0 2
    4 0: 2 0
"""
# C99 G.6.2.4
COSH = """
    0 0: 1 0
    0 inf: nan 0?
    0 nan: nan 0?
    1 inf: nan nan
    1 nan: nan nan
    inf 0: inf 0
    inf 2: -inf inf
    inf 4: -inf -inf
    inf inf: inf? nan
    inf nan: inf nan
    nan 0: nan 0?
    nan 1: nan nan
    nan nan: nan nan
"""
# C99 G.6.2.5
SINH = """
    0 0: 0 0
    0 inf: 0? nan
    0 nan: 0? nan
    1 inf: nan nan
    1 nan: nan nan
    inf 0: inf 0
    inf 2: -inf inf
    inf 4: -inf -inf
    inf inf: inf? nan
    inf nan: inf? nan
    nan 0: nan 0
    nan 1: nan nan
    nan nan: nan nan
"""
# C99 G.6.2.6; 0 + i inf and 0 + i nan as corrected by defect report 471
TANH = """
    0 0: 0 0
    1 inf: nan nan
    1e30 inf: nan nan
    0 inf: 0 nan
    1 nan: nan nan
    0 nan: 0 nan
    inf 1: 1 0
    inf 2: 1 -0
    inf inf: 1 0?
    inf nan: 1 0?
    nan 0: nan 0
    nan 1: nan nan
    nan nan: nan nan
"""
# C99 G.6.1.1, and the two sides of the branch cuts
ACOS = """
    0 0: pi/2 -0
    -0 0: pi/2 -0
    0 nan: pi/2 nan
    -0 nan: pi/2 nan
    1 inf: pi/2 -inf
    1 nan: nan nan
    -inf 1: pi -inf
    inf 1: 0 -inf
    -inf inf: 3pi/4 -inf
    inf inf: pi/4 -inf
    inf nan: nan inf?
    -inf nan: nan inf?
    nan 1: nan nan
    nan inf: nan -inf
    nan nan: nan nan
    1 0: 0 -0
    -1 0: pi -0
    2 0: 0 -1.3169578969248167
    -2 0: pi -1.3169578969248167
"""
# C99 G.6.2.1; 0 + i nan as corrected by defect report 471
ACOSH = """
    0 0: 0 pi/2
    -0 0: 0 pi/2
    0 nan: nan pi/2?
    1 inf: inf pi/2
    1 nan: nan nan
    -inf 1: inf pi
    inf 1: inf 0
    -inf inf: inf 3pi/4
    inf inf: inf pi/4
    inf nan: inf nan
    -inf nan: inf nan
    nan 1: nan nan
    nan inf: inf nan
    nan nan: nan nan
    1 0: 0 0
    2 0: 1.3169578969248167 0
    -2 0: 1.3169578969248167 pi
"""
# C99 G.6.2.2, and the two sides of the branch cuts
ASINH = """
    0 0: 0 0
    1 inf: inf pi/2
    1 nan: nan nan
    inf 1: inf 0
    inf inf: inf pi/4
    inf nan: inf nan
    nan 0: nan 0
    nan 1: nan nan
    nan inf: inf? nan
    nan nan: nan nan
    0 1: 0 pi/2
    0 2: 1.3169578969248167 pi/2
    -0 2: -1.3169578969248167 pi/2
"""
# C99 G.6.2.3, and the two sides of the branch cuts
ATANH = """
    0 0: 0 0
    0 nan: 0 nan
    1 0: inf 0
    1 inf: 0 pi/2
    1 nan: nan nan
    inf 1: 0 pi/2
    inf inf: 0 pi/2
    inf nan: 0 nan
    nan 1: nan nan
    nan inf: 0? pi/2
    nan nan: nan nan
    2 0: 0.5493061443340549 pi/2
    2 -0: 0.5493061443340549 -pi/2
"""
# Functions that Annex G does not have: limits, and NumPy's choice for sign and for the quotients behind rsqrt.
OTHERS = {
    "sign": """
        0 0: 0 0
        -0 -0: 0 0
        inf 5: 1 0
        -inf 5: -1 0
        2 -inf: 0 -1
        inf inf: nan nan
        nan 1: nan nan
        0 nan: nan nan
        inf nan: 1 0
        -3 4: -0.6 0.8
    """,
    "rsqrt": """
        0 0: inf nan
        -0 -0: inf nan
        inf 1: 0 -0
        inf -1: 0 0
        -inf 1: 0 -0
        1 -inf: 0 0
        -4 0: 0 -0.5
        -4 -0: 0? 0.5
        nan 1: nan nan
        1 nan: nan nan
    """,
    "exponential-minus-one": """
        0 0: 0 0
        0 -0: 0 -0
        inf 0: inf 0
        -inf 2: -1 0
        -inf inf: -1 0?
        inf 2: -inf inf
        inf nan: inf? nan
        1 inf: nan nan
        nan 0: nan 0
        nan 1: nan nan
    """,
    "log-plus-one": """
        0 0: 0 0
        0 -0: 0 -0
        -1 0: -inf 0
        -2 0: 0 pi
        -2 -0: 0 -pi
        inf 1: inf 0
        -inf 1: inf pi
        1 -inf: inf -pi/2
        nan inf: inf nan
        1 nan: nan nan
    """,
    "logistic": """
        0 0: 0.5 0
        inf 1: 1 0
        -inf 1: 0 0
        inf inf: 1 0?
        -inf nan: 0 0?
        1 inf: nan nan
        nan 0: nan 0
        nan 1: nan nan
    """,
}
# C99 G.5.1
DIVIDE = """
    1 -1 0 0: inf -inf
    1 -1 -0 0: -inf inf
    1 -1 0 -0: inf -inf
    nan 1 0 0: nan inf
    inf nan -0 0: -inf nan
    0 2 0 0: nan inf
    0 0 0 0: nan nan
    inf 1 0 0: inf inf
    1 1 inf 0: 0? 0?
    1 1 inf inf: 0? 0?
    2e38 2e38 inf -inf: 0? 0?
    inf 1 1 1: inf -inf
    1 -inf 2 0: ? -inf
    inf inf inf 1: nan nan
    nan 1 1 2: nan nan
    1 1 nan 0: nan nan
    inf nan 1 0: inf ?
    nan -inf 0 2: -inf nan
    1 2 inf nan: 0? 0?
    1 2 nan -inf: 0? 0?
    nan 1 inf 0: nan nan
    inf 1 nan 1: nan nan
    1 1 5e-324 0: inf inf
    0 0 2 1: 0? 0?
"""
# NumPy's powers of and by zero, small integers, the two sides of the branch cut; C99's product and exponential beyond.
POWER = """
    0 0 0 0: 1 0
    nan 1 0 0: 1 0
    inf 0 -0 0: 1 0
    0 0 1 0: 0 0
    -0 0 0.5 3: 0 0
    0 0 0 1: nan nan
    0 0 -1 0: nan nan
    nan 0 2 0: nan nan
    2 1 nan 0: nan nan
    0 1 0 1e38: 0 0
    2 0 inf 0: inf? nan
    2 0 -inf 0: 0? 0?
    2 0 -inf 1: 0? 0?
    0.5 0 inf 0: 0? 0?
    2 0 inf inf: inf? nan
    inf 0 1 0: inf 0
    inf nan 1 0: inf nan
    0 1 3 0: -0 -1
    1 1 2 0: 0 2
    inf 0 3 0: nan nan
    inf 0 -1 0: nan nan
    -1 0 0.5 0: ? 1
    -1 -0 0.5 0: ? -1
"""
MODULUS = """
    inf nan: inf
    nan -inf: inf
    nan 1: nan
    1 nan: nan
    -0 -0: 0
    -3 4: 5
"""


def number(text):
    if text.endswith("pi/2") or text.endswith("pi/4") or text.endswith("pi"):
        factor, _, divisor = text.partition("pi")
        return float({"": "1", "-": "-1"}.get(factor, factor)) * PI / float(divisor[1:] or 1)
    return float(text)


def negated(text):
    if text.endswith("?") or text == "nan":
        return text
    return text[1:] if text.startswith("-") else "-" + text


def rows(table):
    """(operands, result) of each line, as lists of texts."""
    for line in table.strip().splitlines():
        operands, result = line.split(":")
        yield operands.split(), result.split()


def conjugate(z):
    return [z[0], negated(z[1])]


def opposite(z):
    return [negated(z[0]), negated(z[1])]


def over_i(z):
    return [z[1], negated(z[0])]


def mirrored(table, parity):
    """The rows and their images: the conjugates, and by parity (1 even, -1 odd) the opposites."""
    for z, result in rows(table):
        yield z, result
        yield conjugate(z), conjugate(result)
        if parity:
            image = result if parity == 1 else opposite(result)
            yield opposite(z), image
            yield conjugate(opposite(z)), conjugate(image)


def circular(table, parity):
    """cos(-iw) = cosh(w), sin(-iw) = -i sinh(w), tan(-iw) = -i tanh(w)."""
    for w, result in mirrored(table, parity):
        yield over_i(w), result if parity == 1 else over_i(result)


TABLES = {
    "abs": list(rows(MODULUS)),
    "exponential": list(mirrored(EXPONENTIAL, 0)),
    "log": list(mirrored(LOG, 0)),
    "sqrt": list(mirrored(SQRT, 0)),
    "tanh": list(mirrored(TANH, -1)),
    "sinh": list(mirrored(SINH, -1)),
    "cosh": list(mirrored(COSH, 1)),
    "acos": list(mirrored(ACOS, 0)),
    "acosh": list(mirrored(ACOSH, 0)),
    "asinh": list(mirrored(ASINH, -1)),
    "asin": list(circular(ASINH, -1)),
    "atanh": list(mirrored(ATANH, -1)),
    "atan": list(circular(ATANH, -1)),
    "tan": list(circular(TANH, -1)),
    "sine": list(circular(SINH, -1)),
    "cosine": list(circular(COSH, 1)),
    **{opcode: list(rows(table)) for opcode, table in OTHERS.items()},
    "divide": list(rows(DIVIDE)),
    "power": list(rows(POWER)),
}


def check_part(mine, text, message):
    if text == "?":
        return
    wanted = number(text.rstrip("?"))
    if math.isnan(wanted):
        assert math.isnan(mine), message
    elif text.endswith("?"):
        assert abs(mine) == pytest.approx(wanted, rel=1e-6, abs=0), message
    else:
        assert mine == pytest.approx(wanted, rel=1e-6, abs=0), message
        assert math.copysign(1, mine) == math.copysign(1, wanted), message


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@ELEMENT_TYPES
@pytest.mark.parametrize("opcode", TABLES)
def test_special_values(opcode, element_type, backend):
    """In vectors, and in scalar code."""
    table = TABLES[opcode]
    columns = len(table[0][0]) // 2
    b = XlaBuilder(opcode)
    vectors = [b.parameter(Shape(element_type, (len(table),))) for _ in range(columns)]
    scalars = [b.parameter(Shape(element_type)) for _ in range(columns)]
    root = b.emit("tuple", b.emit(opcode, *vectors), b.emit(opcode, *scalars))
    executable = get_backend(backend).compile(b.build_module(root))
    operands = np.empty((columns, len(table)), element_type.dtype)
    for column in range(columns):
        operands[column].real = [number(z[2 * column]) for z, _ in table]
        operands[column].imag = [number(z[2 * column + 1]) for z, _ in table]
    for position, (z, wanted) in enumerate(table):
        vector, scalar = executable(*operands, *(np.array(operand[position]) for operand in operands))
        for result in (vector[position], scalar):
            message = f"{opcode} of {' '.join(z)}: {result}, not {' '.join(wanted)}"
            for mine, part in zip((float(result.real), float(result.imag)), wanted):
                check_part(mine, part, message)


@ELEMENT_TYPES
def test_signs_of_zeros_on_the_axes(element_type):
    """On an axis one part is the product of a zero and a sine or cosine, which has a sign in every quarter turn."""
    angles = np.array([sign * angle for angle in (0.5, 1, 2, 3, 4, 5, 6, 20, 1e8, 1e30) for sign in (1, -1)])
    zeros = np.repeat([0.0, -0.0], len(angles))
    angles = np.tile(angles, 2).astype(element_type.dtype.type().real.dtype)
    b = XlaBuilder("axes")
    t, h = (b.parameter(Shape(component_type(element_type), zeros.shape)) for _ in range(2))
    up, along = b.Complex(h, t), b.Complex(t, h)
    results = [b.emit(opcode, z) for z, opcodes in ((up, ("cosh", "sinh")), (along, ("cosine", "sine"))) for opcode in opcodes]
    executable = get_backend("cpu").compile(b.build_module(b.Tuple(results)))
    cosh, sinh, cosine, sine = executable(angles, zeros.astype(angles.dtype))
    wide = angles.astype(np.float64)
    expected = zeros * np.sin(wide), zeros * np.cos(wide), -zeros * np.sin(wide), zeros * np.cos(wide)
    for mine, wanted in zip((cosh.imag, sinh.real, cosine.imag, sine.imag), expected):
        np.testing.assert_array_equal(mine, 0)
        np.testing.assert_array_equal(np.signbit(mine), np.signbit(wanted))


def test_the_tables_have_signed_zeros():
    """Rows that differ in the sign of a zero are rows of their own."""
    assert [z for z, _ in rows(LOG)][:2] == [["-0", "0"], ["0", "0"]]
    assert math.copysign(1, number("-0")) == -1 and number("-pi/2") == -PI / 2 and number("3pi/4") == 3 * PI / 4
    assert all(len(TABLES[opcode]) >= 24 for opcode in ("exponential", "log", "sqrt", "sine", "cosine", "tan", "tanh"))

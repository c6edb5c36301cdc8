"""Native code of elementwise operations on complex numbers, against higher precision; their special values stand elsewhere."""

import cmath
import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import C64, C128, Shape, element_type_of
from phlox.xla_builder import XlaBuilder

INF, NAN, PI = math.inf, math.nan, math.pi
# Scalars, a masked vector, whole vectors and a remainder, shared out between the types.
SIZES = {C64: (None, 3, 35), C128: (1, 16, 35)}
TYPES = [pytest.param(element_type, id=element_type.name) for element_type in SIZES]

EXACT = {
    "abs": abs,
    "sign": lambda z: z / abs(z),
    "exponential": mpmath.exp,
    "exponential-minus-one": mpmath.expm1,
    "log": mpmath.log,
    "log-plus-one": mpmath.log1p,
    "sqrt": mpmath.sqrt,
    "rsqrt": lambda z: 1 / mpmath.sqrt(z),
    "sine": mpmath.sin,
    "cosine": mpmath.cos,
    "tan": mpmath.tan,
    "tanh": mpmath.tanh,
    "acos": mpmath.acos,
    "acosh": mpmath.acosh,
    "asin": mpmath.asin,
    "asinh": mpmath.asinh,
    "atan": mpmath.atan,
    "atanh": mpmath.atanh,
    "cosh": mpmath.cosh,
    "sinh": mpmath.sinh,
    "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
    "negate": lambda z: -z,
    "add": lambda z, w: z + w,
    "subtract": lambda z, w: z - w,
    "multiply": lambda z, w: z * w,
    "divide": lambda z, w: z / w,
    "power": mpmath.power,
    "atan2": lambda z, w: -1j * mpmath.log((w + 1j * z) / mpmath.sqrt(w * w + z * z)),
}
BINARY = {"add", "subtract", "multiply", "divide", "power", "atan2"}
# The largest error of a part in ULP of the modulus of the result; a c64 is computed in f64 for the most part.
LIMITS = {C64: 2.0, C128: 4.0}
OPCODES = pytest.mark.parametrize("opcode", EXACT)
ELEMENT_TYPES = pytest.mark.parametrize("element_type", TYPES)


@functools.cache
def compiled(opcode, element_type):
    """One native function that applies the operation to arrays of each of the type's sizes."""
    b = XlaBuilder(opcode)
    results = []
    for size in SIZES[element_type]:
        shape = Shape(element_type, () if size is None else (size,))
        results.append(b.emit(opcode, *(b.parameter(shape) for _ in range(2 if opcode in BINARY else 1))))
    return get_backend("cpu").compile(b.build_module(b.emit("tuple", *results)))


def run(opcode, element_type, *operands):
    """The operation on one-dimensional arrays of any length, by the vectors of the largest size."""
    executable, sizes = compiled(opcode, element_type), SIZES[element_type]
    operands = [np.asarray(operand, element_type.dtype) for operand in operands]
    length = len(operands[0])
    pieces = []
    for start in range(0, length, sizes[-1]):
        arguments = []
        for size in sizes:
            for operand in operands:
                chunk = np.resize(operand[start : start + sizes[-1]], sizes[-1])
                arguments.append(chunk[0] if size is None else chunk[:size])
        *others, last = executable(*(np.array(argument) for argument in arguments))
        for size, other in zip(sizes, others):
            # Each lane's value does not depend on how many lanes there are.
            np.testing.assert_array_equal(np.atleast_1d(other), last[: size or 1])
        pieces.append(last)
    return np.concatenate(pieces)[:length]


def run_one(opcode, element_type, *operands):
    return run(opcode, element_type, *([operand] for operand in operands))[0]


def ordinary(element_type, seed, count=140):
    """Numbers of several sizes, near 0, near the unit circle, near it shifted by 1, and near the poles on the axes."""
    random = np.random.default_rng(seed)

    def normal(low, high, n):
        return random.normal(size=n) * 10 ** random.uniform(low, high, n)

    n = count // 4
    angles = random.uniform(-PI, PI, n)
    circle = np.exp(1j * angles) * (1 + normal(-9, -1, n))
    poles = 1j * PI * random.integers(-3, 4, n) / 2 + normal(-6, -1, n) + 1j * normal(-6, -1, n)
    parts = [
        normal(-1, 1, n) + 1j * normal(-1, 1, n),
        normal(-8, 0, n) + 1j * normal(-8, 0, n),
        np.where(random.random(n) < 0.5, circle, circle - 1),
        poles * random.choice([1, 1j], n),
    ]
    return random.permutation(np.concatenate(parts).astype(element_type.dtype))


def exact_number(z):
    return mpmath.mpc(float(z.real), float(z.imag))


def errors(element_type, actual, exact):
    """The errors of the two parts in ULP of the exact modulus."""
    dtype = np.zeros(0, element_type.dtype).real.dtype
    unit = float(np.spacing(dtype.type(abs(exact))))
    exact = mpmath.mpmathify(exact)
    return [
        float(abs(mpmath.mpf(float(actual.real)) - exact.real) / unit),
        float(abs(mpmath.mpf(float(actual.imag)) - exact.imag) / unit),
    ]


@ELEMENT_TYPES
@OPCODES
def test_ordinary_values(opcode, element_type):
    operands = [ordinary(element_type, seed) for seed in range(2 if opcode in BINARY else 1)]
    if opcode == "power":
        # The error is proportional to the exponent times the logarithm.
        random = np.random.default_rng(5)
        operands[1] = (random.normal(size=140) + 1j * random.normal(size=140)).astype(element_type.dtype)
    actual = run(opcode, element_type, *operands)
    with mpmath.workprec(160):
        for index, result in enumerate(actual):
            numbers = [exact_number(operand[index]) for operand in operands]
            limit = LIMITS[element_type]
            if opcode == "power" and element_type is C128:
                limit += float(abs(numbers[1] * mpmath.log(numbers[0])))
            found = errors(element_type, result, EXACT[opcode](*numbers))
            assert max(found) <= limit, f"{opcode} of {numbers}: {result}"


# Arguments whose squares, exponentials or hyperbolic functions leave the range of the type though the result does not.
EXTREME = {
    "abs": ["3e300+4e300j", "3e-320+4e-320j", "1.2e308+1.2e308j", "1e200+1e-200j", "5e-324j"],
    "sign": ["1.7e308+1.7e308j", "3e-320-4e-320j", "1e300+1j"],
    "sqrt": ["1.7e308+1.7e308j", "-1.7e308+1e300j", "3e-322-4e-322j", "1e-320j", "1e300+1e-100j", "-1e-310+1e-300j"],
    "rsqrt": ["1.7e308-1.7e308j", "-1.7e308+1e300j", "3e-322-4e-322j", "1e-320j", "1e-310+1e-300j"],
    "log": ["1.7e308+1.7e308j", "-3e-322+4e-322j", "5e-324j", "0.6+0.8j", "1+1e-30j", "0.8000000000000001-0.6j"],
    "log-plus-one": ["1.7e308+1.7e308j", "1e-300+1e-310j", "-1+1e-320j", "1e-20+1e-10j", "-1e-310j", "-2+1e-200j"],
    "exponential": ["710+1.57j", "720+1.5707963267948966j", "1400+1e-310j", "-740+2j", "-800+1j", "1450+5e-324j", "1+1e22j"],
    "exponential-minus-one": ["710+1.57j", "1e-300+1e-200j", "-1e-17+1e-9j", "-800+1j", "1400+1e-310j", "50+2j"],
    "sine": ["1.57+711j", "3.141592653589793-720j", "1e-310+1400j", "1e22+1e-10j", "1e-300+1e-310j", "1e300+700j"],
    "cosine": ["1.57+711j", "1.5707963267948966-720j", "1e-310+1400j", "1e22+1e-10j", "1e-200+1e-100j"],
    "tan": ["1+400j", "1e-10-30j", "1.5707963267948966+1e-20j", "1e22+1j", "0.5+370j"],
    "tanh": ["400+1j", "-30+1e-10j", "1e-20+1.5707963267948966j", "1+1e22j", "370+0.5j", "1e-300+1e-310j"],
    "acos": ["1.7e308+1.7e308j", "1e-300+1e-310j", "1e18-1e10j", "-1e19+1j", "1+1e-20j", "0.5+1e-300j", "3-1e-300j"],
    "acosh": ["1.7e308-1.7e308j", "1e-300+1e-310j", "1e18-1e10j", "-1e19+1j", "1.0000000000000002+1e-20j", "3-1e-300j"],
    "asin": ["1.7e308+1.7e308j", "1e-300+1e-310j", "1e18-1e10j", "1+1e300j", "1+1e-20j", "1e-200-1j", "3+1e-300j", "5e-324j"],
    "asinh": ["1.7e308+1.7e308j", "1e-300+1e-310j", "1e10-1e18j", "1e300+1j", "1e-20+1j", "1e-200+1.5j", "-1e-300+3j"],
    "atan": ["1.7e308+1.7e308j", "1e-300+1e-310j", "1e10-1e18j", "1e300+1j", "1e-20+1j", "1e-200+1j", "1e-20-1.5j"],
    "atanh": ["1.7e308+1.7e308j", "1e-300+1e-310j", "1e18-1e10j", "1-1e300j", "1+1e-20j", "-1+1e-200j", "3j", "1.5+1e-20j"],
    "cosh": ["711+1.57j", "-720+1.5707963267948966j", "1400+1e-310j", "1e-10+1e22j", "1e-100+1e-200j"],
    "sinh": ["711+1.57j", "-720+3.141592653589793j", "1400+1e-310j", "1e-10+1e22j", "700+1e300j"],
    "logistic": ["-740+2j", "-800+1j", "800+1j", "1e-20+3.141592653589793j", "-1e-20-3.1415j", "35-3j", "700+1e-3j"],
}
EXTREME_BINARY = {
    "divide": [
        ("1e300+1e300j", "1e300-1e300j"), ("1e-320+1e-320j", "1e-310+2e-310j"), ("1e300+1j", "1e-5+1e-5j"),
        ("1e-200+1e-180j", "1e-300+1e-290j"), ("1.7e308+1.7e308j", "1.7e308+1.7e308j"), ("1e200+1e200j", "2e-108j"),
        ("1e-307+1e-290j", "1.797e308"), ("1+1j", "1e308+1e308j"), ("5e-324", "5e-324+5e-324j"),
    ],
    "power": [("1e-100+1e-100j", "3"), ("1e100+1e100j", "-3"), ("1e-150j", "-2"), ("2", "1000"), ("1.0000001+0j", "1e6")],
}  # fmt: skip
_EXTREME_CASES = [(opcode, (z,)) for opcode, numbers in EXTREME.items() for z in numbers]
_EXTREME_CASES += [(opcode, pair) for opcode, pairs in EXTREME_BINARY.items() for pair in pairs]


@pytest.mark.parametrize(("opcode", "texts"), _EXTREME_CASES)
def test_extreme_values(opcode, texts):
    numbers = [complex(text) for text in texts]
    actual = run_one(opcode, C128, *numbers)
    with mpmath.workprec(1200):
        exact = mpmath.mpmathify(EXACT[opcode](*(exact_number(z) for z in numbers)))
        largest, smallest = mpmath.mpf(np.finfo(float).max), mpmath.mpf(5e-324)
        logarithm = float(abs(numbers[1] * cmath.log(numbers[0]))) if opcode == "power" else 0
        for mine, wanted in ((actual.real, exact.real), (actual.imag, exact.imag)):
            if abs(wanted) > largest:
                assert mine == math.copysign(INF, wanted)
            else:
                # Relative to the part itself; below the smallest normal number a result may be rounded more than once.
                tolerance = max(abs(wanted) * 2.0**-52 * (4 + logarithm), 3 * smallest)
                if opcode in ("divide", "log-plus-one", "exponential-minus-one", "sign", "power"):
                    tolerance = max(tolerance, abs(exact) * 2.0**-52 * (4 + logarithm))
                assert abs(mpmath.mpf(float(mine)) - wanted) <= tolerance, f"{opcode} of {numbers}: {actual}, exactly {exact}"


@ELEMENT_TYPES
def test_the_largest_and_smallest_numbers(element_type):
    info = np.finfo(element_type.dtype)
    largest, smallest = float(info.max), float(info.smallest_subnormal)
    assert run_one("abs", element_type, complex(smallest, 0)) == smallest
    assert run_one("abs", element_type, complex(largest, 0)) == largest
    assert np.isinf(run_one("abs", element_type, complex(largest, largest)))
    assert run_one("divide", element_type, complex(largest, largest), complex(largest, largest)) == 1
    assert run_one("divide", element_type, complex(smallest, smallest), complex(smallest, smallest)) == 1
    assert run_one("tanh", element_type, complex(largest, 1)) == 1
    root = run_one("sqrt", element_type, complex(largest, largest))
    assert complex(root) / math.sqrt(largest) == pytest.approx(cmath.sqrt(1 + 1j), rel=4 * float(info.eps))


@ELEMENT_TYPES
def test_integer_powers_of_gaussian_integers_are_exact(element_type):
    """The expected values by multiplication of integers, as far as their parts fit in the type's mantissa."""
    limit = 2 ** (24 if element_type is C64 else 53)
    bases, exponents, expected = [], [], []
    for a, b in itertools.product(range(-4, 5), repeat=2):
        real, imag = 1, 0
        for exponent in range(1, 40):
            real, imag = real * a - imag * b, real * b + imag * a
            if real * real + imag * imag >= limit or (a, b) == (0, 0):
                break
            bases.append(complex(a, b))
            exponents.append(exponent)
            expected.append(complex(real, imag))
    assert len(expected) > 200
    np.testing.assert_array_equal(run("power", element_type, bases, exponents), expected)
    inverse = run("power", element_type, bases, np.negative(exponents))
    np.testing.assert_allclose(inverse * np.asarray(expected), 1, rtol=0, atol=8 * np.finfo(element_type.dtype).eps)


@ELEMENT_TYPES
def test_products_are_those_of_the_parts(element_type):
    z, w = ordinary(element_type, 1), ordinary(element_type, 2)
    product = run("multiply", element_type, z, w)
    np.testing.assert_array_equal(product.real, z.real * w.real - z.imag * w.imag)
    np.testing.assert_array_equal(product.imag, z.real * w.imag + z.imag * w.real)


@ELEMENT_TYPES
def test_parts_and_comparison(element_type):
    b = XlaBuilder("f")
    x, y = (b.parameter(Shape(element_type, (6,))) for _ in range(2))
    results = [b.Real(x), b.Imag(x), b.Eq(x, y), b.Ne(x, y), b.Complex(b.Imag(x), b.Real(x))]
    executable = get_backend("cpu").compile(b.build_module(b.emit("tuple", *results)))
    x = np.array([1 + 2j, complex(0.0, -0.0), complex(NAN, 1), complex(1, NAN), 3 - 1j, complex(INF, 0)], element_type.dtype)
    y = np.array([1 + 2j, complex(-0.0, 0.0), complex(NAN, 1), complex(1, NAN), 3 + 1j, complex(INF, 0)], element_type.dtype)
    real, imag, equal, unequal, swapped = executable(x, y)
    np.testing.assert_array_equal(real, x.real)
    np.testing.assert_array_equal(imag, x.imag)
    np.testing.assert_array_equal(equal, [True, True, False, False, False, True])
    np.testing.assert_array_equal(unequal, ~equal)
    np.testing.assert_array_equal(swapped.real, x.imag)
    np.testing.assert_array_equal(swapped.imag, x.real)
    assert element_type_of(swapped.dtype) is element_type

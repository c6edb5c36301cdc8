"""Methods, types and texts of traced numbers and of elements of arrays are what they are without jit."""

import json
import math
import textwrap

import numpy as np
import pytest
from phlox import TracerError, jit


def texts(x, n, t):
    before = str(x)
    x += 1
    whole = f"{n:>5}|{t:.2e}", "%s and %.2f" % (n, t), "%d" % n, f"{t!r}", "{:g}".format(t)  # noqa: UP031, UP032
    return before, str(x), whole, ", ".join(str(v) for v in x), x.tobytes(), t.hex(), t.as_integer_ratio(), str(n) + "!"


def methods(x, n, t):
    bits = n.bit_length(), n.bit_count(), (-n).bit_length()
    parts = n.numerator, n.denominator, n.real, n.imag, t.real, t.conjugate(), n.conjugate(), complex(t, n).conjugate()
    return x.tolist(), x[1].item(), x.item(2), float(x[0]), int(x[0]), bits, t.is_integer(), x[1].is_integer(), parts


def types(x, n, t):
    kinds = type(x[0]).__name__, x.__class__ is np.ndarray, type(n) is int, type(t) is float, x.dtype.type is np.float64
    checks = isinstance(x[0], float), isinstance(n, int), isinstance(t, np.floating), isinstance(n, float | int)
    names = "shape", "bit_length", "is_integer", "hex", "__len__"
    attributes = [hasattr(one, name) for one in (x, x[0], n, t) for name in names]
    return kinds, checks, attributes, np.isscalar(x[0]), np.isscalar(x), np.isscalar(n)


def membership(x, n, t):
    in_arrays = n in x, t in x, t in x.tolist(), 5 in x.tolist()
    return in_arrays, n in [1, 2, 3], t in (1.0, t), n in range(0, 10, 2), n in range(10, 0, -3), x[0] in [1, 2], n in {3: 1}


def arithmetic(x, n, t):
    powers = pow(n, 2), pow(n, 2, 7), pow(3, n, 11), pow(n, 0.5)
    return powers, bin(n), divmod(n, 2), divmod(-n, t), n.to_bytes(2, "big"), n % t, -n // 2, t // 0.3, t % -0.7


def by_element(x, n, t):
    flat = np.vectorize(lambda v: v * 2 if v > 2 else -v)(x), np.vectorize(lambda a, b: a + b)(x, n)
    table = x.reshape(2, -1)
    rows = np.apply_along_axis(lambda row: row / row.sum(), 1, table), np.apply_along_axis(np.sum, 0, table)
    return flat, rows, np.fromfunction(lambda i, j: i + j * n, (2, 3)), [place for place, _ in np.ndenumerate(table)]


def iterated(x, n, t):
    with np.nditer(x, op_flags=["readwrite"]) as elements:
        for element in elements:
            element[...] = element * n
    total = 0
    for element in np.nditer(x):
        total += element
    return total


def iterated_with_places(x, n, t):
    table, places = x.reshape(2, -1), []
    differences = np.zeros_like(table)
    it = np.nditer(table, flags=["multi_index"], op_flags=["readwrite"])
    while not it.finished:
        old = table[it.multi_index]
        table[it.multi_index] = old + n
        differences[it.multi_index] = table.sum() - it[0]
        table[it.multi_index] = old
        it.iternext()
    for value in np.nditer(table, flags=["c_index"]):
        places.append(float(value))
    return differences, places, it.finished


def long_list(x, n, t):
    values = x.repeat(200).tolist()
    total = 0.0
    for value in values:
        total += value
    return total, len(values), values[3], max(values), type(values[0]).__name__


def flat_and_flags(x, n, t):
    table = x.reshape(2, 2)
    table.T.flat[1] = 50.0
    table.flat[2:] = 7.0
    np.einsum("ii->i", table)[1:] = n
    flags = table.flags.writeable, table.T.flags["F"], table.T.flags.c_contiguous, x[1:].flags.owndata, table[:, 0].flags.forc
    return [v for v in table.flat], len(table.flat), flags, np.einsum("ij->ji", table).strides, table.flat[1:3]


def shown(value):
    """A value with all types in it."""
    if isinstance(value, (list, tuple)):
        return type(value), [shown(one) for one in value]
    return type(value), getattr(value, "dtype", None), repr(value)


def outcome(function, x, n, t):
    x = x.copy()
    try:
        return shown(function(x, n, t)), shown(x)
    except (ArithmeticError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("function", [
    texts, methods, types, membership, arithmetic, by_element, iterated, iterated_with_places, long_list, flat_and_flags,
])  # fmt: skip
def test_the_same_as_without_jit(function):
    jitted = jit(function)
    for x, n, t in (([1.0, 2.5, 3.0, 4.0], 3, 2.5), ([3.0, -2.5, 5.0, 1e18], 6, -0.125), ([0.0, -0.0, 1.0, 2.0], 10, 1e300)):
        assert outcome(jitted, np.array(x), n, t) == outcome(function, np.array(x), n, t), (x, n, t)


def test_numbers_have_no_attributes_of_arrays():
    with pytest.raises(AttributeError, match="'float' object has no attribute 'shape'"):
        jit(lambda t: t.shape)(1.5)
    with pytest.raises(ValueError, match="size 1"):
        jit(lambda x: x.item())(np.ones(2))


def test_the_item_of_one_element_with_dimensions():
    def function(x):
        return x.item(), (x[0] > 2).item(), x.astype(np.complex64).item(), x.astype(np.int8).item()

    assert jit(function)(np.array([[2.5]])) == function(np.array([[2.5]]))


@pytest.mark.parametrize("bounds", [
    (0.0, 2.0, 0.5), (0.0, 3.1, 0.25), (1.0, 0.0, -0.3), (0.0, 1.0, 0.1), (0.1, 0.8, 0.1), (0.0, -1.0, 0.1), (0.0, 1e3, 0.25),
    (0.0, math.nan, 1.0), (0.0, math.inf, 1.0), (0.0, 1.0, 0.0), (np.float32(0), np.float32(1), np.float32(0.1)), (0, 2.5, 1),
])  # fmt: skip
def test_ranges_of_floats(bounds):
    def run(function):
        try:
            found = function(*bounds)
        except (ArithmeticError, ValueError) as error:
            return type(error), str(error)
        return found.dtype, found.tolist()

    assert run(jit(lambda start, stop, step: np.arange(start, stop, step))) == run(lambda *given: np.arange(*given))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.float16, np.float32])
def test_types_of_ranges(dtype):
    functions = [lambda x: np.arange(x[0]), lambda x: np.arange(x[0], 5), lambda x: np.arange(dtype(3))]
    for function in functions:
        x = np.array([3, 2], dtype)
        assert shown(jit(function)(x)) == shown(function(x))


@pytest.mark.parametrize(
    "numbers",
    [
        (3, 5, 7), (7, -1, 11), (7, -3, 11), (7, -1, -11), (4, -1, 8), (2, 3, 0), (2, 0, -5), (-3, 5, -7), (5, 0, 1),
        (0, -1, 1),
        (10**9 + 6, 3, 10**9 + 7), (2**40, 7, 2**41 + 1), (True, 3, 5), (2.0, 3, 5), (np.int64(2), 3, 5), (2, 3, np.int8(5)),
    ],
)  # fmt: skip
def test_powers_with_a_modulus(numbers):
    def program(base, exponent, modulus):
        return pow(base, exponent, modulus)

    def outcome(function):
        try:
            found = function(*numbers)
        except (TypeError, ValueError) as error:
            return type(error), str(error)
        return type(found), found

    assert outcome(jit(program)) == outcome(program)


def test_powers_with_a_modulus_of_elements():
    def program(x):
        return [pow(int(v), 5, 21) for v in x]

    x = np.arange(40)
    assert jit(program)(x) == program(x)


def memory(x):
    small, whole = x.astype(np.uint8).tobytes(), bytes(x)
    kinds = type(small), isinstance(small, bytes), isinstance(small, str)
    total = 0
    for byte in small:
        total = total * 3 + byte
    parts = total, sum(small), max(small), [byte ^ 1 for byte in small], small[-1] + 1, 3 in small, len(whole), small[1:3]
    texts = (x + 97).astype(np.uint8).tobytes().decode("ascii").upper(), whole.hex(), bytes(x.reshape(2, 2).T), bytes(x[::2])
    return kinds, parts, texts, small + b"ab", b"ab" + small, bytes([v for v in x.tolist() if v > 2])


def written(x):
    values = {"mean": float(x.mean()), "all": x.tolist(), "large": [int(v) for v in x if v > 2], "none": None}
    return json.dumps(values), json.dumps(values, indent=1, sort_keys=True), textwrap.indent(f"{x[0]}\n{x[1]}", "> ")


@pytest.mark.parametrize("function", [memory, written])
def test_bytes_and_texts_of_libraries(function):
    decorated = jit(function)
    for x in (np.array([3, 1, 4, 1]), np.array([5, 9, 2, 6])):
        assert decorated(x) == function(x)


def test_what_json_does_not_take():
    def program(x):
        return json.dumps({"sum": x.sum()})

    for function in (program, jit(program)):
        with pytest.raises(TypeError, match="Object of type int64 is not JSON serializable"):
            function(np.arange(3))


@pytest.mark.parametrize("number", [5, -3, 500])
def test_the_bytes_of_an_argument_overflow_where_python_s_do(number):
    def program(n):
        try:
            return n.to_bytes(1, "big"), int.from_bytes((n + 1).to_bytes(2, "big"), "little")
        except OverflowError as error:
            return str(error)

    assert jit(program)(number) == program(number)


def test_the_bytes_of_what_the_program_computes_are_refused():
    with pytest.raises(TracerError):
        jit(lambda x: int(x[0]).to_bytes(2, "big"))(np.random.default_rng(0).random(2))

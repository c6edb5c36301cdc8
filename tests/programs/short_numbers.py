"""Functions of a few lines on Python's numbers, each for one thing that is easily done otherwise than Python does it."""

import math

import numpy as np

from .registry import either, program

BYTES = np.array([1, 2, 250], dtype=np.uint8)


@program(either((1.0, 2.0), (1.0, 0.0)))
def divide_floats(a, b):
    return a / b


@program(either((7, 2), (7, 0)))
def divide_integers(a, b):
    return a // b, a % b, a / b


@program(either((2.0,), (0.0,)))
def negative_power_of_a_float(a):
    return a**-1


@program(either((4.0,), (-4.0,)))
def root_of_a_float(a):
    """Complex, for a negative number."""
    return a**0.5


@program(either((10.0,), (1e200,)))
def power_that_overflows(a):
    return a**2


@program(either((3,), (5,)))
def negative_power_of_an_integer(n):
    return 2**-n


@program(either((3, 4), (3, -2)))
def power_of_integers(n, m):
    return n**m


@program(either((2**40,), (-(2**62),)))
def integers_beyond_64_bits(n):
    return n * n, n + n + n + n, -n * 4


@program(either((-(2**63),), (7,)))
def least_integer(n):
    return -n, abs(n), n - 1


@program(either((10**30,), (3,)))
def huge_argument(n):
    return n + 1, n // 10**20


@program(either((3,), (70,)))
def shift_left(n):
    return 1 << n


@program(either((5, 2), (5, -2)))
def shift_by_an_argument(a, b):
    return a >> b


@program(either((2**53 + 1,), (2**53,)))
def compare_exactly(n):
    return n == float(2**53), n > 2.0**53


@program(either((2.675,), (-0.125,)))
def round_decimally(x):
    return round(x, 2)


@program(either((2.5,), (-3.5,)))
def round_to_integers(x):
    return round(x), int(x), math.floor(x), math.ceil(x)


@program(either((25,), (35,)))
def round_to_tens(n):
    return round(n, -1)


@program(either((np.float64(2.675),), (np.float64(-3.5),)))
def round_as_numpy(x):
    return round(x), round(x, 2)


@program(either((2 + 1j, 1j), (2 + 1j, 0j)))
def divide_complex(a, b):
    return a / b


@program(either((-1.0,), (2.0,)))
def functions_of_math(x):
    return math.exp(x), math.cos(x), math.sqrt(x * x), math.isnan(x), math.hypot(x, 1), math.copysign(2, x)


@program(either((-1.0,), (2.0,)))
def root_of_math(x):
    return math.sqrt(x)


@program(either((3,), (4,)))
def repeated_list(n):
    return [0] * n


@program(either((3,), (4,)))
def repeated_tuple(n):
    return (1, 2) * n, len((0.0,) * n)


@program(either((3,), (4,)))
def repeated_text(n):
    return "ab" * n


@program(either((3,), (4,)))
def comparison(n):
    return n == 3, n > 2.5, 1 < n < 4, not n, n is None


@program(either((1.0, float("nan")), (float("nan"), 1.0)))
def greater_of_two(a, b):
    return max(a, b), min(a, b)


@program(either((1, 2.0), (2, 1.0)))
def greater_keeps_its_type(a, b):
    return max(a, b)


@program(either((2,), (3,)))
def names_of_types(n):
    return type(n).__name__, isinstance(n, int), isinstance(n, float | int), isinstance(n / 2, float), np.isscalar(n)


@program(either((2.0,), (3.5,)))
def methods_of_a_float(x):
    return x.is_integer(), x.hex(), x.as_integer_ratio(), x.real


@program(either((5,), (-6,)))
def methods_of_an_integer(n):
    return n.bit_length(), n.bit_count(), n.conjugate(), n.real


@program(either((3,), (12,)))
def integer_as_text(n):
    return str(n), f"{n}", repr(n)


@program(either((3,), (12,)))
def formatted_integer(n):
    return f"{n:4d}", "%d" % n  # noqa: UP031


@program(either((3.25,), (-1.0,)))
def float_as_text(x):
    return str(x), f"{x}", f"{x!r}"


@program(either((3.25,), (-1.0,)))
def formatted_float(x):
    return f"{x:.3f}", "{:g}".format(x), "%5.1f" % x  # noqa: UP031, UP032


@program(either((0,), (1,)))
def key_of_a_dictionary(n):
    return {0: "zero", 1: "one"}[n], ["a", "b"][n], "xy"[n]


@program(either((1,), (9,)))
def member_of_a_set(n):
    return n in {1, 2}, n in [1, 2], n in range(5)


@program(either((1,), (2,)))
def matched(n):
    match n:
        case 1:
            return "one"
        case _:
            return "another"


@program(either((1,), (True,)))
def integer_or_bool(n):
    return n, n + n


@program(either((0.0,), (-0.0,)))
def signed_zero(x):
    return math.copysign(1.0, x), x


@program(either((BYTES, 3), (BYTES, 300)))
def add_to_bytes(a, n):
    return a + n


@program(either((BYTES, 3), (BYTES, -1)))
def multiply_bytes(a, n):
    return a * n


@program(either((BYTES, 3), (BYTES, 300)))
def assign_to_bytes(a, n):
    a[0] = n


@program(either((BYTES, 3), (BYTES, 300)))
def compare_bytes(a, n):
    return a < n, a == n


@program(either((BYTES, 3), (BYTES, 300)))
def fill_bytes(a, n):
    return np.full_like(a, n)


@program(either((BYTES, 3), (BYTES, 300)))
def greatest_of_bytes(a, n):
    return np.maximum(a, n)


@program(either((np.array([1, 2], dtype=np.int32), 3), (np.array([1, 2], dtype=np.int32), 2**31)))
def multiply_small_integers(a, n):
    return a * n


@program(either((np.array([1.5, -2.5]), 3), (np.array([1.5, -2.5]), 2**70)))
def huge_factor(x, n):
    return x * n


@program(either((np.array([1.0, -1.0, 3.0]),), (np.array([np.nan, 1e300, -np.inf]),)))
def cast_out_of_range(x):
    return [x.astype(dtype) for dtype in (np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32, np.uint64)]


@program(either((np.array([1, 2]), 2), (np.array([1, 2]), 10**19)))
def array_of_an_argument(a, n):
    return np.array([n, 1]), a + np.array(n)

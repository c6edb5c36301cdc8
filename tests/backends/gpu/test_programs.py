"""Functions as people write them, on a device and undecorated: the same results, and the same arguments afterwards."""

import copy
import itertools

import numpy as np
import pytest
from gpu_backends import AMD_ARCHITECTURES, DEVICES, backend_or_skip, processor_backend
from phlox import jit
from phlox.backends.registry import in_place_of
from thinning import marks_at

RANDOM = np.random.default_rng(7)
ROW = RANDOM.standard_normal(1000)
TABLE = RANDOM.standard_normal((33, 70)).astype(np.float32)
NUMBERS = RANDOM.integers(-1000, 1000, 500)
COMPLEX = RANDOM.standard_normal(300) + 1j * RANDOM.standard_normal(300)
EMPTY = np.zeros((0, 4))

PROGRAMS = []


def program(*arguments):
    """Decorator: a program with the arguments of one call."""

    def register(function):
        PROGRAMS.append(pytest.param(function, arguments, id=function.__name__))
        return function

    return register


# --- arrays ---


@program(2.5, ROW, ROW[::-1].copy())
def axpy(a, x, y):
    return a * x + y


@program(ROW)
def chain(x):
    return np.tanh(np.exp(-x * x) + np.log1p(np.abs(x))) * np.sin(x)


@program(TABLE)
def softmax(x):
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


@program(TABLE)
def layer_norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


@program(TABLE)
def rows_beside_loops_with_several_results(x):
    negative = -x
    return x.sum(axis=1), negative.T.copy(), x * negative, negative


@program(TABLE)
def sums_of_all_kinds(x):
    return x.sum(), x.sum(axis=0), x.sum(axis=1), x.max(), x.argmin(axis=1), x.prod(axis=0)


# Of equal elements, and with one that is no number; lengths that threads divide with and without a rest.
LINES = RANDOM.integers(-9, 9, (3, 70003)).astype(np.float32)
LINES[1, 61234] = np.nan


@program(LINES, np.ascontiguousarray(LINES[:, :65536]), LINES.T.copy(), TABLE)
def first_of_the_largest(x, y, z, w):
    return x.argmax(axis=1), y.argmin(axis=1), z.argmax(axis=0), w.argmax(), x[0].argmin()


@program(TABLE)
def transposed(x):
    return x.T + 1, np.ascontiguousarray(x.T)


@program(TABLE, TABLE.T.copy())
def product(x, y):
    return x @ y


@program(RANDOM.standard_normal((5, 17, 9)), RANDOM.standard_normal((5, 9, 21)))
def products_of_stacks(x, y):
    return np.einsum("bij,bjk->bik", x, y)


@program(TABLE, TABLE[0])
def matrix_times_vector(x, v):
    return x @ v, v @ v


@program(TABLE)
def slices(x):
    return x[1:-1:2, ::-3], x[5], x[:, 3], x[..., None]


@program(TABLE)
def joined(x):
    return np.concatenate([x, x[:3] * 2]), np.stack([x, -x], axis=1), np.pad(x, ((1, 2), (0, 3)))


@program(TABLE)
def rolled(x):
    return np.roll(x, 1, axis=0) + np.roll(x, -1, axis=0) + np.roll(x, 2, axis=1) - 3 * x


@program(ROW, NUMBERS % 1000)
def gathered(x, places):
    return x[places] * 2


# So many elements that threads compute several, of which the last ones have fewer.
LARGE = RANDOM.integers(-9, 9, (1031, 1029)).astype(np.float32)


@program(LARGE, RANDOM.integers(-1031, 1031, 1040), RANDOM.integers(-9, 9, 700_001))
def of_many_elements(x, places, numbers):
    padded = np.pad(x, ((1, 0), (2, 1)))
    around = x[:-2, 1:-1] + x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]
    column = np.ascontiguousarray(x[:, :1024])[places]
    x[1:] *= 2
    return padded, around, x[places], column, x[0, 7:20][numbers]


@program(ROW)
def clipped(x):
    return np.where(x > 0, np.minimum(x, 1), x * 0.01), np.clip(x, -0.5, 0.5)


@program(ROW)
def comparisons(x):
    positive = x > 0
    return positive, ~positive & (x < -1), positive.any(), positive.all(), positive.sum()


# --- types ---


@program(NUMBERS)
def integers(x):
    return x // 7, x % 7, x << 3, x >> 2, x ^ 0x55, np.abs(x), x * x


@program(NUMBERS.astype(np.int8))
def small_integers(x):
    return x + x, x * np.int8(3), x.astype(np.int32) * 1000, x.sum(), x.view(np.uint8)


@program(NUMBERS.astype(np.uint64))
def unsigned_integers(x):
    return x + np.uint64(1), x // np.uint64(3), x >> np.uint64(1), x.max()


@program(COMPLEX)
def complex_numbers(z):
    return z * z.conj(), np.exp(z), np.abs(z), z.real + z.imag, z.sum(), z / (1 + 2j)


@program(COMPLEX.astype(np.complex64))
def complex_product(z):
    return np.outer(z[:20], z[:30])


@program(ROW.astype(np.float16))
def half_precision(x):
    return x * x + 1, x.sum(dtype=np.float32), x.astype(np.float64)


@program(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 5e-324]))
def special_numbers(x):
    return x + 1, x * 0, np.sqrt(np.abs(x)), np.maximum(x, 0), np.sign(x), np.isnan(x), x / 2


# --- scalars, tuples, nothing ---


@program(3, 4.5)
def scalars(n, x):
    return n + x, n * n, x**n, n > x


@program(ROW, (TABLE, [NUMBERS, 2.0]))
def nested_arguments(x, rest):
    table, (numbers, factor) = rest
    return {"scaled": x * factor, "both": (table.sum(), [numbers.max()])}


@program(EMPTY)
def empty_arrays(x):
    return x + 1, x.sum(), x.sum(axis=0), x.T, np.concatenate([x, np.ones((2, 4))])


@program(ROW)
def nothing_but_the_argument(x):
    return x, x[3], 7


@program()
def no_arguments():
    return np.arange(1000) * 2, np.eye(5), np.full((3, 4), 2.5), np.linspace(0, 1, 33)


# --- in place ---


@program(ROW.copy())
def added_in_place(x):
    x += 1
    x[::2] *= 3
    return x.sum()


@program(TABLE.copy())
def rows_swapped_in_place(x):
    x[0], x[1] = x[1].copy(), x[0].copy()
    x[2:4, 10:20] = 0


@program(np.arange(20.0))
def element_in_place(x):
    x[3] = 100
    x[-1] += x[3]
    return x


# --- loops and branches ---


@program(ROW.copy(), 10)
def loop_of_known_length(x, n):
    for i in range(10):
        x = x * 0.5 + i
    return x


@program(ROW.copy(), 12)
def loop_of_given_length(x, n):
    total = 0.0
    for i in range(n):
        x = np.cos(x) + i
        total += x[i]
    return x, total


@program(2.0)
def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@program(ROW)
def halved_until_small(x):
    rounds = 0
    while np.abs(x).max() > 0.01:
        x = x / 2
        rounds += 1
    return x, rounds


@program(np.zeros(50), 40)
def recurrence_in_place(x, n):
    x[0] = x[1] = 1
    for i in range(2, n):
        x[i] = x[i - 1] + x[i - 2]


@program(RANDOM.standard_normal((30, 40)))
def heat(u):
    for _ in range(5):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


@program(ROW)
def branch_taken(x):
    if x.sum() > -1e9:
        return x + 1
    return x - 1


@program(ROW, 3)
def branches_in_a_loop(x, n):
    for i in range(n):
        if i % 2 == 0:
            x = x + i
        else:
            x = -x
    return x


@program(NUMBERS[:40].copy())
def bubble_sort(x):
    for i in range(len(x)):
        for j in range(len(x) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


@program(20)
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@program(RANDOM.standard_normal((16, 8)), RANDOM.standard_normal(16))
def gradient_descent(x, y):
    w = np.zeros(8)
    for _ in range(20):
        w -= 0.01 * x.T @ (x @ w - y)
    return w, ((x @ w - y) ** 2).mean()


@program(RANDOM.standard_normal((12, 3)))
def pairwise_distances(points):
    d = points[:, None, :] - points[None, :, :]
    return np.sqrt((d * d).sum(axis=-1))


@program(NUMBERS)
def sorted_numbers(x):
    return np.sort(x), np.argsort(x, kind="stable")


@program(COMPLEX)
def spectrum(z):
    return np.fft.fft(z), np.fft.rfft(z.real)


def same(actual, expected):
    if isinstance(expected, tuple | list):
        assert type(actual) is type(expected) and len(actual) == len(expected)
        for one, other in zip(actual, expected):
            same(one, other)
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for key in expected:
            same(actual[key], expected[key])
    elif expected is None:
        assert actual is None
    else:
        actual, expected = np.asarray(actual), np.asarray(expected)
        assert actual.dtype == expected.dtype and actual.shape == expected.shape
        if expected.dtype.kind in "fc":
            unit = np.finfo(expected.dtype).eps
            np.testing.assert_allclose(actual, expected, rtol=64 * unit, atol=64 * unit * largest(expected))
        else:
            np.testing.assert_array_equal(actual, expected)


def largest(x):
    """The tolerance of sums whose terms cancel: in units of the largest number."""
    return np.abs(x[np.isfinite(x)]).max(initial=0)


# Each compiles anew: one in some is ordinary.
ON_PROCESSORS = [pytest.param(*one.values, id=one.id, marks=marks_at(n, 7)) for n, one in enumerate(PROGRAMS)]


@pytest.mark.parametrize("function, arguments", ON_PROCESSORS)
def test_program_with_kernels_of_processors(function, arguments):
    with in_place_of("opencl", processor_backend()):
        check("opencl", function, arguments)


def check(name, function, arguments):
    mine, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        expected = function(*theirs)
    compiled = jit(function, backend=name)
    for _ in range(2):
        given = copy.deepcopy(mine)
        same(compiled(*given), expected)
        same(given, theirs)


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("function, arguments", PROGRAMS)
def test_program(name, function, arguments):
    backend_or_skip(name)
    check(name, function, arguments)


@pytest.mark.parametrize(
    "function, arguments, architecture",
    [
        pytest.param(*case.values, architecture, id=f"{case.id}-{architecture}", marks=marks_at(place, 7, 2))
        for place, (case, architecture) in enumerate(itertools.product(PROGRAMS, AMD_ARCHITECTURES))
    ],
)
def test_program_on_an_emulated_device(emulated, function, arguments, architecture):
    emulated(architecture)
    check("emulated", function, arguments)

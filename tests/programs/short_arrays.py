"""Functions of a few lines on arrays: indices, views, types, texts, errors, each for one thing."""

import copy

import numpy as np

from .registry import either, program

LINE = np.arange(5.0)
TABLE = np.arange(12.0).reshape(3, 4)
line = either((LINE,), (LINE[::-1] * 2.5,))
table = either((TABLE,), (TABLE[::-1] * 2.5,))


# --- texts


@program(line)
def print_array(x):
    print(x)
    print("sum", x.sum(), f"mean {x.mean()}", sep=", ")


@program(line)
def print_constant(x):
    print("called")
    return x + 1


@program(line)
def array_as_text(x):
    return str(x), repr(x), f"{x}"


@program(line)
def array_with_digits(x):
    return np.array2string(x, precision=1), np.format_float_positional(x[1], precision=2)


@program(line)
def elements_as_text(x):
    return ", ".join(str(value) for value in x), f"{x[1]}"


@program(line)
def formatted_elements(x):
    return f"{x[0]:.3f} {x[1]}", "%.3f" % x[2]  # noqa: UP031


@program(line)
def message_of_an_exception(x):
    raise ValueError(f"the sum is {x.sum()}")


# --- types


@program(line)
def types(x):
    return type(x) is np.ndarray, type(x[0]).__name__, isinstance(x, np.ndarray), x.__class__.__name__


@program(line)
def types_of_elements(x):
    return isinstance(x[0], float), isinstance(x[0], np.floating), isinstance(x.argmax(), np.integer), np.isscalar(x[0])


@program(line)
def attributes(x):
    return x.nbytes, x.itemsize, x.strides, x.flags.writeable, x.flags["C_CONTIGUOUS"], x.dtype.name, x.T.ndim


@program(line)
def compared_with_none(x):
    return x == None, x is None, x != None  # noqa: E711


@program(either((np.array(3.0),), (np.array(4.0),)))
def zero_dimensions(x):
    return x, x + 1, x[()], x * np.ones(1)


@program(either((np.array(3.0),), (np.array(4.0),)))
def zero_dimensions_in_place(x):
    x += 1
    return x


@program(either((np.float32(2.5),), (np.float32(3.0),)))
def numpy_scalar(x):
    y = x
    x += 1
    return x, y, x * 2.5, x * np.float64(2), int(x), float(x), x.item()


@program(line)
def as_list(x):
    return x.tolist(), list(x), x[1].item(), x.tobytes()


@program(line)
def converted(x):
    y = np.asarray(x)
    y += 1
    return np.array(x), np.asarray(x, dtype=np.float32), np.array([x, y])


# --- views and effects


@program(table)
def shape_assigned(x):
    x.shape = (4, 3)
    y = x + 1
    y.shape = (12,)
    return y


@program(table)
def rows_in_a_loop(x):
    for row in x:
        row *= 2
        for value in row:
            value += 1


@program(table)
def rows_swapped(x):
    x[[0, 1]] = x[[1, 0]]
    x[0], x[2] = x[2], x[0]


@program(line)
def overlapping(x):
    x[1:] += x[:-1]
    x[[0, 0, 1]] += 1
    x[::-1] = x


@program(table)
def views(x):
    flat, turned, copied = x.reshape(-1), x.T, x.flatten()
    flat[0], turned[1, 0], copied[2] = 50, 70, 90
    x.flat[3] = 30
    np.einsum("ii->i", x[:3, :3])[1:] = 0


@program(table)
def diagonal_is_read_only(x):
    np.diagonal(x)[0] = 1


@program(table)
def broadcast_is_read_only(x):
    np.broadcast_to(x[0], (2, 4))[0, 0] = 1


@program(table)
def iterated(x):
    with np.nditer(x, op_flags=["readwrite"]) as values:
        for value in values:
            value[...] = 2 * value
    return [place for place, value in np.ndenumerate(x) if value > 10]


@program(line)
def copies(x):
    y, z = copy.copy(x), copy.deepcopy(x)
    y[0], z[1] = 5, 6
    return y, z


def same_twice(rng):
    x = rng.normal(size=4)
    return x, x


@program(same_twice)
def same_argument_twice(x, y):
    x += 1
    return y, x is y


def overlapping_arguments(rng):
    x = rng.normal(size=6)
    return x[1:], x[:-1]


@program(overlapping_arguments)
def arguments_that_overlap(x, y):
    x += y


def read_only(rng):
    x = rng.normal(size=4)
    x.flags.writeable = False
    return (x,)


@program(read_only)
def read_only_argument(x):
    x[0] = 1


@program(either(([1.0, 2.0], LINE), ([3.0, 4.0], LINE)))
def list_argument(values, x):
    values.append(7)
    values[0] = values[1]
    return len(values), values * 2, values + [1], sum(values)


@program(either(({"w": LINE.copy()}, LINE), ({"w": LINE * 2}, LINE)))
def dictionary_argument(parameters, x):
    parameters["w"] = parameters["w"] - 0.1 * x
    parameters["steps"] = parameters.get("steps", 0) + 1


@program(either((np.arange(5),), (np.arange(5) * 3,)))
def integers_in_place(x):
    x //= 2
    x[0] = 2.7
    x[1:3] = np.array([1.9, -1.9])
    x += 0.5


# --- indices


@program(either((LINE, 2), (LINE, 7)))
def place_out_of_bounds(x, i):
    return x[i]


@program(either((LINE, 1), (LINE, 9)))
def place_caught(x, i):
    try:
        return x[i]
    except IndexError:
        return -1.0


@program(either((LINE, np.array([0, 2])), (LINE, np.array([0, 9]))))
def places_out_of_bounds(x, places):
    x[places] = 1


@program(either((LINE, np.array([1, 3])), (LINE, np.array([2, 9]))))
def bounds_from_an_array(x, bounds):
    return x[bounds[0] : bounds[1]].sum(), x[bounds[0] : bounds[0] + 2]


@program(either((LINE, 3.0), (LINE, 9.0)))
def contained(x, value):
    return value in x, value in x.tolist()


@program(line)
def unpacked(x):
    first, *rest = x
    return first, rest, [a * b for a, b in zip(x, x[1:])], list(reversed(x)), list(enumerate(x))


@program(line)
def builtins(x):
    return sum(x), max(x), min(x), sorted(x, reverse=True), any(x > 3), all(v < 9 for v in x), len(x), abs(x)


@program(either((np.array([1.0, np.nan, 3.0]),), (np.array([np.nan, 1.0, 3.0]),)))
def builtins_with_nan(x):
    return max(x), min(x), max(x[0], x[1]), np.nanmax(x), np.argmax(x)


@program(line)
def keys(x):
    return {value: place for place, value in enumerate(x)}


# --- functions


@program(table)
def functions_by_element(x):
    return np.vectorize(lambda v: v * 2)(x), np.apply_along_axis(sum, 1, x), np.fromfunction(lambda i, j: x[0, 0] + i, (2, 2))


@program(table)
def functions_by_case(x):
    return np.piecewise(x, [x < 3, x >= 3], [0, lambda v: v * 2]), np.select([x < 3, x < 6], [x, x * 10], -1)


@program(line)
def histogram(x):
    return np.histogram(x, bins=3), np.digitize(x, [1, 3]), np.bincount(x.astype(int))


@program(line)
def fitted(x):
    return np.polyfit(x, x**2, 2).round(6), np.polyval([1, 2, 3], x), np.cov(x, x**2), np.corrcoef(x, -x)


@program(either((LINE, 2.0), (LINE, 3.0)))
def ranges(x, stop):
    return np.arange(0, stop, 0.5), np.linspace(0, stop, 3), np.arange(int(stop)), np.ones(int(stop))


@program(either((LINE, 2), (LINE, 3)))
def extents(x, n):
    return np.eye(n), np.tile(x, n), np.roll(x, n), x[n:], x[::n], np.zeros((n, n)), np.mgrid[:n], np.r_[x, n]


@program(either((np.array([1, -7, 3]), np.array([2, 3, -2])), (np.array([1, -7, 3]), np.array([0, 2, -1]))))
def integer_division(x, y):
    return x // y, x % y, x / y, x**2


@program(either((np.array([2, 3]), np.array([1, 2])), (np.array([2, 3]), np.array([1, -2]))))
def integer_powers(x, y):
    return x**y


@program(either((np.array([1 + 2j, -1j]),), (np.array([complex("inf+nanj"), 0j]),)))
def complex_functions(x):
    return np.log2(x), np.log10(x), x**2, 1 / x, np.sqrt(x), np.abs(x), np.angle(x)


# --- errors


@program(either((np.eye(3),), (np.ones((3, 3)),)))
def singular(a):
    return np.linalg.inv(a), np.linalg.solve(a, np.ones(3))


@program(either((np.eye(3),), (-np.eye(3),)))
def not_positive(a):
    return np.linalg.cholesky(a)


@program(either((np.eye(3),), (np.ones((3, 3)),)))
def singular_caught(a):
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(a)


@program(either((np.array([1.0, 2.0]),), (np.array([0.0, 2.0]),)))
def divide_raises(x):
    with np.errstate(divide="raise"):
        return 1 / x


@program(either((np.array([1.0, 2.0]),), (np.array([-1.0, 2.0]),)))
def invalid_raises(x):
    with np.errstate(invalid="raise"):
        return np.sqrt(x)


@program(either((np.array([1.0, 2.0]),), (np.array([1e308, 2.0]),)))
def overflow_raises(x):
    with np.errstate(over="raise"):
        return x * 10


@program(either((np.array([1.0, 2.0]),), (np.array([0.0, 2.0]),)))
def everything_caught(x):
    try:
        with np.errstate(all="raise"):
            return 1 / x
    except FloatingPointError:
        return np.zeros_like(x)


@program(line)
def shapes_that_do_not_fit(x):
    return x + np.ones(3)


@program(line)
def nothing_to_compare(x):
    return x[:0].max()


@program(either((LINE,), (LINE - 10,)))
def assertion(x):
    assert x[0] >= 0, "negative"
    return np.sqrt(x)


@program(line)
def raised_after_a_change(x):
    x += 1
    print("changed")
    raise RuntimeError("too late")


@program(either((LINE, 2), (LINE, 9)))
def changed_before_an_index_error(x, i):
    y = np.zeros(5)
    x += 1
    y[i] = 3
    x += 1
    return y


@program(either((np.eye(3), LINE), (np.ones((3, 3)), LINE)))
def changed_before_a_singular_matrix(a, x):
    x += 1
    inverse = np.linalg.inv(a)
    x += 1
    return inverse


@program(either((np.eye(3),), (np.ones((3, 3)),)))
def error_of_what_nobody_uses(a):
    np.linalg.inv(a)
    return a * 2


@program(either((np.eye(3), LINE, 2), (np.ones((3, 3)), LINE, 9)))
def first_of_two_errors(a, x, i):
    y = x[i]
    return np.linalg.inv(a) * y


@program(either((LINE, 2), (LINE, 3)))
def choice_between_scalars(x, i):
    return np.where(i < 3, x[i], -1.0)

"""Functions of arrays without elements, and of empty lists of indices, against NumPy; arguments that decide about copies."""

import itertools

import numpy as np
import phlox.numpy
import pytest
from phlox import jit
from phlox.tracer.recording import function_tables
from phlox.tracer.recording.errors import ConcretizationError

ARRAYS = {"f64[0]": np.zeros(0), "f64[0,3]": np.zeros((0, 3))}
MORE_ARRAYS = {
    "f64[3,0]": np.zeros((3, 0)), "f64[2,0,3]": np.zeros((2, 0, 3)), "f64[0,0]": np.zeros((0, 0)), "s64[0]": np.zeros(0, int),
    "c128[0]": np.zeros(0, complex), "f64[3]": np.arange(3.0) + 1, "f64[2,3]": np.arange(6.0).reshape(2, 3),
}  # fmt: skip
CALLS = {
    "f(x)": lambda f, x: f(x),
    "f(x, x)": lambda f, x: f(x, x),
    "f(x, [])": lambda f, x: f(x, []),
    "f([x, x])": lambda f, x: f([x, x]),
    "f(x, axis=0)": lambda f, x: f(x, axis=0),
    "f(x, [], 0)": lambda f, x: f(x, [], 0),
    "f(x, 0, x)": lambda f, x: f(x, 0, x),
}
# Calls to which NumPy gives a meaning that nobody means: a dtype without fields, an order of a norm or an `out` that is a list.
MEANINGLESS = {
    ("zeros_like", "f(x, [])"), ("ones_like", "f(x, [])"), ("empty_like", "f(x, [])"), ("astype", "f(x, [])"),
    ("norm", "f(x, [])"), ("norm", "f(x, [], 0)"),
    ("outer", "f(x, 0, x)"), ("isposinf", "f(x, x)"), ("isneginf", "f(x, x)"), ("fix", "f(x, x)"),
    ("dot", "f(x, [])"), ("inner", "f(x, [])"), ("vdot", "f(x, [])"), ("percentile", "f(x, x)"), ("nanmedian", "f(x, 0, x)"),
    ("polyadd", "f(x, x)"), ("polysub", "f(x, x)"), ("polyadd", "f(x, [])"), ("polysub", "f(x, [])"),
}  # fmt: skip


def same(found, wanted):
    if isinstance(wanted, (tuple, list)):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    found, wanted = np.asarray(found), np.asarray(wanted)
    alike = found.shape == wanted.shape and found.dtype == wanted.dtype
    if wanted.dtype.kind in "fc":  # processors round powers otherwise
        return alike and np.allclose(found, wanted, rtol=1e-14, atol=0, equal_nan=True)
    return alike and np.array_equal(found, wanted)


def check_calls(function, arrays):
    for (call_name, call), (name, x) in itertools.product(CALLS.items(), arrays.items()):
        if (function.__name__, call_name) in MEANINGLESS:
            continue
        try:
            with np.errstate(all="ignore"):
                wanted = call(function, x.copy())
        except Exception:  # NumPy refuses the call: so may phlox, each with words of its own
            continue
        if not isinstance(wanted, (np.ndarray, np.generic, tuple, list)):
            continue
        try:
            found = jit(lambda x: call(function, x), backend="reference")(x.copy())  # noqa: B023
        except (NotImplementedError, ConcretizationError):
            continue
        where = f"{call_name.replace('f', function.__name__, 1)} of {name}: {found!r}, not {wanted!r}"
        assert same(found, wanted) or function is np.empty_like and found.shape == wanted.shape, where


FUNCTIONS = pytest.mark.parametrize(
    "function", sorted(function_tables.FUNCTIONS, key=lambda f: (f.__name__, f.__module__)), ids=lambda f: f.__name__
)


@pytest.mark.filterwarnings("ignore")
@FUNCTIONS
def test_no_elements(function):
    check_calls(function, ARRAYS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@FUNCTIONS
def test_no_elements_of_other_shapes(function):
    check_calls(function, MORE_ARRAYS)


def outcome(function, *arguments):
    try:
        return function(*(np.copy(one, order="K") for one in arguments))
    except (IndexError, ValueError, TypeError, ZeroDivisionError) as error:
        return type(error)


def check_outcome(function, *arguments):
    wanted, found = outcome(function, *arguments), outcome(jit(function), *arguments)
    if isinstance(wanted, type):
        assert found is wanted
    else:
        assert not isinstance(found, type), found
        assert same(found, wanted), (found, wanted)


SHAPES_OF_MASKS = [
    ((3,), (0,)), ((0,), (2,)), ((0,), (0,)), ((3,), (2,)), ((3, 4), (0,)), ((3, 4), (0, 4)), ((3, 4), (3, 0)),
    ((3, 4), (2, 0)), ((0, 4), (2,)), ((3, 0), (3, 1)), ((0, 4), (0, 3)), ((2, 3, 4), (0, 0)),
]  # fmt: skip


@pytest.mark.parametrize("sizes, mask_sizes", SHAPES_OF_MASKS)
def test_masks_without_elements_fit_any_array(sizes, mask_sizes):
    x, mask = np.ones(sizes), np.ones(mask_sizes, bool)

    def assigned(x, mask):
        x[mask] = 2
        return x

    def scaled(x, mask):
        x[mask] *= 2
        return x

    for function in (lambda x, mask: np.sum(x[mask]), assigned, scaled):
        check_outcome(function, x, mask)


@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize("repeats", [[], np.zeros(0, int), np.zeros(0), 2.0, [2.0], [1, 2, 3], np.array([1.0]), [-1, 1, 1], 0])
def test_repetitions(repeats, size):
    check_outcome(lambda x: np.repeat(x, repeats), np.arange(float(size)))
    check_outcome(lambda x: np.repeat(x, repeats, axis=0), np.ones((size, 2)))


def test_lists_of_no_indices():
    x = np.arange(6.0).reshape(2, 3)
    for function in (
        lambda x: np.delete(x, [], 1), lambda x: np.insert(x, [], 7, 0), lambda x: x[[]], lambda x: x[:, []],
        lambda x: np.take(x, [], 1), lambda x: np.roll(x, []), lambda x: np.quantile(x, [], axis=0),
        lambda x: np.max(x[:, :0], axis=0), lambda x: np.max(x[:0, :0], axis=0), lambda x: np.partition(x[:0], 1, axis=0),
        lambda x: np.linalg.norm(x[:0], 2),
    ):  # fmt: skip
        check_outcome(function, x)


@pytest.mark.parametrize("keywords", [{"rcond": 1e-3}, {"rtol": 1e-3}, {"rtol": None}, {"rcond": 1e-3, "rtol": 1e-3}, {}])
def test_pinv(keywords):
    matrix = np.diag([1.0, 2.0, 1e-5])
    wanted = outcome(lambda x: np.linalg.pinv(x, **keywords), matrix)
    found = outcome(jit(lambda x: np.linalg.pinv(x, **keywords)), matrix)
    assert found is wanted if isinstance(wanted, type) else np.allclose(found, wanted)


# --- copies ---


COPIES = ["", "copy=False", "copy=True", "copy=None", "dtype=np.float32", "dtype=np.float32, copy=False"]
ORDERS = [*(f"order={order!r}" for order in "CFKA"), "order='F', copy=False", "order='C', copy=False"]
CONVERSIONS = [
    *itertools.product(["array", "asarray", "asanyarray"], [*COPIES, *ORDERS]),
    ("array", "ndmin=3"), ("array", "copy=False, ndmin=3"),
    *itertools.product(["ascontiguousarray", "asfortranarray"], ["", "dtype=np.float32"]),
    *(("require", f"requirements={one!r}") for one in ("C", "F", "O", "W", "A", None, ["F", "W"])),
]  # fmt: skip


@pytest.mark.parametrize("name, keywords", CONVERSIONS)
def test_conversions_copy_where_numpy_does(name, keywords):
    """What is written to the result changes the argument, or not; and the result's order in memory is NumPy's."""
    arguments = eval(f"dict({keywords})", {"np": np})
    x = np.arange(6.0).reshape(2, 3)
    for view in (lambda x: x, lambda x: x.T, lambda x: x[:, ::2], lambda x: x[0]):

        def program(numpy, x, view=view):
            converted = getattr(numpy, name)(view(x), **arguments)
            elements = np.ravel(converted, order="K").copy()
            converted[...] = 7
            return x, converted, elements

        wanted = outcome(lambda x, program=program: program(np, x), x)
        found = outcome(jit(lambda x, program=program: program(phlox.numpy, x), backend="reference"), x)
        assert found is wanted if isinstance(wanted, type) else same(found, wanted)


def test_scalars_and_sequences_are_copied():
    for value in (lambda x: x[0], lambda x: [x[0], x[1]]):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            jit(lambda x, value=value: phlox.numpy.asarray(value(x), copy=False))(np.ones(2))


def test_what_is_captured_is_not_copied():
    table = np.arange(3.0)
    np.testing.assert_array_equal(jit(lambda x: phlox.numpy.asarray(table, copy=False) + x)(1.0), table + 1)

    def written(x):
        phlox.numpy.asarray(table)[0] = x
        return x

    jit(written)(1.0)
    np.testing.assert_array_equal(table, [1, 1, 2])


@pytest.mark.parametrize("order", "CFAK")
def test_flattened_in_every_order(order):
    x = np.arange(24.0).reshape(2, 3, 4)
    views = [lambda x, axes=axes: x.transpose(axes) for axes in itertools.permutations(range(3))]
    views += [lambda x: x[:, ::-1].T, lambda x: x[:, :, ::2].transpose(1, 0, 2), lambda x: x.transpose(2, 0, 1)[None]]
    for view in views:

        def program(x, view=view):
            flat = view(x).ravel(order)
            flat[...] = flat * 2 + 1
            return x, flat, view(x).flatten(order)

        check_outcome(program, x)


# --- keywords ---


def test_keywords_that_were_ignored():
    x = np.array([1.0, np.nan, 3.0, 5.0])
    for function in (
        lambda x: np.nanvar(x, mean=np.float64(2.0)), lambda x: np.nanstd(x, mean=np.float64(2.0)),
        lambda x: np.eye(3, dtype=x.dtype, order="F", like=x).ravel("K") * x[0], lambda x: np.clip(x, 0, 2, out=x, where=x > 2),
        lambda x: np.clip(x, 2), lambda x: np.clip(x, 0, 2, min=1), lambda x: x.clip(2), lambda x: np.average(x, weights=x * 0),
        lambda x: np.average(x[2:], weights=[1, -1]), lambda x: np.cov(x[2:], np.array([1j, 2])),
    ):  # fmt: skip
        check_outcome(function, x)

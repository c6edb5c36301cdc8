"""Results are laid out as NumPy's are, which decides whether reshaping one makes a view or a copy."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from phlox import jit


@st.composite
def operands(draw):
    """One to three arrays that broadcast together, each with its axes in memory in some order, or some of them left out."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        kept = sizes[draw(st.integers(0, len(sizes) - 1)) :] if found else sizes
        own = [size if not found or draw(st.booleans()) else 1 for size in kept]
        order = draw(st.permutations(range(len(own))))
        memory = np.arange(float(np.prod(own))).reshape([own[axis] for axis in order])
        array = memory.transpose(np.argsort(order))
        found.append(array[::-1] if draw(st.integers(0, 9)) == 0 else array)
    return found


def element_strides(array):
    """Of the dimensions that have more than one element; those of others mean nothing."""
    return [step // array.itemsize for size, step in zip(array.shape, array.strides) if size > 1]


FUNCTIONS = {
    "sum": lambda *xs: sum(xs[1:], xs[0] * 2),
    "where": lambda *xs: np.where(xs[0] > 1, *(xs[0], xs[-1])),
    "copy": lambda *xs: np.copy(xs[0]),
    "astype": lambda *xs: xs[0].astype(np.float32),
    "like": lambda *xs: np.zeros_like(xs[0]),
    "column-major": lambda *xs: np.add(xs[0], xs[-1], order="F"),
    "any": lambda *xs: np.add(xs[0], xs[-1], order="A"),
    "copy in order": lambda *xs: xs[0].copy(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(deadline=None, derandomize=True, max_examples=25)
@given(arrays=operands())
def test_strides(name, arrays):
    """Arguments are brought into the order that they have in NumPy inside of the function: compiled ones have no others."""
    function, seen = FUNCTIONS[name], SimpleNamespace()
    expected = function(*arrays)

    def observed(*bases):
        views = [base.transpose(order)[::step] for base, order, step in zip(bases, orders, steps)]
        result = function(*views)
        seen.result = result
        return result

    steps = [-1 if array.ndim and array.shape[0] > 1 and array.strides[0] < 0 else 1 for array in arrays]
    forward = [array[::step] for array, step in zip(arrays, steps)]
    memory_axes = [sorted(range(x.ndim), key=lambda axis, x=x: (-x.strides[axis], axis)) for x in forward]
    orders = [tuple(map(axes.index, range(len(axes)))) for axes in memory_axes]
    bases = [np.ascontiguousarray(x.transpose(axes)) for x, axes in zip(forward, memory_axes)]
    np.testing.assert_array_equal(jit(observed, control_flow="trace")(*bases), expected)
    assert element_strides(seen.result) == element_strides(expected)


MEMORY = np.arange(24.0).reshape(2, 3, 4) / 9
LAID_OUT = {
    "row-major": MEMORY,
    "column-major": np.asfortranarray(MEMORY),
    "axes in another order": np.ascontiguousarray(MEMORY.transpose(1, 2, 0)).transpose(2, 0, 1),
    "broadcast": np.broadcast_to(MEMORY[:, :1], MEMORY.shape),
}
INDICES = np.zeros((3, 2), int, order="F")
OF_OTHER_SHAPES = {
    "an index array": lambda x: x[:, [0, 1]],
    "an index array last": lambda x: x[..., INDICES],
    "index arrays alone": lambda x: x[INDICES, INDICES, INDICES],
    "index arrays apart": lambda x: x[[0, 1], :, [0, 1]],
    "a mask": lambda x: x[:, np.array([True, False, True])],
    "take along an axis": lambda x: np.take_along_axis(x, np.zeros(x.shape, int), 0),
    "a sum": lambda x: x.sum(axis=1),
    "a sum kept": lambda x: x.sum(axis=2, keepdims=True),
    "a count": lambda x: np.count_nonzero(x, axis=0),
    "reduceat": lambda x: np.add.reduceat(x, [0, 1], axis=2),
    "bits": lambda x: np.unpackbits(x.astype(np.uint8), axis=1),
    "a transform": lambda x: np.fft.fft(x, axis=1),
    "joined": lambda x: np.stack([x, x], axis=1),
    "a copy": np.copy,
    "a triangle": np.tril,
    "einsum": lambda x: np.einsum("ijk,kl->lij", x, x[0].T),
    "einsum by products": lambda x: np.einsum("ijk,lk->il", x, x[0], optimize=True),
}


@pytest.mark.parametrize("name", OF_OTHER_SHAPES)
def test_strides_of_results_of_other_shapes(name):
    function, seen = OF_OTHER_SHAPES[name], SimpleNamespace()

    def observed(x):
        seen.result = function(x)

    for layout, array in LAID_OUT.items():
        jit(observed, control_flow="trace").lower(array)
        assert element_strides(seen.result) == element_strides(function(array)), layout


def test_a_reshape_of_what_index_arrays_choose_is_a_copy_as_in_numpy():
    def write(x):
        y = x[:, [0, 1]]
        y.reshape(-1)[0] = 100
        return y

    np.testing.assert_array_equal(jit(write)(MEMORY[0]), write(MEMORY[0]))


@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_writing_through_what_may_be_a_view(order):
    def write(x):
        y = x.T + 1
        z = np.ravel(y, order)
        z[0] = 100
        y.T.reshape(-1)[1] = 200
        return y

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jit(write)(x), write(x))


def part(array):
    return np.pad(array, 1)[1:-1, 1:-1]


def every_second(array):
    return np.repeat(np.repeat(array, 2, 0), 2, 1)[::2, ::2]


def backwards(array):
    return array[::-1].copy()[::-1]


def columns(array):
    return np.pad(array, ((0, 0), (0, 3)))[:, :4]


def slices(array):
    return np.stack([array, array], -1)[..., 0]


RESHAPES = {
    "ravel": lambda a: a.ravel(),
    "reshape": lambda a: a.reshape(2, 8),
    "rows": lambda a: a[1:3].reshape(8),
    "columns": lambda a: a[:, 1:3].ravel(),
    "transposed": lambda a: a.T.reshape(16),
    "split": lambda a: a.reshape(2, 2, 4),
    "split inside": lambda a: a.reshape(4, 2, 2),
    "column-major": lambda a: a.ravel("F"),
    "one row": lambda a: a[0].reshape(2, 2),
    "contiguous": np.ascontiguousarray,
    "required": lambda a: np.require(a, requirements="C"),
}


@pytest.mark.parametrize("make", [part, every_second, backwards, columns, slices, np.asfortranarray, np.ascontiguousarray])
@pytest.mark.parametrize("name", RESHAPES)
@pytest.mark.parametrize("is_outside", [False, True], ids=["argument", "outside"])
def test_what_is_reshaped_of_an_array_with_gaps_is_a_copy_where_it_is_one_in_numpy(make, name, is_outside):
    reshaped, held = RESHAPES[name], SimpleNamespace()

    def function(x):
        made = reshaped(held.array if is_outside else x)
        made[...] = -1.0
        return made

    jitted = jit(function)
    for _ in range(2):
        ends = []
        for one in (function, jitted):
            held.array = make(np.arange(16.0).reshape(4, 4))
            ends.append((one(held.array), held.array))
        np.testing.assert_array_equal(*[end[0] for end in ends])
        np.testing.assert_array_equal(*[end[1] for end in ends])


VECTORS = {
    "backwards": lambda: np.arange(5.0)[::-1],
    "steps": lambda: np.arange(9.0)[::2],
    "column": lambda: np.arange(10.0).reshape(5, 2)[:, 1],
    "one element": lambda: np.arange(5.0)[1::5],
    "real parts": lambda: (np.arange(5.0) + 1j).real,
    "contiguous": lambda: np.arange(5.0),
}
OF_VECTORS = {
    "ravel": np.ravel,
    "contiguous": np.ascontiguousarray,
    "required": lambda a: np.require(a, requirements="F"),
    "array": lambda a: np.array(a, copy=None, order="C"),
    "turned": lambda a: a[::-1].ravel(),
    "reshape": lambda a: a.reshape(1, -1),
    "parts": lambda a: (a * 1j).imag.ravel(),
    "strides": lambda a: as_strided(a, (1,), a.strides),
}


@pytest.mark.parametrize("make", VECTORS)
@pytest.mark.parametrize("name", OF_VECTORS)
def test_a_vector_with_steps_is_copied_where_numpy_copies_it(make, name):
    def function(x):
        made = OF_VECTORS[name](x)
        made[...] = -1.0
        return made, x.strides if len(x) > 1 else ()

    x, y = VECTORS[make](), VECTORS[make]()
    (found, steps), (expected, steps_there) = jit(function)(x), function(y)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(x, y)
    assert steps == steps_there


@pytest.mark.parametrize("function", [np.ascontiguousarray, lambda x: x.copy(), lambda x: x.copy() + 0, np.asfortranarray])
def test_copies_of_column_major_arguments(function):
    for x in (np.ones((2, 3)).T, np.ones((2, 3))):
        found, expected = jit(lambda x: function(x))(x), function(x)
        assert (found.flags.c_contiguous, found.flags.f_contiguous) == (
            expected.flags.c_contiguous,
            expected.flags.f_contiguous,
        )


@pytest.mark.parametrize("make", [np.array, np.asfortranarray, lambda rows: np.array(rows, order="F")])
def test_arrays_of_known_numbers(make):
    jitted, expected = jit(lambda: make([[1, 2], [3, 4]])), make([[1, 2], [3, 4]])
    for _ in range(2):
        found = jitted()
        np.testing.assert_array_equal(found, expected)
        assert found.strides == expected.strides


@pytest.mark.parametrize("array", [np.ones(3), np.ones((2, 3)), np.ones((2, 3)).T, np.ones((2, 3))[:, ::2], np.ones((0, 2))])
def test_flags(array):
    keys = "C CONTIGUOUS F FORTRAN W WRITEABLE B BEHAVED A ALIGNED X WRITEBACKIFCOPY CA CARRAY FA FARRAY FNC FORC".split()
    names = "c_contiguous f_contiguous contiguous fortran forc fnc behaved carray farray aligned writeable".split()

    def flags(x):
        x = x.copy("K")
        return [x.flags[key] for key in keys], [getattr(x.flags, name) for name in names], x.flags.num

    assert jit(flags)(array) == flags(array)

"""Views of the caller's arrays that a function returns, or keeps outside, share memory as NumPy's do."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from phlox import jit

VIEWS = {
    "transposed": lambda x: x.T, "slice": lambda x: x[1:], "turned": lambda x: x[::-1], "steps": lambda x: x[::2, 1:],
    "reshaped": lambda x: x.reshape(-1), "row": lambda x: x[1], "new axes": lambda x: x[None, :, None],
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)), "swapped": lambda x: np.swapaxes(x, 0, -1),
    "flip": lambda x: np.flip(x, 0), "ravel": lambda x: np.ravel(x), "view": lambda x: x.view(), "all": lambda x: x[...],
    "rot90": lambda x: np.rot90(x), "moved": lambda x: np.moveaxis(x, 0, -1), "last": lambda x: x[..., -1],
    "einsum": lambda x: np.einsum("ij->ji", x), "column-major": lambda x: x.ravel("F"),
    "turned rows": lambda x: x.T.reshape(-1),
    "expanded": lambda x: np.expand_dims(x, 1), "one": lambda x: x[1:2, 0:1], "of a copy": lambda x: x.copy()[1:],
    "of a result": lambda x: (x + 1)[1:], "itself": lambda x: x, "several": lambda x: x[1:].T[::2][:, ::-1],
    "element": lambda x: x[1, 2, ...], "only one": lambda x: x[1:2, 2:3].reshape(()), "squeezed": lambda x: np.squeeze(x[1:2]),
    "real": lambda x: x.real, "part": lambda x: (x.T.imag if np.iscomplexobj(x) else x.T.real)[1:],
    "diagonal": lambda x: np.diagonal(x, 1), "of two of one": lambda x: np.einsum("ii->i", x[:4, :4]),
}  # fmt: skip


def read_only():
    x = np.arange(24.0).reshape(4, 6)
    x.flags.writeable = False
    return x


ARRAYS = {
    "row-major": lambda: np.arange(24.0).reshape(4, 6),
    "column-major": lambda: np.asfortranarray(np.arange(24.0).reshape(4, 6)),
    "with gaps": lambda: np.arange(96.0).reshape(8, 12)[::2, ::2],
    "backwards": lambda: np.arange(24.0).reshape(4, 6)[::-1],
    "bytes": lambda: np.arange(24, dtype=np.int8).reshape(4, 6),
    "bytes of floats": lambda: (np.arange(24) % 8).astype(ml_dtypes.float8_e5m2).reshape(4, 6),
    "complex": lambda: np.arange(24).reshape(4, 6) * (1 - 1j),
    "read-only": read_only,
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("is_outside", [False, True], ids=["argument", "outside"])
def test_views(name, array, is_outside):
    view, held = VIEWS[name], SimpleNamespace()
    jitted = jit((lambda x: view(held.array)) if is_outside else (lambda x: view(x)), backend="reference")
    for _ in range(2):
        held.array = x = ARRAYS[array]()
        found, expected = jitted(x), view(x)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        assert np.shares_memory(found, x) == np.shares_memory(expected, x)
        assert found.flags.writeable == expected.flags.writeable
        if np.shares_memory(found, x):
            assert found.ctypes.data == expected.ctypes.data
            steps = zip(found.shape, found.strides, expected.strides)
            assert all(size == 1 or one == other for size, one, other in steps)


def test_views_as_other_types():
    def views(x, truths):
        return x.view(np.int64).T, x.view(np.uint8)[1:], x[::2].view(np.float32), x.view("u2").reshape(-1), truths.view("i1")

    x, truths = np.arange(24.0).reshape(4, 6), np.array([True, False])
    jitted = jit(views)
    for _ in range(2):
        for found, expected in zip(jitted(x, truths), views(x, truths), strict=True):
            assert np.shares_memory(found, expected) and found.ctypes.data == expected.ctypes.data
            assert (found.dtype, found.shape, found.strides) == (expected.dtype, expected.shape, expected.strides)


def test_what_is_reshaped_of_a_view_as_another_type_is_a_copy_where_it_is_one_in_numpy():
    def write(x):
        y = x[::2].view(np.float32)
        y.reshape(-1)[0] = 7
        return y.strides, y.flags.c_contiguous

    for_numpy, for_jit = np.zeros((4, 2)), np.zeros((4, 2))
    assert jit(write)(for_jit) == write(for_numpy)
    np.testing.assert_array_equal(for_jit, for_numpy)


@pytest.mark.parametrize("name", ["transposed", "row", "steps", "broadcast", "itself"])
def test_native_calls(name):
    view = VIEWS[name]
    jitted, x = jit(lambda x: (view(x), x.sum(), [view(x)])), np.arange(24.0).reshape(4, 6)
    for _ in range(3):
        first, total, (again,) = jitted(x)
        assert np.shares_memory(first, x) and np.shares_memory(again, x) and total == x.sum()
        np.testing.assert_array_equal(first, view(x))
    assert "called natively" in str(jitted.cache_info())


def test_views_that_are_written():
    def by_element(x):
        view = x[1:]
        for i in range(len(view)):
            view[i] += i
        return view

    def at_once(x):
        view = x[::-1][1:]
        view += 1
        view[0] = 7
        return view, view.T

    for function in (by_element, at_once):
        for shape in ((5,), (5, 3)):
            x, y = np.zeros(shape), np.zeros(shape)
            found, expected = jit(function)(x), function(y)
            for one, other in ((found, expected),) if function is by_element else zip(found, expected):
                np.testing.assert_array_equal(one, other)
                assert np.shares_memory(one, x) and one.strides == other.strides
            np.testing.assert_array_equal(x, y)


def test_blocks_are_copies():
    x = np.eye(2)
    copy, of_list, view = jit(lambda x: (np.block(x), np.block([x]), np.atleast_2d(x)))(x)
    assert not np.shares_memory(copy, x) and not np.shares_memory(of_list, x) and np.shares_memory(view, x)


def test_what_is_written_later_is_seen():
    def changed(x):
        x[0] = 5
        return x[:2]

    x, jitted = np.zeros(4), jit(changed)
    for value in (7.0, 8.0, 9.0):
        view = jitted(x)
        assert view.tolist() == [5, value - 1 if value > 7 else 0]
        view[1] = value
        assert x.tolist() == [5, value, 0, 0]


def test_arguments_that_are_one():
    def changed(a, b):
        a[:] = 1
        return b[1:]

    jitted, x = jit(changed), np.zeros(6)
    for a, b in ((x, x), (np.zeros(3), x), (x, np.zeros(3))):
        assert np.shares_memory(jitted(a, b), b)


def test_arrays_from_outside_are_themselves():
    held = SimpleNamespace(buffer=np.zeros(5), weights={"w": np.ones(3)}, number=np.array(2.0), numbers=[1.0, 2.0])

    def pushed(value):
        held.buffer[:-1] = held.buffer[1:]
        held.buffer[-1] = value
        return held.buffer

    jitted = jit(pushed)
    for value in range(3):
        assert jitted(float(value)) is held.buffer and held.buffer[-1] == value
    assert jit(lambda: held.weights["w"])() is held.weights["w"]
    assert jit(lambda: held.number)() is held.number
    assert np.shares_memory(jit(lambda: held.weights["w"][1:])(), held.weights["w"])
    assert jit(lambda: np.asarray(held.numbers)[1:])().tolist() == [2.0]
    first = jit(lambda: held.weights["w"])
    first()
    held.weights["w"] = np.zeros(3)
    assert first() is held.weights["w"]


def test_views_that_are_kept_outside():
    def kept(holder, x):
        holder.first = x[0]
        holder.rows.append(x[1])
        return x.T

    jitted, holder, x = jit(kept), SimpleNamespace(rows=[]), np.zeros((2, 3))
    for _ in range(2):
        jitted(holder, x)
        assert all(np.shares_memory(one, x) for one in (holder.first, holder.rows[-1]))


def test_an_argument_lives_as_long_as_its_views():
    jitted = jit(lambda x: x[10:20])
    views = [jitted(np.arange(10_000.0) + number) for number in range(20)]
    assert [view[0] for view in views] == [number + 10 for number in range(20)]


def test_arrays_of_flat_elements():
    """As in NumPy, no copies; where there is no view of one dimension it is a copy that cannot be written."""

    def function(x):
        flat, turned = np.array(x.flat), np.array(x.T.flat)
        flat[1] = 50.0
        return x.copy(), flat, np.copy(x.flat), np.array(x.flat, np.int32), turned, turned.flags.writeable, x.flat.copy()

    given, expected = np.arange(24.0).reshape(4, 6), np.arange(24.0).reshape(4, 6)
    for one, other in zip(jit(function)(given), function(expected), strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.shares_memory(one, given) == np.shares_memory(other, expected)
    np.testing.assert_array_equal(given, expected)

"""Arguments, and arrays from outside, that share a part of their memory, one of which the function changes."""

from types import SimpleNamespace

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

MEMORY = np.zeros((5, 6))
VIEWS = {
    "all": lambda m: m,
    "rows": lambda m: m[1:4],
    "columns": lambda m: m[:, 2:5],
    "block": lambda m: m[1:4, 1:4],
    "every other column": lambda m: m[:, ::2],
    "every other row": lambda m: m[::2, 1:],
    "backwards": lambda m: m[::-1, ::-1],
    "transposed": lambda m: m.T,
    "transposed block": lambda m: m[1:3, 2:].T,
    "row": lambda m: m[2],
    "column": lambda m: m[:, 3],
    "column backwards": lambda m: m[::-1, 3],
    "diagonal": lambda m: m.ravel()[::7],
    "flat": lambda m: m.ravel()[3:20],
    "element": lambda m: m[2:3, 3:4],
    "more axes": lambda m: m.reshape(5, 2, 3)[1:4, :, ::2],
    "new axis": lambda m: m[1:, None, 2],
}


def change_first(x, y):
    x += 1
    x[0] *= 2
    before = y.sum()
    x[...] = x + before
    return y * 1.0


def change_both(x, y):
    x *= 2
    y += x.sum()
    x -= 1
    return x.sum(), y.sum()


def in_a_loop(x, y):
    for i in range(len(x)):
        x[i] += y.sum() / 64
        y[0] -= 1


def change_outside(x, y):
    MEMORY[1:3] += x.sum()
    x += 1
    return y.sum(), MEMORY.sum()


def numbers(found):
    """All of what a function has returned and changed, one array after the other."""
    result, memory = found
    return [*(result if isinstance(result, tuple) else [] if result is None else [result]), memory]


@pytest.mark.parametrize("function", one_in(4, [change_both, change_first, in_a_loop, change_outside]))
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_views_of_one_array(function, backend):
    jitted = jit(function, backend=backend)
    rng = np.random.default_rng(3)
    names = list(VIEWS)
    pairs = [(one, names[(number * 5 + 3 + shift) % len(names)]) for number, one in enumerate(names) for shift in (0, 7)]
    stride = 5 if backend == "reference" else 3 if function is in_a_loop else 1  # each of them is compiled
    for first, second in pairs[::stride]:
        for _ in range(2):
            start = rng.integers(0, 9, MEMORY.shape).astype(float)
            found = []
            for called in (function, jitted):
                MEMORY[...] = start
                result = called(VIEWS[first](MEMORY), VIEWS[second](MEMORY))
                found.append((result, MEMORY.copy()))
            for one, other in zip(numbers(found[0]), numbers(found[1])):
                np.testing.assert_allclose(other, one, rtol=1e-12, err_msg=f"{first}, {second}")


def test_one_trace_for_each_arrangement():
    def add(x, y):
        x += y

    f = jit(add)
    memory = np.arange(100.0)
    for size, distance in ((50, 1), (50, 1), (50, 2), (40, 1), (50, 1)):
        plain = memory.copy()
        add(plain[distance : distance + size], plain[:size])
        f(memory[distance : distance + size], memory[:size])
        np.testing.assert_array_equal(memory, plain)
    assert f.cache_info().misses == 5  # two for arguments of other shapes


def test_three_that_hang_together():
    def f(x, y, z):
        y += 1
        return x.sum() + z.sum()

    for called in (f, jit(f)):
        memory = np.arange(8.0)
        assert called(memory[:4], memory[2:6], memory[5:]) == 6 + 2 + 18 + 1
        np.testing.assert_array_equal(memory, [0, 1, 3, 4, 5, 6, 6, 7])


def test_an_error_behind_changes():
    def f(x, y, i):
        x += 1
        y[i] = 7
        x += 1

    found = []
    for called in (f, jit(f)):
        memory = np.arange(6.0)
        called(memory[1:], memory[:-1], np.int64(2))
        with pytest.raises(IndexError):
            called(memory[1:], memory[:-1], np.int64(9))
        found.append(memory.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "views",
    [
        lambda m: (m, m.view(np.int64)),
        lambda m: (np.lib.stride_tricks.sliding_window_view(m, 3, writeable=True), m),
        lambda m: (m[1:], m[:-1].view(np.complex128)),
    ],
)
def test_what_is_no_view_of_one_array_is_refused(views):
    memory = np.arange(7.0)
    x, y = views(memory)

    @jit
    def f(x, y):
        x[0] = 1
        return y * 1

    with pytest.raises(ValueError, match="share part of their memory"):
        f(x, y)
    np.testing.assert_array_equal(memory, np.arange(7.0))


class Grid:
    def __init__(self):
        self.all = np.arange(24.0).reshape(4, 6)
        self.inner, self.row, self.turned, self.same = self.all[1:-1, 1:-1], self.all[0], self.all.T, self.all[:]

    def step(self, dt):
        self.inner[...] += dt * (self.all[2:, 1:-1] - self.inner)
        self.row += self.turned[:, 1]
        self.same[0, 0] += 1
        return self.all.sum()


def test_parts_of_one_array_outside():
    """Also new views at each call, and where these are no views any more, or the array is an argument, too."""
    step = jit(Grid.step)
    theirs, ours = Grid(), Grid()
    for dt in (0.5, 0.25, 0.5):
        assert step(ours, dt) == theirs.step(dt)
        theirs.inner, ours.inner = theirs.all[1:-1, 1:-1], ours.all[1:-1, 1:-1]
    assert step.cache_info().misses == 2
    for grid in (theirs, ours):
        grid.inner, grid.turned = grid.inner.copy(), grid.all[::-1].T
    assert step(ours, 0.5) == theirs.step(0.5)
    np.testing.assert_array_equal(ours.all, theirs.all)

    def add_to(x):
        x += 1
        held.inner[0] *= 2
        return held.all.sum()

    added, found = jit(add_to), []
    for called in (add_to, added):
        held = Grid()
        found.append([called(held.row), called(held.all), called(np.zeros(2)), held.all.tolist()])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "views", [lambda m: (m[1:], m[:-1]), lambda m: (m[:, ::2], m), lambda m: (m[1:3].T, m[2])], ids=["rows", "columns", "row"]
)
def test_what_shares_memory_is_itself_where_it_is_returned(views):
    def change(x, y):
        x += 1
        held.part = y[1:]
        return x, y, x[::-1], y.T

    held, jitted = SimpleNamespace(), jit(change)
    for _ in range(2):
        ours, theirs = np.arange(20.0).reshape(4, 5), np.arange(20.0).reshape(4, 5)
        x, y = views(ours)
        expected, found = change(*views(theirs)), jitted(x, y)
        assert found[0] is x and found[1] is y and np.shares_memory(held.part, ours)
        np.testing.assert_array_equal(ours, theirs)
        for one, other in zip(found, expected):
            assert one.strides == other.strides and np.shares_memory(one, ours)
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("first", [slice(None), slice(1, 5)], ids=["the same memory", "a part of it"])
def test_a_view_that_is_read_only_is_not_written_to(first):
    def change(x, y):
        x[0] = 7
        x[1] += y[1]
        return y.sum()

    memory = np.arange(6.0)
    protected = memory[:]
    protected.flags.writeable = False
    jitted = jit(change)
    for _ in range(2):
        found = []
        for called in (change, jitted):
            memory[...] = np.arange(6.0)
            result = called(memory[first], protected)
            found.append((result, memory.tolist()))
        assert found[0] == found[1]
        memory[...] = np.arange(6.0)
        with pytest.raises(ValueError, match="read-only"):
            jitted(protected, memory[first])
        assert memory.tolist() == np.arange(6.0).tolist()


@pytest.mark.parametrize(("shape", "strides"), [((3, 2), (0, 8)), ((3, 2), (8, 8)), ((3,), (0,)), ((2, 2), (8, 0))], ids=str)
def test_changes_of_elements_at_several_places_are_refused(shape, strides):
    """NumPy would show one change at all of them."""
    memory = np.arange(7.0)
    twice = np.lib.stride_tricks.as_strided(memory, shape, strides)

    @jit
    def change(x):
        x[0] = 7
        return x.sum()

    @jit
    def change_outside():
        twice[0] = 7

    assert jit(lambda x: x.sum())(twice) == twice.sum()
    for call in (lambda: change(twice), change_outside):
        with pytest.raises(NotImplementedError, match="at several places"):
            call()
    np.testing.assert_array_equal(memory, np.arange(7.0))
    with pytest.raises(ValueError, match="read-only"):
        change(np.broadcast_to(memory, (2, 7)))
    distinct = np.lib.stride_tricks.as_strided(memory, (2, 2), (24, 16))  # elements 0, 2, 3 and 5
    change(distinct)
    assert memory.tolist() == [7, 1, 7, 3, 4, 5, 6]

"""Arguments that programs write where they lie: what was there is read before, and nothing is changed by halves."""

import random

import numpy as np
import pytest
from phlox import jit
from written_functions import written

STATEMENTS = (
    "a[1:] = a[:-1]", "a[:-1] = a[1:] * 2", "a += c", "c -= a * 0.5", "a[:] = c", "c[:] = a", "t = a", "t = a + 1",
    "t = a[::-1]", "t = np.cumsum(a)", "a[:] = t[:8]", "c[:] = t[:8] + c", "a[2], a[5] = a[5], a[2]", "a[:] = a[::-1]",
    "a[3:6] = c[:3]", "a[:] = np.roll(a, 1)", "a *= a.sum()", "c[:] = np.sort(a)", "a[:] = np.where(a > 0, c, a)",
    "a[:4] += a[4:]", "a[:] = np.convolve(a, np.ones(3), 'same')", "a[:], c[:] = c + 1, a + 1", "a[a > 0.5] = 0.25",
    "t = np.maximum(a, c)", "a[:] = np.outer(c, c) @ a", "c[1:-1] = (a[2:] + a[:-2]) / 2", "np.add(a, c, out=a)",
    "np.multiply(a[:4], a[4:], out=c[:4])", "if a[0] > c[0]:\n        a[1] = 5.0",
    "if c[1] > 0:\n        a[:] = a + 1\n    else:\n        a[:3] = c[:3]",
    "for i in range(3):\n        a[i] = a[i + 1] + c[i]", "t[0] = a[7]", "a.sort()", "t = np.copy(c)",
)  # fmt: skip
RESULTS = ("None", "a.sum()", "(t, c)", "a + c", "(t.copy(), a.max())")


def program(seed):
    """A function of two arrays of 8, made of a few statements."""
    choose = random.Random(seed)
    lines = ["t = a * 1", *[choose.choice(STATEMENTS) for _ in range(choose.randint(1, 5))], f"return {choose.choice(RESULTS)}"]
    source = "def f(a, c):\n    " + "\n    ".join(lines) + "\n"
    return written(source, f"<written {seed}>", np=np)["f"]


@pytest.mark.parametrize("seed", range(60))
def test_programs_of_statements(seed):
    function = program(seed)
    jitted = jit(function)
    for number in range(3):
        numbers = np.random.default_rng(number)
        a, c = numbers.normal(size=8), numbers.normal(size=8)
        others = [a.copy(), c.copy()]
        expected, found = function(a, c), jitted(*others)
        results = zip(*(value if isinstance(value, tuple) else (value,) for value in (expected, found)))
        for one, other in [(a, others[0]), (c, others[1]), *results]:
            if one is None:
                assert other is None
            else:
                np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)


def set_one(a):
    a[5] = 1.0


def over_arguments(function, *arguments):
    return jit(function).lower(*arguments).compile().executable.program.over_arguments


def test_what_is_written_where_it_lies():
    x = np.zeros(1000)
    assert over_arguments(set_one, x) == ((0, 0),)

    def unless_an_error_is_found(a, i):
        a[i] = 1.0

    def unless_python_is_called(a):
        a[0] = 1.0
        print(a[1])

    def unless_it_takes_long(a):
        while a[0] < 1e9:
            a[0] += 1.0

    assert not over_arguments(unless_an_error_is_found, x, 3)
    assert not over_arguments(unless_python_is_called, x)
    assert not over_arguments(unless_it_takes_long, x)


def test_the_executable_leaves_its_arguments_alone():
    x = np.zeros(1000)
    compiled = jit(set_one).lower(x).compile()
    (found,) = compiled.executable(x)
    assert found[5] == 1.0 and not x.any()
    jit(set_one)(x)
    assert x[5] == 1.0


@pytest.mark.parametrize("size", [2, 300, 2048, 2049, 1 << 17])
def test_what_may_fail_is_written_behind_the_program_from_memory_of_any_size(size):
    def halves(a, c, table, k):
        a[k] = 1.0
        c[:] = a[::-1] * 2
        table[k] = table.get(k, 0) + 1
        return c[0]

    compiled, tables = jit(halves), ({3: 5}, {3: 5})
    ours, theirs = ((np.arange(float(size)), np.ones(size), table) for table in tables)
    for k in (0, 1, 1, size - 1, -1, size, 0):
        if k < size:
            assert compiled(*ours, k) == halves(*theirs, k)
        else:
            for function, arguments in ((compiled, ours), (halves, theirs)):
                with pytest.raises(IndexError):
                    function(*arguments, k)
        assert all(map(np.array_equal, ours[:2], theirs[:2])) and list(ours[2].items()) == list(theirs[2].items())


def test_arrays_of_other_layouts_and_read_only_ones():
    fortran, reversed_ = np.zeros((6, 2), order="F"), np.zeros(6)[::-1]
    set_two = jit(lambda a: a.__setitem__(1, 2.0))
    for x in (fortran, reversed_, np.zeros((6, 4))[:, 1]):
        set_two(x)
        assert (x[1] == 2.0).all() and np.count_nonzero(x) == np.size(x[1])
    constant = np.zeros(6)
    constant.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        jit(set_one)(constant)

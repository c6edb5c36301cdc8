"""`JittedFunction.explain`: which arrays are copied, and why; what is computed in one go; what memory it takes.

That the list is complete is not said by the list itself: the code's own calls of memmove are counted beside it.
"""

import re

import numpy as np
import pytest
from phlox.tracer import jit

SIZE = 1237  # elements, of which no part of an array has as many
TABLE = np.ones(SIZE)


def lines_of(function, title, number=0):
    """The lines of a section of one form."""
    _, sections = function.explain().forms[number]
    return dict(sections).get(title, [])


def keep_former(x):
    before = x.copy()
    x[0] = 5.0
    return before


def changed_copy(x):
    y = x.copy()
    y[3] = 1.0
    return y


def read_behind(x):
    y = np.cumsum(x)
    z = y.copy()
    z[3] = 1.0
    return np.sort(z)[0] + y.max()


def returned_both(x):
    y = np.cumsum(x)
    z = y.copy()
    z[3] = 1.0
    return y, z


def raises_behind(x):
    x[3] = x.sum()
    if x[0] > 1e9:
        raise ValueError("too large")


def each_round(x):
    total = 0.0
    for i in range(SIZE):
        y = x.copy()
        y[i] = 2.0
        total += np.sort(y)[0]
    return total


def changed_by_a_loop(x):
    for i in range(1, SIZE):
        x[i] += x[i - 1]


def from_outside(i):
    TABLE[i] = 3.0


def in_one_case(x):
    y = np.cumsum(x)
    z = y
    if x[0] > 0:
        z = y.copy()
        z[0] = 1.0
    return z, y.sum()


COPIES = [
    (keep_former, "`x[0] = 5.0`: argument x, f64[1237], 9.664 KiB, is copied: its former contents are returned, too"),
    (
        keep_former,
        "gets its new contents, f64[1237], 9.664 KiB, at the end of the call: its former contents are needed until the",
    ),
    (keep_former, "argument x, f64[1237], 9.664 KiB, is copied: what is returned is an array of its own"),
    (changed_copy, "`y[3] = 1.0`: argument x, f64[1237], 9.664 KiB, is copied: the caller keeps it as it is"),
    (read_behind, "`z[3] = 1.0`: f64[1237], 9.664 KiB, is copied: its former contents are read later, at "),
    (read_behind, "`return np.sort(z)[0] + y.max()`"),
    (returned_both, "`z[3] = 1.0`: f64[1237], 9.664 KiB, is copied: its former contents are returned, too"),
    (raises_behind, "`x[3] = x.sum()`: argument x, f64[1237], 9.664 KiB, is copied: it is changed at the end of the call"),
    (raises_behind, "at the end of the call: the call may end with an exception before it is complete"),
    (each_round, "`y[i] = 2.0`: f64[1237], 9.664 KiB, is copied in each round of test_explanation_of_memory.py:"),
    (each_round, "each round begins with its former contents"),
    (changed_by_a_loop, "argument x, f64[1237], 9.664 KiB, is copied before the loop at test_explanation_of_memory.py:"),
    (from_outside, "`TABLE[i] = 3.0`: global TABLE, f64[1237], 9.664 KiB, is copied: it is changed at the end of the call"),
    (in_one_case, "`z[0] = 1.0`: f64[1237], 9.664 KiB, is copied: its former contents are read later, at "),
    (in_one_case, "`if x[0] > 0:`: f64[1237], 9.664 KiB, is copied: its former contents are read later, at "),
]


def called(function):
    f = jit(function)
    f(3 if function is from_outside else np.ones(SIZE))
    return f


@pytest.mark.parametrize(("function", "words"), COPIES)
def test_a_copy_is_named_with_its_line_its_array_and_its_reason(function, words):
    assert any(words in line for line in lines_of(called(function), "copies"))


def update_argument(x):
    x[3] = 7.0


def update_slice(x):
    x[1:] += x[:-1]


def update_all(x):
    x *= 2.0
    x += 1.0


def update_chosen(x):
    x[x > 0.5] = 0.0


def own_array(x):
    y = np.zeros(SIZE)
    for i in range(1, SIZE):
        y[i] = y[i - 1] + i
    return y + x


def several_updates(x):
    y = np.cumsum(x)
    y[0] = 1.0
    y[4:9] = 2.0
    y[::2] += 1.0
    return y


def no_update(x):
    return np.sort(np.sin(x)).sum()


CLEAN = [update_argument, update_slice, update_all, update_chosen, own_array, several_updates, no_update]


@pytest.mark.parametrize("function", CLEAN)
def test_where_nothing_is_copied_nothing_is_named(function):
    assert lines_of(called(function), "copies") == ["none"]


@pytest.mark.parametrize("function", [*dict.fromkeys(function for function, _ in COPIES), *CLEAN])
def test_the_code_copies_as_many_arrays_as_are_named(function):
    f = jit(function)
    compiled = f.compile(3 if function is from_outside else np.ones(SIZE))
    copied = [copy for copy in compiled.executable.memory_plan().copies if copy.shape.byte_size == 8 * SIZE]
    # An array that is written as a whole is moved, too; these programs have none of that size.
    assert len(re.findall(rf"call void @.*memmove.*i64 {8 * SIZE},", compiled.executable.llvm_ir())) == len(copied)


def test_arguments_that_share_memory():
    @jit
    def f(a, b):
        a[1:] += b[:-1]

    x = np.ones(SIZE + 1)
    f(x[1:], x[:-1])
    (line,) = lines_of(f, "copies")
    assert line == (
        "where argument a and argument b share part of their memory, 9.672 KiB, "
        "that is copied before the call, and back behind it"
    )
    assert lines_of(f, "why", 1) == ["argument a and argument b share memory, and one is changed"]
    f(x[1:], x[1:])
    assert lines_of(f, "why", 2) == ["argument b is argument a, and one is changed"]


def test_what_is_not_contiguous():
    @jit
    def f(x):
        x[0] = 1.0

    f(np.ones(2 * SIZE)[::2])
    lines = lines_of(f, "copies")
    assert lines[0] == "argument x, f64[1237], 9.664 KiB, is copied before the call: not contiguous"
    assert lines[-1].endswith("at the end of the call: it does not lie row by row")


def test_fusions_and_memory():
    @jit
    def f(x):
        y = np.sin(x) * 2.0
        z = np.sort(y + 1.0)
        return np.sort(z - 1.0), z

    f(np.ones(SIZE))
    fused = lines_of(f, "fused")
    assert (
        "y = np.sin(x) * 2.0" in fused[0] and fused[0].endswith(": 2 add, multiply, sine in one loop, for f64[1237]") is False
    )
    assert "add, multiply, sine in one loop, for f64[1237]" in fused[0] and fused[0].count("test_explanation_of_memory.py") == 2
    total, shared = lines_of(f, "memory")
    plan = f.compile(np.ones(SIZE)).executable.memory_plan()
    assert total.startswith("arguments 9.664 KiB, results 19.33 KiB, temporaries ")
    assert shared.startswith(f"{plan.temporaries} temporary arrays of ") and plan.temporaries > 1
    assert plan.arena_bytes <= plan.separate_bytes + plan.working_bytes + 64 * (plan.temporaries + 2)


def test_temporaries_that_share_memory():
    @jit
    def f(x):
        for _ in range(5):
            x = np.sort(np.cumsum(np.sort(x) * 1.5))
        return x

    f(np.ones(SIZE))
    plan = f.compile(np.ones(SIZE)).executable.memory_plan()
    assert plan.arena_bytes < plan.separate_bytes + plan.working_bytes


def test_what_is_written_where_it_lies():
    assert lines_of(called(update_argument), "memory")[-1] == "written where they lie: argument x"


def test_an_element_is_read_before_its_array_is_changed():
    @jit
    def taken(x, marks):
        state, found = x.copy(), []
        for i in range(len(x)):
            one = state[i]
            state[i] = -1.0
            if marks[i] > 0:
                found.append(one)
        return found, state

    x, marks = np.arange(1.0 * SIZE), np.arange(SIZE) % 3
    found, state = taken(x, marks)
    assert found == x[marks > 0].tolist() and (state == -1.0).all()
    assert not [line for line in lines_of(taken, "copies") if "in each round" in line]

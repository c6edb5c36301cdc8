"""Helpers that are called several times: they are recorded once where that is the same, and where they stand otherwise."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from phlox.tracer import ConcretizationError, jit
from phlox.tracer.capture.calls import repeated_calls

from ...support.undecorated import check

X = np.linspace(-1.0, 2.0, 8)
SCALE = 3.0
WEIGHTS = np.linspace(0.5, 1.5, 8)


def long(a, b):
    """More instructions than are worth while to repeat."""
    for k in range(12):
        a = a * (1.0 + 0.01 * k) + b / (k + 2.0)
        b = np.sqrt(a * a + b * b + k)
    return a - b


def called_in(function, *arguments):
    """The names of the computations that instructions call, one for each call."""
    pending, seen, names = [jit(function).lower(*arguments).module.entry], set(), []
    while pending:
        computation = pending.pop()
        if computation not in seen:
            seen.add(computation)
            names += [one.attributes["to_apply"].name for one in computation.instructions if one.opcode == "call"]
            pending += [callee for one in computation.instructions for callee in one.called_computations]
    return names


ONCE = []  # programs in which a computation is called
APART = []  # programs whose calls of a helper, other than `long`, are recorded where they stand


def program(kind, *arguments):
    def add(function):
        kind.append((function, arguments))
        return function

    return add


@program(ONCE, X, X + 1)
def same_forms(x, y):
    return long(x, y) + long(y, x) + long(x, x)


@program(ONCE, 0.3, 2)
def python_numbers(x, n):
    return long(x, 0.5) + long(x * n, 0.5) + long(-x, 0.5)


@program(ONCE, X)
def numbers_are_told_apart(x):
    return long(x, 1.0) + long(x, 2.0) + long(x, 1) + long(x, 1.0) + long(x, -0.0) + long(x, 0.0) + long(x, 2.0)


@program(ONCE, X)
def views(x):
    return long(x[:4], x[4:]) + long(x[4:], x[:4]) + long(x[1:5], x[3:7])


def changing(a, b):
    for k in range(12):
        a[k % 4] = b[k % 4] * 2 + a[(k + 1) % 4]
        a[1:3] += k
    return a.sum()


@program(ONCE, X)
def changes_its_argument(x):
    y = x.copy()
    s = changing(y, x)
    t = changing(y, x)
    return s, t, changing(x, y), y


@program(ONCE, X)
def changes_a_view(x):
    a = x.reshape(2, 4).copy()
    s = changing(a[0], a[1] * 1.0)
    t = changing(a[1], a[0] * 1.0)
    return s, t, changing(a[0], a[1] * 1.0), a


@program(ONCE, X)
def changes_what_another_argument_shows(x):
    return changing(x, x), changing(x, x), changing(x[:4], x), changing(x[2:6], x[:4]), changing(x, x[::-1])


@program(APART, X)
def changes_what_the_function_reads_otherwise(x):
    def inner(a):
        for k in range(12):
            a[k % 3] = x[(k + 1) % 3] * 2 + k * a[k % 2]
        return a.sum()

    return inner(x[:3]), inner(x[:3]), inner(x[1:4]), x


@program(ONCE, X)
def closed_over_array(x):
    y = x * 2

    def inner(a):
        y[1] += a
        return long(y, x)[2]

    return inner(1.0), inner(x[0]), inner(x[1]), inner(x[2]), y


@program(APART, X)
def rebinds_a_variable(x):
    n = 0
    total = x * 0

    def inner(a):
        nonlocal n, total
        n += 1
        total = total + long(a, a)
        return total * n

    return inner(x), inner(x + 1), inner(x), n


@program(ONCE, X)
def reads_a_variable_that_is_rebound(x):
    n = 1

    def inner(a):
        return long(a, a) * n

    first = inner(x)
    n = 2
    second = inner(x)
    n = 1
    third = inner(x)
    n = 5
    return first, second, third, inner(x)


@program(APART, X)
def appends(x):
    out = []

    def inner(a):
        out.append(long(a, a))
        return len(out)

    return inner(x), inner(x), inner(x), out


@program(APART, X)
def reads_a_list(x):
    factors = [1.0]

    def inner(a):
        return long(a, a) * factors[-1]

    first = inner(x), inner(x)
    factors.append(2.0)
    return first, inner(x), inner(x)


@program(APART, X)
def reads_an_object(x):
    settings = SimpleNamespace(n=1)

    def inner(a):
        return long(a, a) * settings.n

    first = inner(x), inner(x)
    settings.n = 2
    return first, inner(x), inner(x)


@program(APART, X)
def counts_on_itself(x):
    def inner(a):
        inner.calls = getattr(inner, "calls", 0) + 1
        return long(a, a) * inner.calls

    return inner(x), inner(x), inner(x)


@program(APART, X)
def default_that_is_kept(x):
    def inner(a, seen=[]):  # noqa: B006
        seen.append(1)
        return long(a, a) * len(seen)

    return inner(x), inner(x), inner(x)


def printing(a):
    print("first", a[0])
    return long(a, a)


@program(APART, X)
def prints(x):
    return printing(x), printing(x + 1), printing(x)


@program(ONCE, X)
def constants_from_outside(x):
    def inner(a):
        return long(a, a) * SCALE + WEIGHTS

    return inner(x), inner(x + 1), inner(x + 2)


@program(ONCE, X)
def functions_as_arguments(x):
    def apply(function, a):
        return long(function(a), a)

    double, triple = (lambda a: a * 2), (lambda a: a * 3)
    return apply(double, x), apply(triple, x), apply(double, x + 1), apply(triple, x), apply(np.sin, x), apply(np.cos, x)


@program(ONCE, X)
def several_results(x):
    def inner(a, b):
        return {"sum": long(a, b), "same": a, "pair": [long(b, a), 3, "text", None]}

    first, second, third = inner(x, x + 1), inner(x + 1, x), inner(x, x)
    second["pair"].append(1)
    third["same"] = third["same"] + 1
    return first, second, third, first["same"] is x, third["pair"][1]


@program(APART, X)
def views_of_its_argument(x):
    def inner(a):
        long(a, a)
        return a[1:] * 1, a[:2]

    first, second, third = inner(x), inner(x), inner(x)
    third[1][0] = 77.0
    return first, second, third, x


@program(ONCE, X)
def own_arrays_that_are_changed(x):
    def inner(a):
        made = np.zeros(8)
        made[:4] = long(a, a)[4:]
        return made

    first, second, third = inner(x), inner(x), inner(x)
    second += 1
    third[0] = 5
    return first, second, third


@program(ONCE, np.arange(6), 4)
def indices_in_loops(x, n):
    def inner(i, j):
        return long(x[i] * 1.0, x[j] * 2.0)

    total = 0.0
    for i in range(n):
        total += inner(i, 1) + inner(2, i) + inner(i, 1)
        for j in range(n):
            total -= inner(j, i) + inner(i, j)
    return total


@program(ONCE, X, 3)
def static_recursion(x, n):
    def inner(a, depth):
        if depth == 0:
            return long(a, a)
        return inner(a * 0.5, depth - 1) + inner(a + 1, depth - 1)

    return inner(x, 4)


@program(ONCE, X)
def under_conditions(x):
    def inner(a):
        if a[0] > 0:
            return long(a, a)
        return long(-a, a) * 2

    if x[1] > 0:
        return inner(x), inner(x + 1)
    return inner(x - 1), inner(x), inner(x + 3)


@program(ONCE, X)
def error_states(x):
    first = long(x, x)
    with np.errstate(all="ignore"):
        return first, long(x, x), long(x, x), long(x + 1, x)


@program(ONCE, X)
def by_name(x):
    return long(a=x, b=x), long(x, b=x), long(b=x, a=x), long(x, b=x + 1), long(x, b=x - 1), long(b=x - 2, a=x)


@program(APART, X)
def sizes_from_values_that_are_known(x):
    def inner(n, a):
        long(a, a)
        return np.int64(n) + 1

    return np.zeros(int(inner(2, x))), np.zeros(int(inner(2, x))), np.zeros(int(inner(2, x)))


@program(APART, X)
def generators(x):
    def inner(a):
        yield long(a, a)
        yield a

    return list(inner(x)), list(inner(x)), list(inner(x))


def names(programs):
    return [function.__name__ for function, _ in programs]


@pytest.mark.parametrize("function, arguments", [*ONCE, *APART], ids=names([*ONCE, *APART]))
def test_calls_are_as_undecorated(function, arguments):
    others = [one + 1 if isinstance(one, (np.ndarray, float)) else one for one in arguments]
    jitted = check(function, *arguments)
    check(jitted, *others)
    check(jitted, *arguments)


@pytest.mark.parametrize("function, arguments", ONCE, ids=names(ONCE))
def test_calls_of_one_form_are_recorded_once(function, arguments):
    assert called_in(function, *arguments)


@pytest.mark.parametrize("function, arguments", APART, ids=names(APART))
def test_what_functions_do_besides_is_recorded_at_each_call(function, arguments):
    assert set(called_in(function, *arguments)) <= {"long"}


def failing(a, i):
    long(a, a)
    return a[i]


def test_errors_have_the_lines_of_their_own_call():
    @jit
    def program(x, i, j, k):
        first = failing(x, i)
        second = failing(x, j)
        third = failing(x, k)
        return first + second + third

    start = program.__wrapped__.__code__.co_firstlineno + 1  # as pytest counts lines
    program(X, 0, 1, 2)
    for position in range(3):
        indices = [0, 0, 0]
        indices[position] = 8 + position
        with pytest.raises(IndexError, match=f"index {8 + position} is out of bounds") as caught:
            program(X, *indices)
        lines = [entry.lineno for entry in caught.traceback if entry.name.endswith("program")]
        assert lines == [start + position]
        assert caught.traceback[-1].name == "failing"


def test_errors_of_calls_are_caught():
    def program(x, i, j):
        total = failing(x, 1) + failing(x, 2)
        try:
            total += failing(x, i)
            total += failing(x, j)
        except IndexError:
            total = -total
        return total

    jitted = check(program, X, 3, 4)
    for i, j in ((3, 9), (9, 3), (-9, 9), (0, 7)):
        check(jitted, X, i, j)


def test_a_recursion_without_end_says_what_it_needs():
    def inner(x, n):
        return inner(*(x, -n)) + long(x, x) if x[0] > 0 else x

    def program(x):
        return inner(x, 1)

    with pytest.raises(ConcretizationError, match="inner calls itself at"):
        jit(program)(X)
    with pytest.raises(ConcretizationError, match="static_argnames"):
        jit(program)(X)


def test_an_exponential_recursion_is_recorded_in_steps():
    def inner(x, n):
        return long(x, x) if n < 2 else inner(x + 1, n - 1) + inner(x, n - 2)

    def program(x):
        return inner(x, 18)

    check(program, X)
    assert len(called_in(program, X)) < 60


def test_a_search_that_goes_as_deep_as_an_argument_says():
    def program(n):
        found, used, chosen = [], set(), []

        def search(depth):
            if depth == n:
                found.append(tuple(chosen))
                return
            for k in range(n):
                if k in used:
                    continue
                used.add(k)
                chosen.append(k)
                search(depth + 1)
                used.remove(k)
                chosen.pop()

        search(0)
        return found

    jitted = check(program, 3)
    check(jitted, 2)


def test_a_search_whose_depth_the_program_decides():
    def program(x):
        seen = set()

        def search(k):
            if k in seen or not x[k]:
                return 0
            seen.add(k)
            total = 1
            for step in range(x[k]):
                total += search((k + step) % len(x))
            return total

        return search(0)

    check(program, np.array([1, 2, 3, 0] * 20))


@dataclass
class Node:
    value: float
    left: "Node | None" = None
    right: "Node | None" = None


def test_a_recursion_that_makes_objects_is_known_to_be_endless_in_its_second_round(monkeypatch):
    def grown(x, depth):
        node = Node(x.mean())
        if depth == 0:
            return node
        mask = x <= node.value
        if not mask.any():
            return node
        node.left, node.right = grown(x[mask], depth - 1), grown(x[~mask], depth - 1)
        return node

    def program(x, depth):
        root = grown(x, depth)
        return root.value, root.left.value, root.right.left.value

    begun, record = [], repeated_calls._where_it_stands

    def counting(trace, calls, function, *arguments):
        begun.append(function.__name__)
        return record(trace, calls, function, *arguments)

    monkeypatch.setattr(repeated_calls, "_where_it_stands", counting)
    check(program, X, 2)
    # With the depth unknown: one of each array and one of masked arrays, and one that is like that. Then the seven nodes.
    assert begun.count("grown") <= 3 + 7


def test_a_recursion_that_known_numbers_in_objects_end_goes_as_deep_as_they_say():
    def down(x, levels):
        if not levels:
            return x
        if x.sum() < 1.0:
            return -x
        return down(x / 2, levels[1:]) + 1

    def counted(x, left):
        nonlocal depth
        depth += 1
        if depth == 4:
            return x
        if x.sum() < 1.0:
            return -x
        return counted(x / 2, left) + 1

    depth = 0

    def program(x):
        nonlocal depth
        depth = 0
        return down(x, [1, 2, 3]), counted(x, (None,))

    check(program, X)


def reflected(x, depth=0):
    if x < 0.2:
        return 0.1
    total = x * 2
    if x > 0.3 and depth < 2:
        total += reflected(x - 0.1, depth + 1)
    return total


@pytest.mark.parametrize("x", [0.1, 0.25, 0.5, 2.0])
def test_a_recursion_ends_where_the_last_of_two_conditions_is_known_not_to_hold(x):
    assert jit(lambda x: reflected(x[0]))(np.array([x])) == reflected(x)


def test_conditions_are_known_where_one_of_their_operands_is():
    def shapes(x, n):
        one = np.ones(3) if x.sum() or n > 1 else np.ones(4)
        other = np.ones(3) if x[0] > 1 and len(x) < n else np.ones(4)
        return one.shape, other.shape

    assert jit(shapes, static_argnames="n")(X, 2) == shapes(X, 2)


def test_a_recursion_over_an_interval_ends_where_that_does():
    def halved(x, k, nodes):
        node = Node(x.sum() + k)
        if k == 0 or node.value > 1e9:
            return node
        node.left = halved(x[x > 0.0], k // 2, nodes)
        return node

    def program(x):
        total = 0.0
        for k in range(40):
            root = halved(x, k % 3, None)
            total += root.value
        return total

    check(program, X)

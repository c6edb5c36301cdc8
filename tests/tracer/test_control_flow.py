"""Loops and branches: traced against plain Python, and the errors of states that drift."""

import copy

import numpy as np
import pytest
from jitted_calls import compiled
from phlox.compile.trip_count import known_trip_count
from phlox.tracer import CarryTypeError, ConcretizationError, cond, fori_loop, scan, switch, while_loop
from phlox.tracer import map as map_


def values(tree):
    return [np.asarray(leaf) for leaf in _leaves(tree)]


def _leaves(tree):
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in _leaves(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for value in tree for leaf in _leaves(value)]
    return [] if tree is None or isinstance(tree, str) else [tree]


def check(function, *args):
    """The jitted function returns what the function returns, in plain Python, and leaves the same in its arguments."""
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    actual, expected = compiled(function)(*ours), function(*theirs)
    pairs = list(zip(values(actual) + values(ours), values(expected) + values(theirs), strict=True))
    for mine, correct in pairs:
        assert mine.dtype == correct.dtype and mine.shape == correct.shape
        np.testing.assert_array_equal(mine, correct)
    return actual


def opcodes(function, *args):
    module = compiled(function).trace(*args).module
    return [i.opcode for computation in module.computations() for i in computation.instructions]


# --- while_loop ---


def test_while_loop_over_a_dict():
    def f(x):
        return while_loop(
            lambda s: np.sum(s["x"]) < 100,
            lambda s: {"n": s["n"] + 1, "x": s["x"] * 2, "name": s["name"]},
            {"x": x, "n": 0, "name": "a"},
        )

    assert check(f, np.arange(3.0))["name"] == "a"
    check(f, np.full(3, 1000.0))  # not once


def test_collatz():
    def steps(n):
        def body(state):
            n, count = state
            return np.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return while_loop(lambda state: state[0] != 1, body, (n, 0))[1]

    assert check(steps, np.int64(27)) == 111


def test_nested_loops():
    def f(x):
        def row(i, total):
            return fori_loop(0, i + 1, lambda j, inner: inner + x[j] * j, total)

        return fori_loop(0, 4, row, 0.0)

    x = np.array([1.0, 10.0, 100.0, 1000.0])
    assert check(f, x) == sum(x[j] * j for i in range(4) for j in range(i + 1))


def test_in_place_changes_of_the_state():
    def f(x):
        def body(i, state):
            state[i] = state[i - 1] + i
            state[::2] *= 2
            return state

        return fori_loop(0, 4, body, x), x

    check(f, np.arange(4.0))


def test_in_place_changes_of_enclosing_arrays():
    def f(x, n):
        history = np.zeros_like(x)
        row = history[1:]

        def body(i, total):
            row[i] = x[i] * 10
            history[0] += 1
            return total + x[i]

        return fori_loop(0, n, body, 0.0), history

    check(f, np.arange(4.0), np.int64(3))
    check(f, np.arange(4.0), np.int64(0))


def test_condition_that_changes_enclosing_arrays():
    def f(x):
        count = np.zeros_like(x)

        def condition(i):
            count[0] += 1
            return i < 3

        return while_loop(condition, lambda i: i + 1, 0), count

    check(f, np.zeros(1))


def test_loop_over_an_argument_changes_it_only_where_the_loop_says_so():
    def f(x):
        y = while_loop(lambda s: s[0] < 5, lambda s: s + 1, x)
        x[1] = 7
        return y

    check(f, np.zeros(2))


def test_captured_arrays_are_read_at_each_call():
    table = np.arange(4.0)

    def f(x):
        return fori_loop(0, 4, lambda i, s: s + table * x, np.zeros_like(x))

    jitted = compiled(f)
    x = np.ones(4)
    np.testing.assert_array_equal(jitted(x), 4 * table)
    table[2] = 50
    np.testing.assert_array_equal(jitted(x), 4 * table)
    assert jitted.cache_info().misses == 1


def test_python_numbers_adapt_to_what_the_body_makes_of_them():
    x = np.arange(3, dtype=np.float32)
    assert check(lambda x: fori_loop(0, 3, lambda i, s: s + x[i], 0), x).dtype == np.float32
    assert check(lambda x: fori_loop(0, 3, lambda i, s: s * 0.5, 8), x) == 1.0
    assert type(compiled(lambda x: fori_loop(0, 3, lambda i, s: s + i, 0))(x)) is int


def test_python_number_takes_the_dtype_of_the_state():
    x = np.arange(3, dtype=np.float32)
    state = compiled(lambda x: while_loop(lambda s: s[0] > 0, lambda s: (0.0, s[1]), (x[1], 1.0)))(x)
    assert state[0].dtype == np.float32


def test_fori_loop_has_a_known_trip_count():
    module = compiled(lambda x: fori_loop(2, 9, lambda i, s: s + i, x)).trace(np.ones(2)).module
    (loop,) = [i for i in module.entry.instructions if i.opcode == "while"]
    found = known_trip_count(loop)
    assert (found.count, found.start, found.step) == (7, 2, 1)


@pytest.mark.parametrize("bounds", [(0, np.int32(3)), (np.int8(-2), 1), (3, 0), (np.int64(1), np.int64(3))])
def test_fori_loop_bounds(bounds):
    check(lambda lower, upper, x: fori_loop(lower, upper, lambda i, s: s * 2 + i, x), *bounds, np.ones(2))


def test_fori_loop_requires_integers():
    with pytest.raises(TypeError, match="integer scalar is required as a bound, f64"):
        compiled(lambda n: fori_loop(0, n, lambda i, s: s, 0))(np.float64(3))
    with pytest.raises(TypeError, match="required as a bound, str given"):
        compiled(lambda x: fori_loop(0, "a", lambda i, s: s, x))(np.ones(1))


def test_index_error_in_a_loop_ends_it():
    def find(x, value):
        return while_loop(lambda i: x[i] != value, lambda i: i + 1, 0)

    f = compiled(find)
    x = np.array([3.0, 1.0, 4.0])
    assert f(x, 4.0) == 2
    with pytest.raises(IndexError, match="index 3 is out of bounds") as caught:
        f(x, 9.0)
    assert [entry.name for entry in caught.traceback[1:]][-1] == "<lambda>"


def test_index_error_ends_a_loop():
    def fill(x, n):
        def body(i, state):
            x[i] = 1
            return state

        fori_loop(0, n, body, 0)
        return x[0]

    f = compiled(fill)
    x = np.zeros(3)
    assert f(x, np.int64(2)) == 1
    np.testing.assert_array_equal(x, [1, 1, 0])
    with pytest.raises(IndexError):
        f(x, np.int64(5))
    np.testing.assert_array_equal(x, [1, 1, 1])


def test_no_error_flag_without_run_time_indices():
    assert "select" not in opcodes(lambda x: fori_loop(0, 3, lambda i, s: s + i, x), np.ones(2))


# --- states that drift ---


def test_dtype_drift_names_the_element_and_the_fix():
    def f(x):
        return while_loop(
            lambda s: s["n"] < 3, lambda s: {"w": [s["w"][0].astype(np.float32)], "n": s["n"] + 1}, {"w": [x], "n": 0}
        )

    with pytest.raises(CarryTypeError) as caught:
        compiled(f)(np.ones(3))
    message = str(caught.value)
    assert "state['w'][0] enters the body as f64[3] and leaves it as f32[3]" in message
    assert ".astype(np.float64)" in message and "test_control_flow.py" in message


def test_shape_drift():
    with pytest.raises(CarryTypeError, match=r"state enters the body as f64\[3\] and leaves it as f64\[1,3\].*shape must stay"):
        compiled(lambda x: fori_loop(0, 3, lambda i, s: s[None], x))(np.ones(3))


def test_structure_drift():
    with pytest.raises(CarryTypeError, match=r"state\[1\] enters the body as an array and leaves it as list of 1"):
        compiled(lambda x: while_loop(lambda s: True, lambda s: (s[0], [s[1]]), (x, x)))(np.ones(3))
    with pytest.raises(CarryTypeError, match="state is 'a' and must stay that, but becomes 'b'"):
        compiled(lambda x: while_loop(lambda s: x[0] > 0, lambda s: "b", "a"))(np.ones(3))


def test_condition_must_be_one_truth_value():
    with pytest.raises(TypeError, match="cond_fun must give one truth value"):
        compiled(lambda x: while_loop(lambda s: s > 0, lambda s: s, x))(np.ones(3))


def test_the_loop_counter_is_traced():
    with pytest.raises(ConcretizationError, match="the loop counter of fori_loop"):
        compiled(lambda x: fori_loop(0, 3, lambda i, s: s + np.tri(i).sum(), x))(np.ones(3))


def test_a_failing_loop_leaves_no_trace_behind():
    f = compiled(lambda x: while_loop(lambda s: s[0] > 0, lambda s: 1 / 0, x))
    with pytest.raises(ZeroDivisionError):
        f(np.ones(3))
    assert while_loop(lambda s: s < 3, lambda s: s + 1, 0) == 3
    np.testing.assert_array_equal(compiled(lambda x: x + 1)(np.ones(1)), [2])


# --- cond and switch ---


@pytest.mark.parametrize("first", [1.0, -1.0])
def test_cond(first):
    x = np.array([first, 2.0])
    check(lambda x: cond(x[0] > 0, lambda y: {"r": y + 1}, lambda y: {"r": y * 2}, x), x)
    check(lambda x: cond(x[0] > 0, lambda a, b: (a, b), lambda a, b: (b, a), x, x * 3), x)
    check(lambda x: cond(x[0] + 1, lambda: x[1], lambda: 0.0), x)  # Python's truth of a number
    check(lambda x: cond(x[:1] > 0, lambda: x, lambda: -x), x)


@pytest.mark.parametrize("first", [1.0, -1.0])
def test_branches_change_arrays_in_place(first):
    def f(x):
        y = x * 10
        view = y[1:]

        def positive(x):
            view[0] = 5
            return 1

        def negative(x):
            x[0] = 3
            y[0] = 7
            return 2

        return cond(x[0] > 0, positive, negative, x), y, view

    check(f, np.array([first, 2.0]))


def test_cond_with_a_known_predicate_is_an_ordinary_call():
    assert "conditional" not in opcodes(lambda x, flag: cond(flag, lambda: x, lambda: x[0]), np.ones(2), True)


def test_branch_results_must_agree():
    def f(x):
        return cond(x[0] > 0, lambda: {"a": x}, lambda: {"a": x.astype(np.float32)})

    with pytest.raises(CarryTypeError, match=r"result\['a'\] is f64\[2\] in branch true.* and f32\[2\].*in branch false"):
        compiled(f)(np.ones(2))
    with pytest.raises(CarryTypeError, match="result is dict with keys"):
        compiled(lambda x: cond(x[0] > 0, lambda: {"a": x}, lambda: {"b": x}))(np.ones(2))
    with pytest.raises(CarryTypeError, match="must be the same in all branches"):
        compiled(lambda x: cond(x[0] > 0, lambda: "yes", lambda: "no"))(np.ones(2))


def test_branches_in_loops_and_loops_in_branches():
    def f(x):
        def body(i, s):
            return cond(x[i] > 1, lambda: s + fori_loop(0, i, lambda j, t: t + x[j], 0.0), lambda: s - 1)

        return fori_loop(0, 4, body, np.float64(0))

    check(f, np.array([0.0, 1.0, 2.0, 3.0]))


@pytest.mark.parametrize("index", [0, 1, 2, -1, -3])
def test_switch(index):
    branches = [lambda x: x, lambda x: x + 1, lambda x: x * 2]
    check(lambda k, x: switch(k, branches, x), np.int64(index), np.arange(3.0))
    check(lambda k, x: switch(k, branches, x), index, np.arange(3.0))


def test_switch_out_of_range():
    f = compiled(lambda k, x: switch(k, [lambda: x, lambda: x * 2], *()))
    for index in (2, -3):
        with pytest.raises(IndexError, match="out of range for 2 branches"):
            f(np.int64(index), np.ones(1))
        with pytest.raises(IndexError):
            switch(index, [lambda: 1, lambda: 2])
    with pytest.raises(ValueError, match="at least one branch"):
        switch(0, [])


def test_only_one_branch_runs():
    f = compiled(lambda x, i: cond(x[0] > 0, lambda: x[i], lambda: 0.0))
    assert f(np.array([1.0, 5.0]), np.int64(1)) == 5
    assert f(np.array([-1.0, 5.0]), np.int64(9)) == 0  # the index of the other branch is not looked at
    with pytest.raises(IndexError):
        f(np.array([1.0, 5.0]), np.int64(9))


# --- scan and map ---


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse):
    def f(xs):
        return scan(lambda c, x: (c + x["a"] * x["b"][0], {"c": c, "b": x["b"] * 2}), 0.0, xs, reverse=reverse)

    check(f, {"a": np.arange(4.0), "b": np.arange(8.0).reshape(4, 2)})


def test_scan_by_length_and_with_in_place_changes():
    def f(x):
        def body(carry, _):
            carry[0] += 1
            return carry, carry * 2

        return scan(body, x, None, length=3)

    check(f, np.zeros(2))


def test_map():
    check(lambda x: map_(lambda row: (np.sum(row), row[0]), x), np.arange(6.0).reshape(3, 2))


def test_scan_checks_lengths():
    for f in (lambda x: scan(lambda c, x: (c, x), 0, (x, x[1:])), compiled(lambda x: scan(lambda c, x: (c, x), 0, (x, x[1:])))):
        with pytest.raises(ValueError, match="first dimensions must agree, got xs.0.: 3, xs.1.: 2"):
            f(np.ones(3))
    with pytest.raises(ValueError, match="length is required"):
        scan(lambda c, x: (c, x), 0)
    with pytest.raises(CarryTypeError, match="must return .carry, y."):
        compiled(lambda x: scan(lambda c, x: c, 0.0, x))(np.ones(3))

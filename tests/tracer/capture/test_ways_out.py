"""With what loops, branches and handlers are left: lists that are returned on the way, exceptions of called functions."""

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import assert_alike

LINE = np.arange(10.0)


def returned_from_a_round(x, n):
    found = [x[0]]
    for k in range(n):
        found.append(x[k] * 2)
        if found[-1] > 5:
            return found, True
    return found, False


def returned_in_other_orders(x, n):
    first, second = [], []
    for k in range(n):
        first.append(x[k])
        second.append(first[-1] * 2)
        if second[-1] > 5:
            return first, second
    return second, first


def returned_in_a_dict(x, n):
    state = {"sum": 0.0, "places": []}
    for k in range(n):
        state["sum"] += x[k]
        state["places"].append(k)
        if state["sum"] > 5:
            return state
    return state


def returned_from_an_endless_loop(x, n):
    rows, k = [], 0
    while True:
        rows.append((k, x[k]))
        if x[k] > 5 or k == n - 1:
            return rows
        k += 1


def returned_from_two_loops(x, n):
    best = [0.0, 0]
    for k in range(n):
        for m in range(k, n):
            if x[m] * x[k] > best[0]:
                best = [x[m] * x[k], m]
            if best[0] > 20:
                return best
    return best


def returned_as_an_array(x, n):
    found = []
    for k in range(1000):
        found.append(x[k % n])
        if k > 300 and x[k % n] > 5:
            return np.array(found), len(found)
    return np.array(found), 0


def looks_back(x, n):
    found, small = [], 0
    for k in range(n):
        found.append(x[k])
        if k > 1 and abs(found[-1] - found[-2]) < 0.5:
            break
        if k:
            small += found[-2] < 2
    return found, small


def half_of(x):
    if x < 0:
        raise ValueError("negative")
    for _ in range(100):
        new = x * 0.9
        if abs(new - x) < 1e-3:
            return new
        x = new
    raise RuntimeError("it takes too long")


def caught_from_a_function(x, n):
    try:
        found = half_of(x[n - 1] - 5)
    except ValueError as error:
        message = str(error)
    else:
        message = f"{found:.4f}"
    return message


def caught_in_each_round(x, n):
    found = []
    for value in (1.0, x[n - 1] - 5, 1e9):
        try:
            found.append(half_of(value))
        except (ValueError, RuntimeError) as error:
            found.append(str(error))
    return found


def bound_by_the_handler_alone(x, n):
    try:
        half_of(-1.0 - x[n - 1])
    except ValueError:
        reached = True
    return reached


def changed_before_it_fails(x, n):
    seen = []

    def see(value):
        seen.append(value)
        if value > 4:
            raise ValueError
        return value

    try:
        total = see(x[0]) + see(x[n - 1])
    except ValueError:
        total = -1.0
    return total, seen


@pytest.mark.parametrize(
    "function",
    [
        returned_from_a_round, returned_in_other_orders, returned_in_a_dict, returned_from_an_endless_loop,
        returned_from_two_loops, returned_as_an_array, looks_back, caught_from_a_function, caught_in_each_round,
        bound_by_the_handler_alone, changed_before_it_fails,
    ],
)  # fmt: skip
def test_as_undecorated(function):
    jitted = jit(function)
    for x in (LINE, LINE[::-1].copy(), LINE / 10, LINE // 2):
        assert_alike(jitted(x.copy(), 10), function(x.copy(), 10))


def test_a_name_that_only_a_handler_binds():
    function = lambda x: bound_by_the_handler_alone(x, 1)  # noqa: E731
    with pytest.raises(UnboundLocalError, match="reached"):
        jit(function)(np.array([-2.0]))


def a_dict_in_a_tuple(x, n):
    state = {"value": 0.0, "places": [1]}
    if x[n - 1] > 1:
        state["value"] = x[0]
        state["places"].append(2)
        return state, 1
    state["value"] = 2 * x[1]
    return state, 2


def a_dict_by_two_names(x, n):
    state = {"sum": 0.0, "inner": {"count": 0.0}, "found": []}
    inner, found = state["inner"], state["found"]
    for _ in range(300):
        state["inner"]["count"] += x[n - 1]
        inner["count"] += 1
        found.append(inner["count"])
        state["sum"] += inner["count"]
        if state["sum"] > 1e3:
            break
    state["found"].append(-1.0)
    return state, inner, len(found)


def items_exchanged(x, n):
    pair = {"a": 0.0, "b": 1.0}
    for i in range(300):
        pair["a"], pair["b"] = pair["b"], pair["a"] + x[n - 1]
        if pair["a"] > 50:
            return pair["a"], i
    return pair["a"], -1


def bound_in_the_body_for_else(x, n):
    count = 0
    try:
        first = x[n - 1]
        count = 1
        second = x[n]
        count = 2
    except IndexError:
        return count, first if count else -1.0
    else:
        return count, first + second


@pytest.mark.parametrize("function", [a_dict_in_a_tuple, a_dict_by_two_names, items_exchanged, bound_in_the_body_for_else])
def test_what_is_kept_elsewhere(function):
    jitted = jit(function)
    for x in (LINE, LINE[::-1].copy(), LINE / 10):
        for n in (3, 10):
            assert_alike(jitted(x, n), function(x, n))


@pytest.mark.parametrize("count", [45, 120])
def test_long_chains_of_conditions_are_no_recursion(tmp_path, count):
    lines = ["def chosen(x):", "    total = 0.0", "    for v in x:"]
    for i in range(count):
        lines += [f"        {'if' if i == 0 else 'elif'} v == {i}:", f"            total += {i * i}"]
    lines += ["        total += first_above(v)", "    return total", "def first_above(v):"]
    for i in range(count):
        lines += [f"    if v < {i}:", f"        return {3 * i}.0"]
    lines += ["    return -1.0"]
    file = tmp_path / "chains.py"
    file.write_text("\n".join(lines))
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    x = np.arange(0.0, 2.0 * count, 1.5)
    assert jit(names["chosen"])(x) == names["chosen"](x)

"""Numbers of several types that meet behind branches and loops: what is returned has the type that it has in Python."""

import numpy as np
import pytest
from phlox import jit


def conditional_expressions(x, n):
    return 1 if x[0] > 0 else 2.5, x[0] if x[1] > 0 else 0, n if x[0] > 0 else x[0], True if x[0] > 0 else 0


def and_or_not(x, n):
    return x[0] > 0 and n, x[0] < 0 or n, (x[0] > 0) or 5.0, n > 3 and x[0] > 0, 0 or x[0], x[1] and x[0] and 1


def greatest_and_least(x, n):
    return max(n, 1.5), min(n, 3.0, x[0]), max(x[0], 0), max(0, x[1]), min(1.0, n), max(x[0], 0.0), min(x[2], 1)


def early_returns(x, n):
    if x[0] > 0:
        return 0
    if n > 3:
        return 1.5
    return x[0]


def names_and_containers(x, n):
    r, s = 0, n
    if x[0] > 0:
        r = x[0]
    if n > 3:
        s = 2.0
    t = s
    return r, [r, s], {"t": (t, r)}


def best_so_far(x, n):
    best = 0
    for i in range(300):
        if x[i % 3] > best:
            best = x[i % 3]
    return best


def changed_in_each_round(x, n):
    total, product, last = 0, 1.0, np.float32(1)
    for i in range(300):
        total += x[i % 3]
        product = i
        last = x[0]
    return total, product, last


def perhaps_no_round(x, n):
    y = 1
    for _ in range(n):
        y = y / 2
    return y


def of_an_exception(x, n):
    try:
        return 10 // (n - 7)
    except ZeroDivisionError:
        return 0.5


def three_types(x, n):
    r = (1 if n > 3 else 2.0) if x[0] > 0 else (x[1] if n > 3 else None)
    s = 3 if r is None else r
    return r, s, s


def asked_for(x, n):
    r = 1 if x[0] > 0 else 2.5
    print(r, [r], f"{r}", type(r).__name__)
    return type(r) is int, isinstance(r, float), str(r), type(r).__name__


def in_a_comprehension(x, n):
    return [v if v > 1 else 0.0 for v in x], [v if v > 0 else 0 for v in x]


def power(x, n):
    return float(x[0]) ** 0.5, n


def arithmetic(x, n):
    a, b = (1 if x[0] > 0 else x[1]), (n if n > 3 else 0.5)
    return a + 1, 2 - a, a * x[1], -a, abs(a), a + a, a + b, a * b - 1, a > 0, a == b, a + np.float32(1), (a - b) * 2 + n


def sum_of_numbers(x, n):
    total = 0
    for i in range(300):
        total += (1 if x[i % 3] > 1 else 0.5) * 2
    return total, sum([n, 1 if n > 3 else 2.0, 3])


def is_close(value, n):
    if n < 3:
        return value > 1
    k = 0
    while k * k < n:
        if abs(value * k - n) < 0.5 or (value + k) * (value - k) > n:
            return True
        k += 1
    return False


def results_of_calls_that_are_alike(x, n):
    flags = [is_close(value, n) for value in x] + [is_close(x[0], n + 1), is_close(x[1], n - 1)]
    return flags, sum(flags), flags[3] + 0


def failing(operate):
    def function(x, n):
        number = np.uint8(3) if x[0] > 0 else (True if n > 5 else 2.5)
        try:
            return operate(number, n)
        except (OverflowError, TypeError, ZeroDivisionError) as error:
            return type(error), str(error)

    return function


OF_ONE_TYPE = [
    lambda number, n: number + -1, lambda number, n: number * 300, lambda number, n: number - (n - 2),
    lambda number, n: -number, lambda number, n: number * 10**20 if n <= 5 else 0,
    lambda number, n: number | 1, lambda number, n: number << n, lambda number, n: ~number, lambda number, n: number / n,
    lambda number, n: number // n, lambda number, n: number % n, lambda number, n: divmod(number, n),
    lambda number, n: divmod(7, number - 2.5), lambda number, n: number**-1, lambda number, n: (n > 1) - number,
]  # fmt: skip


@pytest.mark.parametrize("operate", OF_ONE_TYPE)
def test_errors_of_one_of_the_types(operate):
    function = failing(operate)
    jitted = jit(function)
    for sign, n in ((1, 2), (-1, 7), (1, 0), (-1, 0), (1, 7), (-1, 2)):
        x = np.array([1.0, 2.0, 3.0]) * sign
        with np.errstate(all="ignore"):
            assert typed(function(x, n)) == typed(jitted(x, n))


def beside_a_text(x, n):
    r = x[0] if x[0] > 0 else (n if n > 3 else (1.5 if x[1] < -3 else "none"))
    return type(r) is int, type(r).__name__, isinstance(r, float), isinstance(r, (int, str))


def compared_in_lists(x, n):
    one, other = [min(x[1], 0.0), 2], [n, 2]
    return one == other, one != other, [max(x[1], 0)] == [x[1]]


FUNCTIONS = [
    conditional_expressions, and_or_not, greatest_and_least, early_returns, names_and_containers, best_so_far,
    changed_in_each_round, perhaps_no_round, of_an_exception, three_types, asked_for, in_a_comprehension, power,
    arithmetic, sum_of_numbers, results_of_calls_that_are_alike, compared_in_lists,
    beside_a_text,
]  # fmt: skip


def typed(value):
    if isinstance(value, (tuple, list)):
        return type(value), list(map(typed, value))
    return {key: typed(one) for key, one in value.items()} if isinstance(value, dict) else (type(value), value)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_types_of_numbers(function, capsys):
    jitted = jit(function)
    for sign, n in ((1, 2), (-1, 7), (1, 0), (-1, 0), (1, 7), (1, 2)):
        x = np.array([1.0, 2.0, 3.0]) * sign
        outcomes = [(typed(run(x, n)), capsys.readouterr().out) for run in (function, jitted)]
        assert outcomes[0] == outcomes[1]


def a_third(x):
    return float(x[0]) / 3 if x[0] > 0 else np.float32(x[0] / 3)


def a_billion(x):
    return int(x[1] * 10**9) if x[1] > 0 else np.int8(x[1])


def used_with_arrays(x):
    return x - a_third(x), np.subtract(x, a_billion(x)), np.where(x > 0, x, a_third(x)), x > a_third(x)


def put_into_arrays(x):
    y = x.copy()
    y += a_billion(x)
    y[0], y[1:] = a_third(x), a_third(x)
    return y, np.array([a_third(x), 1.0]), np.array([2, a_billion(x)]), np.full(2, a_third(x), np.float64)


def made_numbers_of_one_type(x):
    number = a_third(x)
    return float(number), np.float64(number), int(number * 10**9), complex(number), np.float32(number), float(a_billion(x))


@pytest.mark.parametrize("function", [used_with_arrays, put_into_arrays, made_numbers_of_one_type])
def test_nothing_is_lost_where_another_type_is_made_of_numbers(function):
    jitted = jit(function)
    for x in (np.array([1.0, -3.0, 2.0]), np.array([1.0, 3.0, 2.0]), np.array([-1.0, 3.0, 2.0]), np.array([-1.0, -3.0, 2.0])):
        for found, expected in zip(jitted(x), function(x), strict=True):
            assert type(found) is type(expected) and repr(found) == repr(expected)


def test_integers_for_which_the_common_type_has_no_room_are_errors_as_beside_an_array():
    def least(x, least):
        for value in x:
            if value < least:
                least = value
        return x - least, np.subtract(least, 1)

    jitted = jit(least)
    x = np.array([3, 1, 2], np.int8)
    np.testing.assert_array_equal(jitted(x, 1000)[0], x - 1)
    with pytest.raises(OverflowError, match="Python integer 1000 out of bounds for int8"):
        jitted(x[:0], 1000)

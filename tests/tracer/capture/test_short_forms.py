"""Statements and operators that say shortly what others say at length, on values that the program computes."""

import contextlib
from contextlib import suppress

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import check

LINE = np.array([1.0, 2.0, 3.0, -4.0] * 25)


def root(x):
    if x < 0:
        raise ValueError("negative")
    return x**0.5


def suppressed(x):
    found = None
    with contextlib.suppress(ValueError):
        found = root(x)
    return found


def suppressed_in_a_loop(x):
    total = 0.0
    for k in range(100):
        with suppress(ValueError, KeyError):
            total += root(x[k])
            total += 1
    return total


def returned_while_suppressing(x):
    with suppress(ValueError):
        return root(x)
    return 7.0


def others_are_not_suppressed(x):
    try:
        with suppress(KeyError):
            return root(x)
    except ValueError:
        return 8.0


def suppressed_between_others(x):
    with contextlib.nullcontext(), suppress(ValueError), contextlib.nullcontext(2.0) as factor:
        return root(x) * factor
    return 7.0


def suppress_of_the_users_own(x):
    @contextlib.contextmanager
    def suppress(kind):
        yield entered.append(kind)

    entered = []
    with suppress(ValueError):
        x = x + 1
    return x, len(entered)


class Swallowing:
    """Swallows errors of values, its own as well."""

    def __init__(self, fails=False):
        self.fails = fails

    def __enter__(self):
        if self.fails:
            raise ValueError
        return 5.0

    def __exit__(self, kind, error, traceback):
        return kind is ValueError


@contextlib.contextmanager
def swallowing():
    try:
        yield 3.0
    except ValueError:
        pass


def unbound_behind_suppress(x):
    with suppress(ValueError):
        found = root(x)
    try:
        return found
    except UnboundLocalError:
        return -1.0


def unbound_behind_a_manager(x):
    with Swallowing() as number:
        found = root(x)
    try:
        return found + number
    except UnboundLocalError:
        return -1.0


def unbound_behind_a_generator(x):
    with swallowing():
        found = root(x)
    try:
        return found
    except UnboundLocalError:
        return -1.0


def unbound_behind_the_second_of_two(x):
    with Swallowing() as number, Swallowing(fails=True) as found:
        pass
    try:
        return x + number + found
    except UnboundLocalError:
        return -1.0


def bound_before_the_second_of_two(x):
    found = x
    with Swallowing() as number, Swallowing(fails=x > 0) as found:  # noqa: F811, where it raises
        number += 1
    return number + found


@pytest.mark.parametrize(
    "function",
    [
        unbound_behind_suppress, unbound_behind_a_manager, unbound_behind_a_generator, unbound_behind_the_second_of_two,
        bound_before_the_second_of_two,
    ],
)  # fmt: skip
def test_names_behind_managers_that_swallow_errors(function):
    check(function, 4.0)
    check(function, -4.0)


@pytest.mark.parametrize(
    "function",
    [suppressed, returned_while_suppressing, others_are_not_suppressed, suppressed_between_others, suppress_of_the_users_own],
)
def test_suppressed_exceptions(function):
    check(function, 4.0)
    check(function, -4.0)


def test_suppressed_exceptions_in_a_loop():
    check(suppressed_in_a_loop, LINE)


def bound_in_a_condition(x):
    if (total := x.sum()) > 12 and (half := total / 2) > 1:
        return half
    return total


def bound_in_the_condition_of_a_loop(x):
    i, total = 0, x[0] * 0
    while i < len(x) and (value := x[i]) > 0:
        total += value
        i += 1
    return total, i


def bound_in_a_chain(x):
    total = 0.0
    for k in range(len(x)):
        if x[k] > 0 and (h := x[k] * 2) > 3 and (g := h - 1) < 30:
            total += g * h
        else:
            continue
    return total


@pytest.mark.parametrize("function", [bound_in_a_condition, bound_in_the_condition_of_a_loop, bound_in_a_chain])
def test_conditions_that_bind_names(function):
    check(function, LINE)
    check(function, -LINE)
    check(function, abs(LINE))


def compared_by_elements(x, y):
    return [
        (x, y) == (1, 2),
        (x, y) != (1, 2),
        [x, [y]] == [1, [2]],
        (x,) == (1, 2),
        [x] == (x,),
        (x, y) in [(1, 2), (3, 4)],
        ([1, 3] != np.array([x, y])).sum(),
    ]


def among_the_values_of_a_dict(x, y):
    table = {1: 2, 5: 7}
    return x in table.values(), y in table.keys(), y in table.values()


@pytest.mark.parametrize("function", [compared_by_elements, among_the_values_of_a_dict])
def test_comparisons_of_containers(function):
    for pair in ((1, 2), (3, 4), (1, 3), (7, 5)):
        check(function, *pair)


def repeated_texts(n):
    bar = "x"
    return "-" * n, n * "ab", "=" * (n + 1), bar * n


def test_texts_are_repeated():
    for n in (3, 0, -1):
        check(repeated_texts, n)


def part_of_a_loop(x, places):
    total = 0.0
    try:
        for k in range(len(places)):
            total += x[places[k]]
    except IndexError:
        pass
    return total


def part_of_a_branch(x, places):
    total = 0.0
    try:
        if places[0] > 0:
            total = 1.0
            total += x[places[1]]
    except IndexError:
        total += 10
    return total


def part_of_a_long_loop(x, places):
    x[0] = 5
    try:
        for k in range(300):
            x[1] += 1
            x[places[k % 4]] += 1
    except IndexError:
        return "stopped"
    return "done"


@pytest.mark.parametrize("function", [part_of_a_loop, part_of_a_branch, part_of_a_long_loop])
def test_what_a_statement_has_done_before_it_fails_is_kept(function):
    jitted = jit(function)
    for places in ([1, 2, 3, 3], [1, 9, 0, 0], [1, 2, 9, 0], [9, 9, 9, 9], [1, 2, 3, 0]):
        first, second = np.arange(4.0), np.arange(4.0)
        assert jitted(second, np.array(places)) == function(first, np.array(places))
        np.testing.assert_array_equal(second, first)


class Pair:
    __match_args__ = ("first", "second")

    def __init__(self, first, second):
        self.first, self.second = first, second


def values_matched(x):
    found = []
    for value in x.tolist():
        match value:
            case 1:
                found.append(10)
            case 2 | 3:
                found.append(20)
            case n if n > 6 and n < 100:
                found.append(n * 2)
            case _:
                found.append(-1)
    return found


def sequences_matched(x):
    match (int(x[0]), int(x[1])):
        case (0, 0):
            return -100
        case (a, 0):
            return a
        case (0, b) | (b, 7):
            return -b
        case (3, b):
            return b + 5
    return -1


def structures_matched(x):
    total = 0
    for one in [("add", x[0]), ("mul", x[1], x[2]), ["neg"], Pair(1, x[3]), 5, None, {"k": x[4]}, "text"]:
        match one:
            case ("add", value):
                total += value
            case ("mul", a, b):
                total += a * b
            case ["neg"]:
                total = -total
            case Pair(1, second=b):
                total += b * 100
            case int(n) if n > 3:
                total += n
            case None:
                total += 1000
            case {"k": value}:
                total += value
            case str():
                total += 7
    return total


def starred_pattern(x):
    match x.tolist():
        case [first, *middle, last]:
            return first, middle, last


def types_matched(x):
    match x[0] * 1.5:
        case int():
            kind = "int"
        case float():
            kind = "float"
    match x[0]:
        case int():
            return kind, 1
        case np.int64():
            return kind, 2


def match_in_a_loop(x):
    while True:
        match int(x[0]) % 4:
            case 0:
                return x
            case 3:
                x = x + 1
            case other:
                x = x + other
                continue
        if x[0] > 100:
            break
    return -x


@pytest.mark.parametrize(
    "function",
    [values_matched, sequences_matched, structures_matched, starred_pattern, types_matched, match_in_a_loop],
    ids=lambda function: function.__name__,
)
def test_match(function):
    jitted = jit(function)
    for values in ([3, 1, 3, 2, 7, 9], [0, 0, 1, 1, 1, 1], [4, 7, 1, 2, 3, 50], [0, 5, 0, 0, 0, 200]):
        check(jitted, np.array(values))


def one_name_twice(x):
    rows = [(place, 2 * place, value) for place, value in enumerate(x) if value > 1]
    found = [second for _, second, _ in rows], {second: 1 for _, second, _ in rows}, [(_, second) for _, second, _ in rows]
    return found, sum(second for _, second, _ in rows), "".join("abcdefgh"[second] for _, second, _ in rows)


def joined_generators(x):
    print("".join("abcdefgh"[int(value)] for value in x if value > 1))
    return ", ".join(f"{value:.2f}" for value in x if value > 1)


@pytest.mark.parametrize("function", [one_name_twice, joined_generators])
def test_comprehensions_and_generators_over_lists_of_unknown_length(function, capsys):
    decorated = jit(function)
    for x in (np.array([0.0, 1.0, 2.0, 3.0]), np.array([3.0, 2.5, -1.0, 0.0]), np.zeros(4)):
        expected = repr(function(x)), capsys.readouterr().out
        assert (repr(decorated(x)), capsys.readouterr().out) == expected


TEXT = "hello world, hello numpy"


def parts_of_a_text(count):
    place, found = 0, []
    numbers = {letter: number for number, letter in enumerate(sorted(set(TEXT)))}
    for _ in range(count):
        if place + 5 > len(TEXT):
            place = 0
        found.append([numbers[letter] for letter in TEXT[place : place + 5]])
        place += 5
    return found


def texts_as_keys(count):
    found = {}
    for k in range(count):
        found.setdefault(f"k{k % 2}", []).append(k)
    return found["k0"], found


@pytest.mark.parametrize("function", [parts_of_a_text, texts_as_keys])
def test_a_number_of_rounds_becomes_static_where_python_needs_texts_made_in_them(function):
    decorated = jit(function)
    for count in (3, 12, 3):
        assert decorated(count) == function(count)

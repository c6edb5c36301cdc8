"""Handlers find what was done before the error, and nothing behind it, without Python: in calls, loops and branches."""

import numpy as np
import pytest
from phlox import TracerError, jit
from phlox.tracer.calls.jitted_function import JittedFunctionBase
from random_handlers import RandomHandlers
from thinning import LEFT_TO_CI, one_in
from written_functions import written

from ...support.undecorated import assert_alike

ROWS = (
    np.array([1.0, 2, -1, 3, 9, -2, 6, 2]),
    np.array([1.0, 2, 4, 3, 2, 2, 1, 2]),
    np.array([-1.0, -2, 4, 3, -2, 2, 1, -2]),
    np.array([9.0, -2, 4, 3, -2, 2, 1, -2]),
)


@pytest.fixture
def never_by_python(monkeypatch):
    def refuse(self, *arguments):
        raise AssertionError("Python makes the call")

    monkeypatch.setattr(JittedFunctionBase, "_called_by_python", refuse)


class Account:
    def __init__(self, total):
        self.total, self.count = total, 0
        self.kept, self.last = [], {}
        self.history = np.zeros(20)

    def put(self, value):
        self.history[self.count] = value
        self.count += 1
        if value < 0:
            raise ValueError(f"{value} is negative")
        self.kept.append(value)
        self.total += value
        if value > 5:
            self.total += 100
            raise KeyError("large")
        self.last["put"] = value


def changed_before_and_behind(values):
    account, refused = Account(0.0), []
    for value in values:
        try:
            account.put(value)
        except ValueError as error:
            refused.append(str(error))
        except KeyError:
            account.last["large"] = value
    return account.total, account.kept, account.history, account.count, account.last, refused


def names_in_a_loop(values):
    total = 0.0
    try:
        for value in values:
            total += value
            if value < 0:
                raise ValueError
            total += 1
    except ValueError:
        total = -total
    return total


def handlers_within_handlers(values):
    n = 0
    try:
        for i in range(len(values)):
            try:
                n += 1
                if values[i] < 0:
                    raise ValueError("negative")
                n += 10
                if values[i] > 5:
                    raise KeyError("large")
                n += 100
            except ValueError:
                n += 1000
    except KeyError:
        n = -n
    return n


class Task:
    def __init__(self, value):
        self.value, self.state = value, 0


def objects_that_have_just_been_made(values):
    tasks, failed = [], 0

    def work(value):
        task = Task(value)
        tasks.append(task)
        task.state = 1
        if value < 0:
            raise ValueError
        task.state = 2

    for value in values:
        try:
            work(value)
        except ValueError:
            failed += 1
    return failed, [task.state for task in tasks], [task.value for task in tasks]


def not_negative(value):
    if value < 0:
        raise ValueError("negative")
    return value


def elements_of_arrays(values):
    counts, found = np.zeros(3), []
    for value in values:
        try:
            counts[0] += 1
            counts[1] = not_negative(value)
            counts[2] += 1
            found.append(counts.copy())
        except ValueError:
            found.append(-counts)
    return counts, found


def push_both(stack, value):
    stack.append(value)
    if len(stack) > 3:
        raise OverflowError("full")
    stack.append(-value)


def a_stack(values):
    stack, n = [], 0
    for value in values:
        try:
            if value > 0:
                push_both(stack, value)
            else:
                stack.pop()
        except OverflowError:
            n += 1
            stack.clear()
        except IndexError:
            n += 100
    return stack, n


def rounds_until_a_place_is_missing(values):
    total, n, found = 0.0, 0, []
    try:
        for value in values:
            n += 1
            found.append(n)
            total += values[int(abs(value)) * 2]
            n += 10
    except IndexError:
        total = -total
    return total, n, found


def in_place_without_end(values):
    i = 0
    try:
        while True:
            values[i] *= 2
            i += 1
    except IndexError:
        return i, values


def a_text_that_follows(values):
    state = "begun"
    try:
        if values[0] > 0:
            state = "first"
            if values[1] > 0:
                state = "second"
                raise ValueError(state)
        values[2] += 1
        if values[2] > 2:
            raise KeyError(state)
        state = "ended"
    except (ValueError, KeyError) as error:
        return state, str(error), type(error).__name__, values
    return state, values


def one_of_two_exceptions(values):
    try:
        if values[0] > 1:
            raise ValueError("v")
        else:
            raise KeyError("k")
    except ValueError:
        return 1
    except KeyError:
        return 2


def straight_on(values):
    counts, places = np.zeros(2), {"n": 0}

    def step(k):
        counts[0] += 1
        places["n"] += 1
        counts[1] += values[k]
        places["n"] += 10

    for value in values:
        try:
            step(int(value) + 4)
        except IndexError:
            places["n"] += 100
    return counts, places


def bodies_that_are_left_before_the_else_clause(values):
    total, kept = 1.5, []
    for value in values:
        try:
            if value > 5:
                return total, kept
            if value > 3:
                continue
            if value < -1:
                raise ValueError
        except ValueError:
            total += 7
        else:
            total *= 2
            kept.append(total)
    return total, kept


def errors_that_the_handlers_around_catch(values):
    total, kept = 0, []
    for value in values:
        try:
            try:
                if value < 0:
                    raise KeyError
            except IndexError:
                total -= 100
            else:
                total += 1000
            kept.append(value)
        except KeyError:
            total += 1
    return total, kept


FUNCTIONS = [
    changed_before_and_behind, names_in_a_loop, handlers_within_handlers, objects_that_have_just_been_made, elements_of_arrays,
    a_stack, rounds_until_a_place_is_missing, in_place_without_end, a_text_that_follows, one_of_two_exceptions, straight_on,
    pytest.param(bodies_that_are_left_before_the_else_clause, marks=LEFT_TO_CI), errors_that_the_handlers_around_catch,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_was_done_before_the_error_stays(function, never_by_python):
    jitted = jit(function)
    for values in (*ROWS, ROWS[0]):
        given, expected_given = values.copy(), values.copy()
        assert_alike(jitted(given), function(expected_given))
        assert_alike(given, expected_given)


def test_what_is_changed_behind_what_may_fail_stays_changed_where_an_error_is_raised():
    def marked(x, k):
        try:
            x[k] += 1
            x += 1
            raise ValueError
        except ValueError:
            return 5

    found, expected = np.arange(3.0), np.arange(3.0)
    assert jit(marked)(found, 1) == marked(expected, 1)
    np.testing.assert_array_equal(found, expected)


def test_what_the_handler_binds_of_an_error_of_numpys_is_bound_behind_changes():
    def marked(x, k):
        try:
            x[k] += 1
            x[1:3] += x
        except ValueError:
            seen = 5
        return seen

    found, expected = np.arange(3.0), np.arange(3.0)
    assert jit(marked)(found, 1) == marked(expected, 1)
    np.testing.assert_array_equal(found, expected)


CASES = (([0.2, 0.7, 1.0], []), ([3.0, -1.0, 0.4], [1.0]), ([-2.0, 2.5, 0.1], [1.0, 2.0, 3.0]), ([0.6, 1.7, -0.7, 5.0], [2.0]))


def refused_names(kinds):
    names, refused = ["a", "b", "c"], []
    for k in kinds:
        try:
            if k > 0:
                raise LookupError(names[k])
        except LookupError as error:
            refused.append(error.args[0])
    return refused


def test_an_exception_holds_a_text_that_the_program_chooses():
    kinds = np.array([0, 2, 1, 1, 0])
    assert jit(refused_names)(kinds) == refused_names(kinds)


def outcome(space, x, found):
    """What a call returns or raises, and all that it has changed."""
    arguments = np.array(x), np.array([1.0, 0.5]), list(found)
    try:
        result = space["program"](*arguments)
    except (LookupError, ValueError) as error:
        result = type(error).__name__
    return result, arguments, dict(space["COUNTS"])


@pytest.mark.parametrize("seed", one_in(40, range(1000, 1040)))
def test_random_programs_agree(seed):
    source = RandomHandlers(seed, 25).text()
    plain, decorated = written(source, f"<handlers {seed}>"), written(source, f"<handlers {seed}, decorated>")
    decorated["program"] = jit(decorated["program"])
    for case in CASES:
        try:
            found = outcome(decorated, *case)
        except TracerError as error:
            pytest.skip(str(error))
        assert_alike(found, outcome(plain, *case))

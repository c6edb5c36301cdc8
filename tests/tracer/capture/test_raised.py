"""Exceptions that the program raises: which one, with which values, behind what is printed, and what handlers see of them."""

import copy

import numpy as np
import pytest
from phlox.tracer import jit

from ...support.undecorated import assert_alike

UP, DOWN = np.arange(6.0), np.arange(6.0)[::-1] - 2


class LacksError(Exception):
    def __init__(self, item, missing):
        super().__init__(f"{item} lacks {missing}")
        self.missing = missing


def one_behind_the_other(a):
    if a > 0:
        if a > 1:
            raise ValueError("big")
        raise KeyError("small")
    return a


def on_both_sides(a):
    if a > 0:
        raise ValueError("positive")
    else:
        raise KeyError("negative")


def printed_before(a):
    if a > 0:
        print("positive:", a)
        raise ValueError("positive")
    return a


def caught_by_kind(a):
    try:
        if a > 0:
            if a > 1:
                raise ValueError("big")
            raise KeyError("small")
    except ValueError as error:
        return f"value {error}"
    except KeyError as error:
        return f"key {error}"
    return "fine"


def with_attributes(a):
    total = a * 0
    for value in (a, a + 1, a + 2):
        try:
            if value > 2:
                raise LacksError(value, value - 2)
        except LacksError as error:
            total += 10 * error.missing
        else:
            total += 1
    return total


def raised_with_attributes(a):
    if a > 0:
        raise LacksError("it", a)
    return a


def outcome(function, arguments, capsys):
    arguments = copy.deepcopy(arguments)
    try:
        result = function(*arguments)
    except Exception as error:  # noqa: BLE001
        result = type(error), error.args, vars(error).get("missing")
    return result, capsys.readouterr().out


FUNCTIONS = (one_behind_the_other, on_both_sides, printed_before, caught_by_kind, with_attributes, raised_with_attributes)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_exceptions_are_those_of_the_undecorated_function(function, capsys):
    jitted = jit(function)
    for a in (2.0, 0.5, -1.0, 2.0):
        assert_alike(outcome(jitted, (a,), capsys), outcome(function, (a,), capsys))


def index_on_one_side(x, n):
    x[0] = 5
    if n > 3:
        return x[7]
    return x[0]


def key_on_one_side(x, n):
    y = {"a": 1}["b"] if n > 3 else x[0]
    return y, 1 // 0 if n > 100 else 5


def behind_prints_and_changes(x, n):
    x[1] = 4
    print("first")
    if n > 3:
        print("second")
        x[2] = [1, 2][5]
        print("third")
    return x[2] > 0 and x[1]


def caught_on_one_side(x, n):
    try:
        y = x[8] if n > 3 else 1.0
    except IndexError as error:
        y = str(error)
    return y


@pytest.mark.parametrize("function", [index_on_one_side, key_on_one_side, behind_prints_and_changes, caught_on_one_side])
def test_errors_of_values_that_are_known_are_those_of_one_side(function, capsys):
    jitted = jit(function)
    for n in (2, 7, 1):
        outcomes = []
        for run in (function, jitted):
            x = np.arange(3.0)
            try:
                found = run(x, n)
            except (IndexError, KeyError) as error:
                found = type(error), str(error)
            outcomes.append((found, x.tolist(), capsys.readouterr().out))
        assert outcomes[0] == outcomes[1]


def not_caught(x):
    try:
        if x > 1:
            raise ValueError(f"value {x}")
        if x > 0:
            raise KeyError(x)
    except IndexError:
        return 1
    return 2


def raised_again(x):
    try:
        try:
            if x > 1:
                raise ValueError(f"value {x}")
            if x > 0:
                raise KeyError(x)
        except KeyError:
            raise
        except ValueError as error:
            raise RuntimeError("again") from error
    except RuntimeError as error:
        return str(error), str(error.__cause__)
    return 2


def raised_from(x):
    try:
        if x > 1:
            raise ValueError(f"value {x}")
    except ValueError as error:
        raise RuntimeError(f"again {x}") from error
    return 2


class CodeError(Exception):
    def __init__(self, code, where):
        super().__init__(f"code {code}")
        self.code, self.where = code, where


def attributes(x):
    try:
        if x > 1:
            raise CodeError(x, "up")
        if x < -1:
            raise CodeError(x * 2, "down")
    except CodeError as error:
        return error.code, error.where, str(error), error.args
    return 0


def attributes_and_raised_again(x):
    try:
        if x > 1:
            raise CodeError(x, "up")
        if x < -1:
            raise CodeError(x * 2, "down")
    except CodeError as error:
        if error.code > 5:
            raise
    else:
        return "fine"
    return "caught"


def texts_of_several(x):
    texts = []
    for value in (x, -x, x * 3, x - 1):
        try:
            if value < 0:
                raise ValueError(f"{value} is negative")
            if value > 5:
                raise OverflowError(f"{value} is large")
        except (ValueError, OverflowError) as error:
            texts.append(f"{type(error).__name__}: {error}")
        else:
            texts.append("fine")
    return texts


def raised_in_a_handler(x):
    try:
        if x > 1:
            raise ValueError("one")
    except ValueError:
        raise KeyError("other")  # noqa: B904
    return x


@pytest.mark.parametrize(
    "function",
    [
        not_caught, raised_again, raised_from, attributes, attributes_and_raised_again, texts_of_several, raised_in_a_handler,
    ],
)  # fmt: skip
def test_exceptions_as_values(function):
    def outcome(function, x):
        try:
            return function(x)
        except Exception as error:
            return type(error), str(error), vars(error), repr(error.__cause__), repr(error.__context__)

    jitted = jit(function)
    for x in (2.0, 0.5, -1.0, -3.0, 9.0, 2.0):
        assert outcome(jitted, x) == outcome(function, x)


class OfValueError(ValueError):
    def __init__(self, radius):
        super().__init__(f"the radius is {radius:.3f}")
        self.radius = radius


class OfKeyError(KeyError):
    def __init__(self, key, place="here"):
        self.key = key
        super().__init__(f"{place}: {key:.2f}", key)


@pytest.mark.parametrize("kind", [OfValueError, OfKeyError])
def test_exceptions_make_their_messages_themselves(kind):
    def checked(x):
        for value in x:
            if value > 2:
                raise kind(value)
        return x.sum()

    def attributes(x):
        try:
            return checked(x)
        except kind as error:
            return vars(error), str(error)

    for function in (checked, attributes):
        decorated = jit(function)
        for x in (np.array([1.0, 2.0]), np.array([3.0, 2.5]), np.array([0.0, 7.25])):
            found = []
            for one in (function, decorated):
                try:
                    found.append(repr(one(x)))
                except kind as error:
                    found.append((str(error), vars(error)))
            assert found[0] == found[1]

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

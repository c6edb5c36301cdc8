"""Exceptions that are none of Exception's, or hold more than their arguments, are raised where the program comes there."""

import sys

import numpy as np
import pytest
from phlox import jit


class Abort(BaseException):
    pass


class InSlots(ValueError):
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __str__(self):
        return f"the value {self.value}"


class OfTheSystem(OSError):
    def __init__(self, number, what):
        super().__init__(number, "not found")
        self.what = what


def raised(x, kind):
    if kind == 1:
        sys.exit(f"too large: {x[1]}")
    if kind == 2:
        raise SystemExit(3)
    if kind == 3:
        raise Abort(x[2])
    if kind == 4:
        raise InSlots(x[1])
    if kind == 5:
        raise OfTheSystem(kind, x[0])
    if kind == 6:
        raise UnicodeDecodeError("ascii", b"\xff", 0, 1, "no such letter")
    if kind == 7:
        raise np.exceptions.AxisError(3, 2)
    if kind == 8:
        raise StopIteration(x[1])
    return x.sum()


def caught(x, kind):
    try:
        for v in x:
            if v > kind:
                raise Abort(v)
    except Abort as error:
        return "aborted", error.args
    except BaseException:
        return "another"
    return x.sum()


def seen(function, *args):
    try:
        return function(*args)
    except BaseException as error:
        return type(error), str(error), error.args, [getattr(error, name, None) for name in ("value", "what", "errno", "code")]


@pytest.mark.parametrize("function", [raised, caught])
def test_exceptions_of_all_kinds(function):
    jitted = jit(function)
    for kind in range(10):
        assert seen(jitted, np.arange(4.0), kind) == seen(function, np.arange(4.0), kind)

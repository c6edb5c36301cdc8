"""What special methods of the user's may return, and what Python makes of it."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from phlox import jit

VALUES = (2, -1, 2.0, True, np.int64(2), np.float64(2.0), np.float32(2.0), np.bool_(True), "a")


class Truth:
    def __init__(self, told):
        self.told = told

    def __bool__(self):
        return self.told


class Compared(Truth):
    def __bool__(self):
        return self.told > 0


class Length:
    def __init__(self, told):
        self.told = told

    def __len__(self):
        return self.told

    def __float__(self):
        return self.told


def outcome(function, *arguments):
    try:
        found = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    return [(type(one), one) for one in (found if isinstance(found, tuple) else (found,))]


FUNCTIONS = {
    "bool": lambda told: bool(Truth(told)),
    "not": lambda told: not Truth(told),
    "if": lambda told: 1 if Truth(told) else 2,
    "and": lambda told: Truth(told) and 3,
    "any": lambda told: any([Truth(told)]),
    "compared": lambda told: 1 if Compared(told) else 2,
    "len": lambda told: len(Length(told)),
    "truth of a length": lambda told: 1 if Length(told) else 2,
    "float": lambda told: float(Length(told)),
    "trunc": lambda told: math.trunc(told),
    "round": lambda told: round(told),
    "floor": lambda told: (math.floor(told), math.ceil(told)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_python(name):
    for value in VALUES:
        assert outcome(jit(FUNCTIONS[name]), value) == outcome(FUNCTIONS[name], value), value


def test_an_error_of_one_of_two_types():
    def chosen(x, n):
        value = np.float32(x) if x > n else x
        try:
            return math.trunc(value)
        except TypeError as error:
            return str(error)

    jitted = jit(chosen)
    for arguments in ((2.5, 1), (2.5, 3)):
        assert jitted(*arguments) == chosen(*arguments)


@dataclass(order=True)
class Pair:
    first: float
    second: float


def test_an_order_of_tuples_is_what_elements_give():
    def compared(x, n):
        one, other = (x[0], n), (n, x[1])
        pairs = Pair(x[0], 1) < Pair(x[1], 1), Pair(x[0], 1) == Pair(x[1], 1)
        return one < other, one <= other, one == other, one != other, [x[0]] > [x[1]], (1, 2, x[0]) >= (1, 2), *pairs

    jitted = jit(compared)
    for x in ([1.0, 2.0], [2.0, 2.0], [1.0, 2.0]):
        for n in (1, 2, 3):
            assert outcome(jitted, np.array(x), n) == outcome(compared, np.array(x), n)

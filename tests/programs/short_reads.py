"""Functions of a few lines that read something outside, which is another at each call."""

import os
import sys
import types

import numpy as np

from .registry import program

OUTSIDE = types.SimpleNamespace()
NUMBER = 0
NUMBERS = np.zeros(5)
SWITCH = np.sin


class Scale:
    factor = 1.0


def reading(first, second):
    """Arguments for functions that read ``OUTSIDE.value``."""

    def arguments(rng):
        OUTSIDE.value = first if rng.random() > 0.4 else second
        return (rng.normal(size=5),)

    return arguments


@program(reading(1.0, 2.0))
def number(x):
    return x * OUTSIDE.value


@program(reading("sum", "product"))
def text(x):
    return x.sum() if OUTSIDE.value == "sum" else x.prod()


@program(reading(None, 3.0))
def none_or_number(x):
    return x if OUTSIDE.value is None else x * OUTSIDE.value


@program(reading(2, 3))
def extent(x):
    return np.zeros(OUTSIDE.value) + x[0]


@program(reading(2, 3))
def place(x):
    return x[OUTSIDE.value]


@program(reading(np.ones(5), np.full(5, 2.0)))
def array(x):
    return x + OUTSIDE.value


@program(reading(np.ones(5), np.full(5, 2.0)))
def array_times_two(x):
    return x + OUTSIDE.value * 2


@program(reading(np.ones(5), np.full(5, 2.0)))
def function_of_array(x):
    return x + np.sqrt(OUTSIDE.value)


@program(reading(np.ones(5), np.full(5, 2.0)))
def element_of_array(x):
    return x + OUTSIDE.value[0]


@program(reading(np.ones(5), np.full(5, 2.0)))
def method_of_array(x):
    return x + OUTSIDE.value.max()


@program(reading(np.ones(5), np.full(5, 2.0)))
def condition_on_array(x):
    if OUTSIDE.value[0] > 1:
        return x
    return -x


@program(reading(np.ones(5), np.full(5, 2.0)))
def float_of_array(x):
    return x + float(OUTSIDE.value[0])


@program(reading(np.ones(5), np.full(5, 2.0)))
def loop_over_array(x):
    for value in OUTSIDE.value:
        x = x + value
    return x


@program(reading(np.ones(5), np.full(5, 2.0)))
def array_assigned(x):
    out = np.zeros(5)
    out[:] = OUTSIDE.value
    return out + x


@program(reading(np.ones(5), np.full(5, 2.0)))
def array_joined(x):
    return np.concatenate([OUTSIDE.value, OUTSIDE.value * 2, x]), np.array([OUTSIDE.value, OUTSIDE.value]) + x


@program(reading(np.ones(5), np.full(5, 2.0)))
def array_returned(x):
    return OUTSIDE.value


@program(reading(np.arange(5), np.arange(5)[::-1].copy()))
def array_of_places(x):
    return x[OUTSIDE.value]


@program(reading([1.0], [1.0, 2.0]))
def items(x):
    return x * len(OUTSIDE.value) + sum(OUTSIDE.value)


@program(reading([1.0, 3.0], [2.0, 2.0]))
def array_of_items(x):
    return x * np.array(OUTSIDE.value).prod()


@program(reading({"rate": 1.0}, {"rate": 2.0}))
def dictionary(x):
    return x * OUTSIDE.value["rate"] + OUTSIDE.value.get("offset", 1.0)


@program(reading({"rate": 1.0}, {"rate": 2.0, "offset": 5.0}))
def keys_of_dictionary(x):
    return x * sum(OUTSIDE.value.values()) if "offset" in OUTSIDE.value else x


@program(reading(np.sin, np.cos))
def function(x):
    return OUTSIDE.value(x)


@program(reading(lambda x: x + 1, lambda x: x * 2))
def helper(x):
    return OUTSIDE.value(x)


def set_number(rng):
    global NUMBER
    NUMBER = int(rng.integers(100))
    return (rng.normal(size=5),)


@program(set_number)
def global_number(x):
    return x * NUMBER


@program(set_number)
def number_by_name(x):
    return x * globals()["NUMBER"] + sys.modules[__name__].NUMBER


def set_switch(rng):
    global SWITCH
    SWITCH = np.sin if rng.random() > 0.4 else np.cos
    return (rng.normal(size=5),)


@program(set_switch)
def global_function(x):
    return SWITCH(x)


def set_numbers(rng):
    NUMBERS[:] = rng.normal(size=5)
    return (rng.normal(size=5),)


@program(set_numbers)
def changed_in_place(x):
    return x + NUMBERS, NUMBERS * 2, NUMBERS.sum(), NUMBERS[1:3], np.full_like(x, NUMBERS[0])


@program(set_numbers)
def changed_default(x, y=NUMBERS):
    return x + y * 2


def set_factor(rng):
    Scale.factor = rng.normal()
    return (rng.normal(size=5),)


@program(set_factor)
def class_attribute(x):
    return x * Scale.factor + getattr(Scale(), "factor")  # noqa: B009


def with_cell():
    cell = 0.0

    def set_cell(rng):
        nonlocal cell
        cell = rng.normal()
        return (rng.normal(size=5),)

    @program(set_cell)
    def closure_cell(x):
        return (lambda y: y * cell)(x) + cell

    return closure_cell


closure_cell = with_cell()


def set_environment(rng):
    os.environ["PHLOX_PROGRAMS"] = str(rng.integers(100))
    return (rng.normal(size=5),)


@program(set_environment)
def environment(x):
    return x * int(os.environ["PHLOX_PROGRAMS"]) + int(os.getenv("PHLOX_PROGRAMS"))


def set_errors(rng):
    np.seterr(divide="ignore" if rng.random() > 0.4 else "raise")
    return (np.array([0.0, 1.0]),)


@program(set_errors, reset=lambda: np.seterr(divide="warn"))
def error_handling(x):
    try:
        return 1 / x
    except FloatingPointError as error:
        return str(error)

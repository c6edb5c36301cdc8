"""Functions and methods of the user's that a library calls, or has wrapped, are followed; nothing traced stays in objects."""

import contextlib
import functools
import itertools
import operator

import numpy as np
import phlox
import pytest
from phlox import jit

from ..support.undecorated import assert_alike


class Model:
    def __init__(self):
        self.calls, self.weights, self.seen, self.gain = 0, np.ones(2), [], 1.0

    def key(self, value):
        self.calls += 1
        self.seen.append(value)
        self.weights = self.weights + value
        return -value if value > 0 else value

    def combine(self, a, b):
        self.weights = self.weights * 1.5
        return a + b if b > 0 else a - b

    def of_a_row(self, row):
        self.calls += 1
        return row.sum() if row[0] > 0 else row[0]

    @property
    def total(self):
        self.calls += 1
        return self.weights.sum()

    @contextlib.contextmanager
    def watching(self, value):
        self.seen.append(value)
        yield value if value > 0 else -value
        self.calls += 10

    def __call__(self, value):
        self.seen.append(value)
        return value * 2 if value > 0 else value

    def state(self):
        return self.calls, self.weights.copy(), list(self.seen)


MODEL = Model()


@contextlib.contextmanager
def around(value):
    MODEL.seen.append("in")
    yield value + 1 if value > 0 else value
    MODEL.seen.append("out")


@contextlib.contextmanager
def gain(factor):
    before, MODEL.gain = MODEL.gain, MODEL.gain * factor
    try:
        yield MODEL
    finally:
        MODEL.gain = before


def under_conditions(x):
    """Managers that are made on one side of a branch, and in rounds that may raise."""
    saturated, read = 0, []
    for value in x:
        try:
            with gain(3.0) as model:
                if model.gain * value > 5:
                    raise OverflowError("saturated")
                read.append(model.gain * value)
        except OverflowError:
            saturated += 1
    if x[0] > 0:
        with gain(2.0) as model:
            read.append(model.gain * x[0])
    return saturated, read, MODEL.gain


@functools.singledispatch
def described(value):
    MODEL.seen.append("any")
    return value


@described.register(np.ndarray)
def _(value):
    MODEL.seen.append("array")
    return value.sum() if value[0] > 0 else value[0]


@described.register(float)
def _(value):
    return value + 1


def with_callback(x):
    with contextlib.ExitStack() as stack:
        value = stack.enter_context(around(x[0]))
        stack.callback(MODEL.key, x[1])
        y = value * 2
    return y


def within(manager):
    def function(x):
        with manager(x[1]) as value:
            return x + value

    return function


FUNCTIONS = {
    "sorted": lambda x: sorted(x, key=MODEL.key),
    "max": lambda x: max(x, key=MODEL.key),
    "reduce": lambda x: functools.reduce(MODEL.combine, x),
    "accumulate": lambda x: list(itertools.accumulate(x, MODEL.combine)),
    "starmap": lambda x: list(itertools.starmap(MODEL.combine, zip(x, x))),
    "partial": lambda x: list(map(functools.partial(MODEL.combine, x[0]), x)),
    "object": lambda x: list(itertools.accumulate(map(MODEL, x), operator.add)),
    "methodcaller": lambda x: operator.methodcaller("key", x[0])(MODEL),
    "methodcaller with a keyword": lambda x: operator.methodcaller("key", value=x[0])(MODEL),
    "methodcaller as a key": lambda x: list(map(operator.methodcaller("combine", x[0], b=x[1]), [MODEL, MODEL])),
    "attrgetter": lambda x: operator.attrgetter("total")(MODEL) + x[0],
    "attrgetter of several": lambda x: operator.attrgetter("calls", "weights.shape")(MODEL),
    "apply_along_axis": lambda x: np.apply_along_axis(MODEL.of_a_row, 1, x.reshape(2, 2)),
    "contextmanager": within(around),
    "contextmanager under conditions": under_conditions,
    "contextmanager of a method": within(MODEL.watching),
    "ExitStack": with_callback,
    "singledispatch": lambda x: (described(x), described(x[0]), described(int(x[1]))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_library_calls(name):
    function, values = FUNCTIONS[name], ([1.0, 2.0, 3.0, -4.0], [-1.0, 2.0, 5.0, 1.0], [1.0, 2.0, 3.0, -4.0])
    expected = []
    MODEL.__init__()
    for x in values:
        expected.append((function(np.array(x)), MODEL.state()))
    MODEL.__init__()
    jitted = jit(function)
    for x, one in zip(values, expected):
        assert_alike((jitted(np.array(x)), MODEL.state()), one)


def test_a_function_that_is_registered_later():
    @functools.singledispatch
    def kind(value):
        return 0

    jitted = jit(lambda x: kind(x))
    assert jitted(np.ones(2)) == 0
    kind.register(np.ndarray, lambda value: 1)
    assert jitted(np.ones(2)) == 1


def test_methods_that_are_dispatched_are_refused():
    class Dispatching:
        @functools.singledispatchmethod
        def of(self, value):
            self.kept = value

    holder = Dispatching()
    with pytest.raises(phlox.TracerError, match="singledispatchmethod is not followed"):
        jit(lambda x: holder.of(x))(np.ones(2))
    assert not vars(holder)

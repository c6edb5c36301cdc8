"""Classes with a ``__new__`` of their own, whose objects are attributes alone: made, changed, returned as others are."""

import numpy as np
import pytest
from phlox import jit


class Complex:
    def __new__(cls, real, other):
        made = super().__new__(cls)
        made.real, made.other = real, other
        return made

    def conjugate(self):
        return Complex.__new__(type(self), self.real, -self.other)

    def __mul__(self, by):
        return Complex(self.real * by.real - self.other * by.other, self.real * by.other + self.other * by.real)

    def __repr__(self):
        return f"{type(self).__name__}({self.real!r}, {self.other!r})"


class Halved(Complex):
    def __new__(cls, real):
        if real > 1:
            real = real / 2
        made = object.__new__(cls)
        made.real, made.other = real, 0.0
        return made


class Initialized(Complex):
    def __init__(self, real, other):
        self.twice = real * 2


class Marked:
    def __new__(cls, *args, **kwargs):
        self = super(Marked, cls).__new__(cls)  # noqa: UP008
        self.mark = "new"
        return self

    def __init__(self, x, scale=1.0):
        self.x = x * scale

    def __repr__(self):
        return f"Marked({self.x!r}, {self.mark!r})"


class OneOrOther:
    def __new__(cls, is_marked, x):
        return Marked(x) if is_marked else Complex(x, 0.0)


KEPT = Complex(2.0, 1.0)


def returned(x):
    return Complex(x[0], x[1]), [Complex(one, 1.0) for one in x]


def called_by_name(x):
    return Complex(x[0], x[1]).conjugate(), KEPT * Complex(x[0], x[2])


def decided_by_values(x):
    return Halved(x[0])


def initialized(x):
    made = Initialized(x[0], x[1])
    return made.twice, made, Marked(x, scale=2.0)


def of_another_class(x):
    return OneOrOther(True, x), OneOrOther(False, x[0])


def in_a_loop(x):
    total = Complex(1.0, 0.0)
    for _ in range(50):
        total = total * Complex(x[0] / 4, x[1] / 8)
    return total.real < 1


def on_one_side(x):
    made = Complex(1.0, x[1])
    if x[0] > 1:
        made = Complex(x[1], x[2])
        made.other = 5.0
    return made


@pytest.mark.parametrize(
    "function", [returned, called_by_name, decided_by_values, initialized, of_another_class, in_a_loop, on_one_side]
)
def test_objects_are_made_as_the_class_says(function):
    jitted = jit(function)
    for x in ([1.0, 2.0, 3.0], [2.0, -4.0, 2.0], [5.0, 6.0, -7.0]):
        assert repr(jitted(np.array(x))) == repr(function(np.array(x)))

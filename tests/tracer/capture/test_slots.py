"""Special methods of Python's numbers and texts, called by their names."""

import operator

import pytest
from phlox import jit


def of_integers(n):
    return (
        int.__add__(2, n), (2).__add__(n), int.__mul__(n, 3), (2).__radd__(n), (9).__rsub__(n), int.__neg__(n),
        int.__lt__(2, n),
        n.__add__(3), n.__rsub__(7), int.__pow__(2, n), int.__divmod__(17, n), n.__divmod__(2), int.__and__(6, n),
        n.__lshift__(2), int.__eq__(n, 3), n.__abs__(), n.__bool__(), n.__index__(), int.__floordiv__(17, n), (17).__mod__(n),
        n.__float__(), int.__truediv__(1, n), n.__invert__(), n.__int__(),
    )  # fmt: skip


def of_other_types(n):
    return (2).__add__(2.5 * n), int.__add__(2, n * 1.0), float.__add__(2.0, n), n.__add__(2.5), (n * 1.0).__add__(2)


def of_floats(n):
    x = n / 4
    return (
        float.__mul__(2.0, x), float.__add__(x, 1.0), (2.5).__sub__(x), float.__add__(1.0, 2), x.__rtruediv__(1), x.__neg__(),
        float.__ge__(x, 0.5), x.__floordiv__(0.3), x.__mod__(0.3), x.__pow__(2), float.__int__(x), x.__trunc__(), x.__eq__(x),
        complex.__add__(1j, x), float.__abs__(-x), x.__ne__(2),
    )  # fmt: skip


def of_truths(n):
    return bool.__and__(True, n > 2), (n > 1).__or__(False), bool.__xor__(n > 2, True), int.__add__(n > 2, 1)


def of_texts(n):
    return (
        str.__add__("a", str(n)), "a".__mul__(n), str(n).__add__("b"), str.__eq__(str(n), "3"), str.__len__(str(n)),
        operator.add(2, n), operator.concat([1], [n]), operator.mul("ab", n),
    )  # fmt: skip


class Meters(float):
    def __add__(self, other):
        return Meters(float.__add__(self, other))


def of_a_class_that_inherits(n):
    return float.__add__(Meters(2.0), n / 2), float.__mul__(Meters(3.0), n)


@pytest.mark.parametrize("function", [of_integers, of_other_types, of_floats, of_truths, of_texts, of_a_class_that_inherits])
def test_special_methods_do_what_they_do_undecorated(function):
    traced = jit(function)
    for n in (1, 3, 5) * 2:
        found, wanted = traced(n), function(n)
        assert found == wanted
        assert list(map(type, found)) == list(map(type, wanted))


def of_an_integer(x):
    return float.__add__(2, x)


def with_the_wrong_class(x):
    return int.__add__(x, 2)


@pytest.mark.parametrize("function", [of_an_integer, with_the_wrong_class])
def test_the_wrong_class_is_a_type_error(function):
    for run in (function, jit(function)):
        with pytest.raises(TypeError, match="requires a"):
            run(1.5)

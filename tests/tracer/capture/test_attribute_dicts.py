"""``vars(o)`` of objects that the function makes, attributes that their classes have, and what formats ask a dict for."""

import copy
from collections import defaultdict

import numpy as np
import pytest
from phlox import TracerError, jit


class Point:
    z = 5

    def __init__(self):
        self.a = 1.0

    def name(self):
        return "class"


def set_in_the_dict(x):
    o = Point()
    if x > 0:
        o.__dict__["z"] = x
    return o.z


def a_new_one_in_the_dict(x):
    o = Point()
    if x > 0:
        vars(o)["w"] = x
    return getattr(o, "w", None), hasattr(o, "w"), o.__class__ is Point


def returned_with_its_attributes(x):
    o = Point()
    if x > 0:
        o.z = x
    return vars_of(o)


def vars_of(o):
    return o


def changed_in_the_dict(x):
    o = Point()
    d = vars(o)
    if x > 0:
        d["a"] = x
    d["b"] = 2
    return o.a, o.b, d["a"]


def a_method_under_a_condition(x):
    o = Point()
    if x > 0:
        o.name = lambda: "own"
    return o.name()


def counted_from_the_class(x):
    o = Point()
    for k in range(40):
        if k > 20 + x:
            o.z += 1
    return o.z


def deleted(x):
    o = Point()
    o.z = 7
    if x > 0:
        del o.z
    return o.z


def deleted_in_the_dict(x):
    o = Point()
    if x > 0:
        del o.__dict__["a"]
    return getattr(o, "a", None)


@pytest.mark.parametrize(
    "function",
    [
        set_in_the_dict, a_new_one_in_the_dict, changed_in_the_dict, a_method_under_a_condition, counted_from_the_class,
        deleted, deleted_in_the_dict,
    ],
)  # fmt: skip
def test_attributes_under_a_condition(function):
    traced = jit(function)
    for x in (1.0, -1.0, 3.0) * 2:
        assert traced(x) == function(x)


def test_an_object_has_what_was_set_and_no_more():
    traced = jit(returned_with_its_attributes)
    for x in (1.0, -1.0, 3.0) * 2:
        assert vars(traced(x)) == vars(returned_with_its_attributes(x))


def its_length(x):
    o = Point()
    if x > 0:
        o.z = x
    return len(vars(o))


def updated(x):
    o = Point()
    if x > 0:
        vars(o).update(a=3, b=x)
    return o.a


@pytest.mark.parametrize("function", [its_length, updated])
def test_the_dict_as_a_whole_is_right_or_refused(function):
    traced = jit(function)
    for x in (1.0, -1.0) * 2:
        try:
            found = traced(x)
        except TracerError:
            continue
        assert found == function(x)


def asked_by_percent(x):
    d, text = defaultdict(int), ""
    if x > 0:
        text = "%(w)s %% %(v)5d" % d  # noqa: UP031
    return text, dict(d)


def asked_by_format(x):
    d, text = defaultdict(list), ""
    if x > 0:
        text = "{0[w]} {d[v]}".format(d, d=d)  # noqa: UP032
    return text, dict(d)


def asked_by_format_map(x):
    d, text = defaultdict(int), ""
    if x > 0:
        text = "{w} {v:>{u}}".format_map(d)
    return text, dict(d)


def asked_with_a_number(x):
    d = defaultdict(int)
    d["n"] = x
    return "%(w)s %(n)s" % d, len(d)  # noqa: UP031


@pytest.mark.parametrize("function", [asked_by_percent, asked_by_format, asked_by_format_map, asked_with_a_number])
def test_formats_put_missing_keys(function):
    traced = jit(function)
    for x in (1.0, -1.0) * 2:
        assert traced(x) == function(x)


class Doubled:
    def __init__(self, size):
        self.size = size

    @property
    def size(self):
        return self.__dict__["size"]

    @size.setter
    def size(self, size):
        self.__dict__["size"] = 2 * size


def set_under_a_condition(x):
    made = Doubled(x.sum())
    if x[0] > 0:
        made.size = x[1]
    return made, [Doubled(v) for v in x if v > 1], copy.copy(made), np.poly1d(x) * 2


def test_what_lies_under_the_name_of_a_property_is_not_set_once_more():
    jitted = jit(set_under_a_condition)
    for x in (np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 0.5])):
        (made, several, copied, polynomial), expected = jitted(x), set_under_a_condition(x)
        assert [vars(one) for one in (made, *several, copied)] == [
            vars(one) for one in (expected[0], *expected[1], expected[2])
        ]
        assert polynomial == expected[3]

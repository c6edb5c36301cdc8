"""What containers and objects hold behind a branch that has changed them, or what they hold."""

import collections
import dataclasses

import pytest
from phlox import TracerError, jit


@dataclasses.dataclass
class Note:
    weight: float
    tags: list = dataclasses.field(default_factory=list)

    def moved(self, by):
        return dataclasses.replace(self, weight=self.weight + by)


@dataclasses.dataclass(frozen=True)
class Fixed:
    weight: float
    tags: list


class Holder:
    def __init__(self, weight, tags):
        self.weight, self.tags = weight, tags


def a_list_in_two_lists(x):
    first = [x, [x], 2]
    second = first.copy()
    if x > 0:
        second[2] = 1.5
    second[1].append(3.0)
    first[1].append(x)
    return first, second, first[1] is second[1]


def a_dict_in_a_list(x):
    inner = {"k": x}
    held = [0, inner]
    if x > 0:
        held[0] = "text"
    inner["k"] += 1
    held[1]["z"] = 1
    return held, inner, held[1] is inner


def a_list_in_a_tuple_in_a_list(x):
    inner = [x]
    held = [0.0, (inner, 2)]
    for k in range(40):
        if k > x:
            held[0] = 1.0 + k
    held[1][0][0] += 9.0
    return held, inner


def a_list_in_an_object(x):
    tags, other = [], Holder(1.0, [])
    if x > 0:
        other = Holder(2.0, tags)
        tags.append(x)
    return other.weight, other.tags, tags


def a_list_of_an_object(x):
    tags, others = {"a": 1.0}, [Holder(1.0, {"a": x})]
    if x > 0:
        others = [Holder(2.0, tags)]
        tags["a"] += x
        tags["b"] = 2.0
    return [(one.weight, one.tags) for one in others], tags


def an_object_that_a_library_makes(x):
    note = Note(2.0)
    other = Note(x)
    if x > 0:
        other = note.moved(x)
        other.tags.append(x)
    return other.weight, other.tags, note.tags


def a_frozen_object(x):
    tags, other = [], Fixed(1.0, [])
    if x > 0:
        other = Fixed(2.0, tags)
        tags.append(x)
    return other.weight, other.tags, tags


def a_result_of_a_branch(x):
    def made(tags):
        if x > 0:
            found = Holder(1.0, tags)
            tags.append(x)
            return found
        tags.append(3.0)
        return Holder(2.0, tags)

    tags = []
    found = made(tags)
    return found.weight, found.tags, tags


def an_object_changed_in_a_loop(x):
    tags, other = [], Holder(1.0, [])
    for k in range(40):
        if k > x + 30:
            other = Holder(k, tags)
            tags.append(x)
    return other.weight, other.tags, tags


FUNCTIONS = [
    a_list_in_two_lists, a_dict_in_a_list, a_list_in_a_tuple_in_a_list, a_list_in_an_object, a_list_of_an_object,
    an_object_that_a_library_makes, a_frozen_object, a_result_of_a_branch, an_object_changed_in_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_all_names_show_what_is_there(function):
    jitted = jit(function)
    for x in (1.5, -1.5, 2.5):
        assert repr(jitted(x)) == repr(function(x))


def test_what_changes_places_with_a_number_is_read_no_more_behind_a_change():
    def exchanged(x):
        inner = [x]
        held = [0, inner]
        if x > 0:
            held[0], held[1] = held[1], held[0]
        inner.append(3.0)
        return held

    with pytest.raises(TracerError, match="may be one that has been changed"):
        jit(exchanged)(1.5)


class Tuned:
    rate = 3

    def tune(self, value):
        if value > 0:
            self.rate = value


def test_an_attribute_of_the_class_where_an_object_has_none():
    def tuned(x):
        one = Tuned()
        one.tune(x)
        return one.rate, getattr(one, "rate", None), hasattr(one, "rate")

    jitted = jit(tuned)
    for x in (1.5, -1.5):
        assert jitted(x) == tuned(x)


def test_items_that_a_library_changes_are_refused_on_one_side():
    def changed(x):
        held = collections.UserDict({"a": x})
        if x > 0:
            held["b"] = 2.0
        return len(held)

    def in_a_loop(x):
        held = collections.ChainMap({"a": x}, {"b": 2.0})
        for k in range(3):
            held["b"] += k
        return dict(held)

    with pytest.raises(NotImplementedError, match="an item of a collections.UserDict is changed"):
        jit(changed)(1.5)
    assert jit(in_a_loop)(1.5) == in_a_loop(1.5)

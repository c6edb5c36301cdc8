"""What a name holds behind a loop that changes it under another name: as of the last round, or an error says so."""

import numpy as np
import pytest
from phlox import TracerError, jit

X = np.random.default_rng(7).uniform(size=300)


class Box:
    def __init__(self, value):
        self.value = value


def a_dict_that_has_no_name_before(x):
    held, total = {"n": 1.0}, 0.0
    for v in x:
        name = held
        name["n"] += v
        total += held["n"]
    return total, name["n"], name, held, name is held


def an_object_that_has_no_name_before(x):
    held = Box(1.0)
    for v in x:
        name = held
        name.value += v
    return name.value, held.value, name is held


def an_object_or_a_new_one(x):
    held, name = Box(1.0), Box(0.0)
    for v in x:
        held.value += v
        name = held
        if v < 0.5:
            name = Box(3.0)
    return name.value, held.value


def a_list_in_an_object_or_a_new_one(x):
    held, name = Box([1.0]), Box([0.0])
    for v in x:
        held.value[0] += v
        name = held
        if v < 0.5:
            name = Box([3.0])
    return name.value, held.value


def an_object_in_an_object_or_a_new_one(x):
    held, name = Box(Box(1.0)), Box(Box(0.0))
    for v in x:
        held.value.value += v
        name = held
        if v < 0.5:
            name = Box(Box(3.0))
    return name.value.value, held.value.value


def a_dict_or_a_new_one(x):
    held, name = {"n": 1.0}, {"n": 0.0}
    for v in x:
        held["n"] += v
        name = held
        if v < 0.5:
            name = {"n": 3.0}
    return name["n"], held["n"]


def on_one_side(x):
    held, name = Box(1.0), Box(0.0)
    if x[0] > 0.2:
        held.value += 1
        name = held if x[1] > 0.5 else Box(5.0)
    return name.value, held.value


def none_or_an_object(x):
    held, name = Box(1.0), None
    for v in x:
        held.value += v
        name = held if v > 0.5 else None
    return None if name is None else name.value, held.value


def the_first_one_under_a_third_name(x):
    first, third = Box(2.0), Box(0.0)
    other, total = first, 0.0
    for v in x:
        other.value += v
        third = first
        first = Box(2.0)
        total += third.value
    return total, first.value, third.value, other.value


def the_first_one_of_two_names(x):
    first = Box(2.0)
    other, total = first, 0.0
    for v in x:
        other.value += v
        total += first.value
        first = Box(2.0)
    return total, other.value


def a_list_in_a_new_object(x):
    held = [1.0]
    for v in x:
        name = Box(held)
        name.value[0] += v
    return held, name.value


def a_list_in_a_new_tuple(x):
    held = [1.0]
    for v in x:
        name = (held, v)
        name[0][0] += v
    return held, name


def a_list_in_a_new_list(x):
    held, name = [1.0], None
    for v in x:
        name = [held, v]
        name[0].append(v)
    return held, name


def a_dict_in_a_new_dict(x):
    held = {"n": 1.0}
    for v in x:
        name = {"of": held}
        name["of"]["n"] += v
    return held, name


def an_object_in_a_new_object(x):
    held = Box(1.0)
    for v in x:
        name = Box(held)
        name.value.value += v
    return held.value, name.value.value


def one_of_some_rows(x):
    rows, name = [[1.0, 2.0], [3.0]], Box([0.0])
    for _ in x:
        name = Box(rows[1])
        rows[0] = name.value
    return rows, name.value


def one_of_more_and_more_rows(x):
    rows, name = [[1.0, 2.0], [3.0]], Box([0.0])
    for v in x:
        name = Box(rows[int(v > 0.5)])
        rows.append(name.value)
    return rows, name.value


def an_attribute_around_a_list(x):
    held, around = [1.0], Box(None)
    for v in x:
        around.value = Box(held)
        held[0] += v
    return around.value.value, held


def an_item_around_a_list(x):
    held, around, others = [1.0], {"of": None}, [None]
    for v in x:
        around["of"] = Box(held)
        others[0] = Box(held)
        held[0] += v
    return around["of"].value, others[0].value, held


def an_attribute_that_is_one_of_several(x):
    held, around, others = Box(1.0), Box(None), [None, None]
    for v in x:
        around.value = held if v > 0.5 else Box(v)
        others[1] = held if v > 0.5 else Box(v)
        held.value += v
    return around.value.value, others[1].value, held.value


def a_list_from_a_loop_within(x):
    name, total = [3.0, 1.0], 0.0
    for v in x:
        for _ in x:
            name = [3.0, 0.0]
        name[1] += total
        total += v
    return total, name


def a_dict_from_a_loop_within(x):
    name, total = {"k": 0.0, "m": 2.0}, 0.0
    for v in x:
        for w in x[:20]:
            if w > 0.5:
                name = {"k": w, "m": 0.0}
        name["m"] += total
        total += 0.1 * v + 0.01 * name["m"]
    return total, name


def returned_from_a_round(x):
    held = [1.0]

    def go():
        for v in x:
            found = Box(held)
            held[0] += v
            if v > 0.99:
                return found
        return Box([0.0])

    return go().value, held


SAME = [
    a_dict_that_has_no_name_before,
    an_object_that_has_no_name_before,
    an_object_or_a_new_one,
    on_one_side,
    a_list_in_an_object_or_a_new_one,
    an_object_in_an_object_or_a_new_one,
    a_dict_or_a_new_one,
    none_or_an_object,
    the_first_one_of_two_names,
    the_first_one_under_a_third_name,
    a_list_in_a_new_object,
    a_list_in_a_new_tuple,
    a_list_in_a_new_list,
    a_dict_in_a_new_dict,
    an_object_in_a_new_object,
    one_of_some_rows,
    one_of_more_and_more_rows,
    an_attribute_around_a_list,
    an_item_around_a_list,
    an_attribute_that_is_one_of_several,
    returned_from_a_round,
    a_list_from_a_loop_within,
    a_dict_from_a_loop_within,
]


@pytest.mark.parametrize("function", SAME)
def test_as_of_the_last_round(function):
    jitted = jit(function)
    for seed, count in ((0, 300), (1, 300), (2, 300), (3, 8)):
        x = np.random.default_rng(seed).uniform(size=count)
        assert repr(jitted(x)) == repr(function(x))


def a_third_name_in_counted_rounds(x, n):
    first, third = Box(2.0), Box(0.0)
    other, total = first, 0.0
    for i in range(n):
        other.value += x[i]
        third = first
        first = Box(2.0)
        total += third.value
    return total, first.value, third.value, other.value


def what_a_loop_within_gives_the_name(x, n):
    first, name = Box(0.0), Box(1.0)
    for i in range(n):
        name.value += x[i]
        name = Box(0.0)
        for _ in range(n):
            name = first
    return first.value, name.value


@pytest.mark.parametrize("function", [a_third_name_in_counted_rounds, what_a_loop_within_gives_the_name])
def test_what_may_be_another_one_is_right_or_refused(function):
    for n in (8, 300):
        try:
            found = jit(function)(X, n)
        except TracerError as error:
            assert "under another name" in str(error)
        else:
            assert repr(found) == repr(function(X, n))

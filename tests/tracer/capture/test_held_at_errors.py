"""What a handler finds where the program has found an error: texts, lists and dicts, whole, as they were before it."""

from collections import Counter

import numpy as np
import pytest
from phlox import jit

from tests.support.thinning import one_in_all

ITEMS = np.array([3, 1, 4, 1, 5])


def text_of_a_number(n, items):
    return str(n) + "-"


def text_of_several(n, items):
    return ",".join(str(item) for item in items)


def text_replaced(n, items):
    return str(n * 1001).replace("1", "xy")


def text_in_hexadecimal(n, items):
    return hex(n).upper()


def some_of_a_list(n, items):
    return [item * 2 for item in items if item > n % 4]


def lists_in_a_list(n, items):
    return [[item] * (item % 3) for item in items]


def texts_in_a_list(n, items):
    return [str(item) + "." for item in items]


def elements(n, items):
    return sorted({item % 4 for item in items} | {n})


def counts(n, items):
    return dict(Counter(item % 3 for item in items))


def some_of_an_array(n, items):
    return list(items[items > n % 4])


def made_before_the_body(make, n, items):
    value = make(n, items)
    try:
        if n < 1000:
            raise ValueError("no")
        value = make(0, items)
    except ValueError:
        pass
    return value


def made_before_an_index(make, n, items):
    value = make(0, items)
    try:
        if items[0] > 0:
            value = make(n, items)
            items.tolist()[n]
            value = make(1, items)
    except IndexError:
        pass
    return value


def made_before_the_end(make, n, items):
    value, ends = make(0, items), 0
    try:
        try:
            value = make(n, items)
            ends = 10 // (n - 7)
            value = make(1, items)
        finally:
            ends += 1
    except ZeroDivisionError:
        ends -= 5
    return value, ends


def made_in_a_round(make, n, items):
    value, total = make(0, items), 0
    for k in range(4):
        try:
            if k == n % 4:
                value = make(n, items)
                raise KeyError(k)
            total += k
        except KeyError:
            total += 100
    return value, total


def made_in_a_loop(make, n, items):
    value, rounds = make(0, items), 0
    try:
        while rounds < 10:
            rounds += 1
            if rounds == 2:
                value = make(n, items)
            items.tolist()[rounds + n % 4]
            if rounds == 3:
                value = make(1, items)
    except IndexError:
        rounds += 100
    return value, rounds


def made_behind_a_statement_that_is_checked(make, n, items):
    value = make(n, items)
    try:
        value = chr(97 + n % 26), make(1, items)
        if n == 7:
            raise IndexError
    except IndexError:
        pass
    return value


def made_in_a_body_within_another(make, n, items):
    value = make(0, items)
    try:
        try:
            value = chr(97 + n % 26), make(n, items)
            raise ValueError(str(n))
        except ValueError as error:
            value = value, str(error)
    except IndexError:
        pass
    return value


MAKERS = [
    text_of_a_number, some_of_a_list, text_of_several, counts, text_in_hexadecimal, lists_in_a_list, text_replaced,
    some_of_an_array, texts_in_a_list, elements,
]  # fmt: skip
WAYS = [
    made_before_the_body, made_in_a_round, made_before_an_index, made_in_a_loop, made_before_the_end,
    made_behind_a_statement_that_is_checked, made_in_a_body_within_another,
]  # fmt: skip


def a_text_of_a_part(n, items):
    text = hex(n)
    try:
        text = chr(97 + n % 26) + text[:5]
        items.tolist()[n]
    except IndexError:
        pass
    return text


def test_a_text_of_a_part_of_another():
    for n in (2, 7, 7):
        assert jit(a_text_of_a_part)(n, ITEMS) == a_text_of_a_part(n, ITEMS)


@pytest.mark.parametrize(("make", "way"), one_in_all(9, MAKERS, WAYS))
def test_a_handler_finds_what_was_made_before(make, way):
    jitted = jit(lambda n, items: way(make, n, items))
    for n in (2, 7, 1203):
        assert jitted(n, ITEMS) == way(make, n, ITEMS)

"""Texts that Python makes, and that the function uses more than once."""

import contextlib
import io

import numpy as np
import phlox
import pytest


def asked_twice(x):
    text = np.array2string(x, precision=3)
    return len(text.splitlines()), text.count("."), text.upper()


def printed_and_returned(x):
    text = str(x)
    print(text, "!")
    return text + "?", text


def from_a_stream(x):
    out = io.StringIO()
    for row in x:
        print(row, row.sum(), sep="; ", file=out)
    return len(out.getvalue()), out.getvalue().count(";"), out.getvalue().split("\n")[0]


def joined(x):
    text = ", ".join([f"{v:.3f}" for v in x.ravel()])
    return len(text), text.rfind("1"), text.split(", ")[2], text


def changed_in_between(x):
    x = x.copy()
    first = str(x)
    count = first.count("1")
    x[0, 0] = 111.0
    second = str(x)
    return count, second.count("1"), first.rfind("1"), second.rfind("1"), first == second


def with_options(x):
    first = str(x)
    with np.printoptions(precision=2):
        second = str(x)
        length = len(second) + len(first)
    return length, len(first), len(second), second, first


def of_equal_constants(x):
    first, second = f"{x} {1}", f"{x} {True}"
    third, fourth = "%s %s" % (x, 0.0), "%s %s" % (x, -0.0)  # noqa: UP031
    return [(text.rfind("1"), text.rfind("0"), text[-4:]) for text in (first, second, third, fourth)]


def of_equal_keys(x):
    first, second = str({1: x}), str({True: x})
    return first.rfind("1"), second.rfind("1"), first[:4], second[:4]


def within_another_one(x):
    text = np.array2string(x)
    print(text + " first")
    print(text + " second")
    return text


def under_a_condition(x):
    text = str(x)
    if x.sum() > 30:
        print(text, text.rfind("1"))
        return text.count("1")
    return text.rfind("1") + text.count("2")


def in_a_loop(x):
    found = []
    for row in x:
        text = str(row)
        found.append(text.rfind("1") + text.count("1"))
    return found


def in_a_long_loop(x):
    text, total = str(x), 0
    for k in range(60):
        other = f"{x[k % 2]} {k}"
        total += other.count("1") * k + other.rfind("1") + text.rfind("1")
    return total, text.count("1")


def inside_a_handler(x):
    text = str(x)
    try:
        return text.index("1") + text.rindex("1")
    except ValueError:
        return text.count("2")


def split_in_two(x):
    first, between, second = str(x).partition("1")
    return first.count("["), len(between), second.rfind("]"), first + second


def of_bytes(x):
    data = x.tobytes()
    return data, data


def long(x):
    text = str(np.concatenate([x.ravel()] * 20))
    return text.count("1"), text.rfind("1"), text


def of_other_characters(x):
    text = str(x) + "\u00e9\U0001f600\ud800"
    return text.rfind("\U0001f600"), text.count("\u00e9"), text


FUNCTIONS = [
    asked_twice, printed_and_returned, from_a_stream, joined, changed_in_between, with_options, of_equal_constants,
    of_equal_keys, split_in_two, within_another_one, under_a_condition, in_a_loop, in_a_long_loop, inside_a_handler,
    of_bytes, long, of_other_characters,
]  # fmt: skip


def call(function, x):
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        try:
            return function(x), shown.getvalue()
        except ValueError as error:
            return str(error), shown.getvalue()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_are_what_they_are_undecorated(function):
    jitted = phlox.jit(function)
    for x in (
        np.arange(6.0).reshape(2, 3),
        np.full((2, 3), 1.125),
        np.full((2, 3), -2.0),
        np.full((2, 3), np.nan),
        1e-9 * np.eye(3),
    ):
        for _ in range(2):
            assert call(jitted, x) == call(function, x)


@pytest.mark.parametrize("function", [asked_twice, printed_and_returned, from_a_stream, within_another_one])
def test_are_made_once(function):
    made = []

    def noted(value):
        made.append(value)
        return format(value, ".3f")

    def numbers_made(called):
        made.clear()
        with np.printoptions(formatter={"float_kind": noted}):
            call(called, x)
        return len(made)

    jitted, x = phlox.jit(function), np.arange(6.0).reshape(2, 3)
    call(jitted, x)
    numbers_made(jitted)  # behind which it is compiled for a text as long
    assert 0 < numbers_made(jitted) <= numbers_made(function)

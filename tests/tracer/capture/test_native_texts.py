"""Texts that a call returns: native code makes them of characters and numbers, as Python makes them."""

import numpy as np
import pytest
from phlox import jit

from ...support.native_calls import calls_noted, natively

VALUES = np.array([1.5, -2.25, 0.125, np.nan, 1e300, -0.0])


def same(function, *all_arguments):
    """Calls both with each of the arguments, twice, the second time natively. Returns the compiled form."""
    decorated = jit(function)
    for number in range(2):
        for arguments in all_arguments:
            expected = function(*arguments)
            if not number:
                decorated(*arguments)
            with natively():
                found = decorated(*arguments)
            assert repr(found) == repr(expected)
    return decorated


class LimitError(ValueError):
    def __init__(self, name, limit):
        super().__init__(f"{name}: {limit}")
        self.limit = limit


class ShownError(Exception):
    def __str__(self):
        return f"<{self.args[0]:.2f}>"


def told(x):
    try:
        if x > 2:
            raise LimitError("large", x)
        if x > 1:
            raise LimitError("integer", int(x * 10))
        if x > 0:
            raise KeyError(x)
        if x > -1:
            raise ShownError(x)
        if x > -2:
            raise ZeroDivisionError("flat")
    except (LimitError, KeyError, ShownError) as error:
        return str(error)
    except ArithmeticError as error:
        return f"{error!r}"
    return "fine"


def all_forms(x, k):
    y = x[k]
    if k > 2:
        return f"{y!r:>22}|{y:>20.3f}|{y!s:^20}|{y}|é\U0001f600"
    return f"{y:e} {-y:%} {y:+.2g} {k:05d} {k!r:*>8}"


def test_texts_of_exceptions():
    same(told, (3.0,), (1.25,), (0.5,), (-0.5,), (-1.5,), (-3.0,))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
def test_numbers_are_shown_as_their_types_show_them(dtype):
    with np.errstate(invalid="ignore", over="ignore"):
        values = VALUES.astype(dtype)
    same(all_forms, *[(values, k) for k in range(len(values))])


def test_no_python_is_needed_for_texts_of_branches():
    def state(x):
        text = "small"
        if x > 1:
            text += f" and {x:.3f}"
        elif x < 0:
            text = f"{x} is negative, not " + text
        return text

    decorated = jit(state)
    decorated(1.5)
    found = []
    with calls_noted() as called:
        for x in (1.5, 0.5, -2.25):
            found.append(decorated(x))
        called = called[:]
    assert called == []
    assert found == [state(x) for x in (1.5, 0.5, -2.25)]


def test_lists_of_texts():
    def lines(x, n):
        found = []
        for i in range(n):
            if x[i] > 0:
                found.append(f"{i}: {x[i]:.2f}")
            elif x[i] < -2:
                found.append((i, "low"))
            else:
                found.append(str(i))
        return found

    def texts(x, n):
        return [f"{i}: {x[i]:.2f}" if x[i] > 0 else "none" for i in range(n)]

    for function in (lines, texts):
        same(function, *[(VALUES, n) for n in (0, 1, 3, 6)])


def test_parts_of_texts_with_numbers():
    def cut(x, n):
        text = f"value {x:.4f}" if n > 0 else "none"
        return text[: n + 3], len(text), text.startswith("value 1"), text == "value 1.5000"

    same(cut, (1.5, 5), (2.5, 9), (1.5, 0))


def test_numbers_with_more_characters_than_there_is_room_for():
    def wide(x, n):
        text = f"{x:300.200f}" if n else "short"
        return text[2:], text

    same(wide, (1 / 3, 1), (2 / 3, 1), (0.5, 0))


def test_texts_of_exceptions_of_one_class_that_differ_in_their_arguments():
    def made(x):
        try:
            if x > 1:
                raise LookupError(int(x))
            if x > 0:
                raise LookupError(f"text {x:.1f}")
            if x > -1:
                raise ShownError(x)
        except (LookupError, ShownError) as error:
            return repr(error), f"{error!r:>20}"
        return "", ""

    same(made, (2.0,), (0.5,), (-0.5,), (-2.0,))


def test_one_of_several_values():
    def one(x, n):
        first = f"{x:.2f}" if n > 1 else "none" if n > 0 else f"{x!r} and {n:>5}"
        second = None if n > 1 else (n, f"{x:g}")
        third = "large" if n > 1 else n * x
        return first, second, third, f"{'word' if n > 1 else 'text'!r:>8}", [first] if n else {"key": second}

    same(one, *[(x, n) for x in (1.5, float("nan"), float("inf"), -1e-300) for n in range(3)])


@pytest.mark.parametrize(
    "value", [1.5, -0.0, float("nan"), 1e22, 123456789.125, np.float64(0.1), np.float32(0.1), 7, np.int64(-7)]
)
@pytest.mark.parametrize("specification", ["", ".2f", "f", ".0e", "g", ".12g", ".0g", "+.1f", "10.3f", ",", "%"])
def test_formats(value, specification):
    def shown(x):
        return (
            format(x, specification) + f"{x:{specification}}!",
            "small" if x < 0 else f"{x!s:>12} {x!r}",
            f"{x:.3f}|{x:e}|{x:g}|{x:.1g}|{x}",
        )

    same(shown, (value,))


def test_results_that_are_not_chosen_are_not_made():
    def chosen(x, k):
        return f"{x:d}" if k > 0 else f"{x:.2f}"

    decorated = jit(chosen)
    for _ in range(2):
        assert decorated(1.5, 0) == "1.50"
    with pytest.raises(ValueError, match="Unknown format code 'd'"):
        decorated(1.5, 1)
    assert decorated(2.5, 0) == "2.50"


TEMPLATES = [
    "{:8.3f}|{:>5d}|{}", "{1:05d} {0!r:>12} {0:e}{{}}", "{a:^9}{0} {b!s:>6}{a}", "{0:{b}}", "{0.real} {1}", "{a:>{b}}",
    "no fields {{}}", "{!a}{:%}", "{:+.2e}{:,}", "{} {0}", "{} {} {}", "{:d}", "{!z}", "{", "{c}", "{: }{:x}",
]  # fmt: skip


@pytest.mark.parametrize("template", TEMPLATES)
def test_templates(template):
    """`str.format` does with numbers what f-strings do, and raises what it raises."""

    def filled(x, n):
        return template.format(x, n, a=n, b=7)

    decorated = jit(filled)
    for x, n in ((2.5, 3), (-1e20, -7), (float("nan"), 10**12), (2.5, 4)):
        try:
            expected = filled(x, n)
        except (ValueError, IndexError, KeyError) as error:
            with pytest.raises(type(error)) as caught:
                decorated(x, n)
            assert str(caught.value) == str(error)
        else:
            assert decorated(x, n) == expected


@pytest.mark.parametrize("specification", ["", "8.3f", ">12", ".2e", "d", "+", "zz"])
def test_format(specification):
    def shown(x, n):
        return format(x, specification), format(n, specification)

    decorated = jit(shown)
    for x, n in ((2.5, 3), (-1e20, -7), (np.float64(0.1), 3), (np.float32(0.1), np.int64(8))):
        try:
            expected = shown(x, n)
        except ValueError as error:
            with pytest.raises(ValueError) as caught:
                decorated(x, n)
            assert str(caught.value) == str(error)
        else:
            assert decorated(x, n) == expected

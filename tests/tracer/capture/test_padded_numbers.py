"""Texts of numbers that methods make longer."""

import numpy as np
import phlox
import pytest


def of_whole_ones(n):
    texts = str(n).rjust(8), str(n).ljust(8), str(n).zfill(8), f"{n}".rjust(4), f"{n:d}".ljust(21), f"{n}".center(9)
    return *texts, f"{n:+d}".zfill(7), f"{n: d}".zfill(7), f"{n: d}".rjust(7), f"{n:-}".zfill(7), f"{n:5}".rjust(9)


def of_representations(n):
    return repr(n).rjust(12), f"{n!r}".ljust(21), f"{n!s}".rjust(22) + "|", f"{n!s:4}".rjust(9), str(n).rjust(12, "-")


def in_forms(x):
    texts = f"{x:.2f}".rjust(10), f"{x:+.3e}".ljust(14), f"{x:g}".rjust(9), f"{x:%}".rjust(12), f"{x: }".ljust(30)
    return *texts, f"{x:.2f}".zfill(10), f"{x:+}".rjust(30), f"{x:.0f}".rjust(4), f"{x:.3}".ljust(12)


def with_little_room(n):
    return (
        str(n).rjust(0),
        str(n).ljust(-3),
        str(n).zfill(1),
        str(n).rjust(True),
        str(n).zfill(2).rjust(5),
        str(n).rjust(5).ljust(9),
    )


def wide(n, width):
    return str(n).rjust(width) + str(n).zfill(width)


def of_several(n):
    return f"{n}{n}".rjust(8), f"({n})".rjust(8), ("a" + str(n)).zfill(9), f"{n}"[1:].rjust(5)


def asked(n):
    text = str(n).rjust(6)
    return len(text), text == "    12", text.count(" "), text < "  ", text.strip(), sorted([text, str(n).ljust(6), "x"])


def in_a_loop(n):
    text = ""
    for k in range(40):
        text += str(n * k).rjust(7) + f"{n / (k + 1):.2f}".rjust(12) + str(k % 3 == 0).ljust(6)
    return text


WHOLE = [0, 7, -7, 12, -123456, 2**62, -(2**63), 99999999]
FLOATS = [0.0, -0.0, 1.5, -2.25, 1e16, 1e-7, 123456.789, float("nan"), float("inf"), -float("inf"), 0.1]


def alike(function, *arguments):
    jitted = phlox.jit(function)
    for value, *others in zip(*arguments):
        assert jitted(value, *others) == function(value, *others)
        assert jitted(value, *others) == function(value, *others)


@pytest.mark.parametrize("function", [of_whole_ones, of_representations, with_little_room, of_several, asked])
@pytest.mark.parametrize("kind", [int, np.int64, np.int32, np.uint8, np.uint64, bool, np.bool_])
def test_of_integers(function, kind):
    limits = {np.int32: 2**31, np.uint8: 2**8, bool: 2, np.bool_: 2}
    values = [n for n in WHOLE if (0 if kind in (np.uint8, np.uint64, bool, np.bool_) else -limits.get(kind, 2**63)) <= n]
    values = [kind(n) for n in values if n < limits.get(kind, 2**63)]
    if kind is np.bool_ and function in (of_whole_ones,):
        pytest.skip("np.bool has no such formats")
    alike(function, values)


@pytest.mark.parametrize("function", [in_forms, of_representations, with_little_room, of_several])
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_of_floats(function, kind):
    alike(function, [kind(x) for x in FLOATS])


@pytest.mark.parametrize("value", [12, np.int64(-5)])
def test_other_numbers_of_places(value):
    alike(wide, [value] * 3, [3, 12, 0])


def test_in_a_loop():
    alike(in_a_loop, [3, -17, 1000])

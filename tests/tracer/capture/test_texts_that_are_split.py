"""Texts made of values: what they are split into, what they say, and how NumPy's options for them hold."""

import contextlib
import io
import random

import numpy as np
import pytest
from phlox import TracerError, jit


def parts(x):
    text = f"{x[0]:.3f},{x[1]:.2f},abc"
    return text.split(",")[0], len(text.split(",")), float(text.split(",")[1]), text.split(","), text.split(",")[1:]


def names(x):
    text = "%.2f|%.3f" % (x[0], x[1])  # noqa: UP031
    a, b = text.split("|")
    head, _, tail = text.partition("|")
    return a, b, head, tail, "+".join(text.split(".")), text.rsplit(".", 1)[-1]


def too_few_names(x):
    a, b = f"{x[0]}".split(";")
    return a, b


def lines(x):
    text = "\n".join(f"{v:8.3f}" for v in x)
    print(text.splitlines()[-1], len(text.splitlines()))
    print(text.splitlines())
    return text.splitlines().count("abc"), text.strip().split()[0], "0" in text


def numbers(x):
    words = str(x).strip("[]").split()
    return words[0], len(words), int(f"{x[0]:.0f}"), int("1" + f"{abs(x[0]):.0f}", 16), f"{x[0]:.2f}".split(".")[0].lstrip("-")


def in_a_loop(x):
    for i in range(40):
        if f"{x[0] + i:.1f}".split(".")[1] == "5":
            return i
    return -1


def in_a_handler(x):
    try:
        a, b = f"{x[0]}".split(",")
    except ValueError as error:
        return str(error).split(" ")[0]
    return a, b


def with_options(x):
    with np.printoptions(precision=2, suppress=True):
        print(x / 3)
        texts = str(x / 3), f"{x / 7}", np.array2string(x / 3, precision=1)
    print(x / 3)
    return texts, repr(x / 3)


def called(function, x):
    """What it returns, or raises, and prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            found = function(x)
        except Exception as error:
            found = type(error), str(error)
    return repr(found), printed.getvalue()


@pytest.mark.parametrize("function", [parts, names, too_few_names, lines, numbers, in_a_loop, in_a_handler, with_options])
def test_texts(function):
    jitted = jit(function)
    for x in (np.array([1.25, 2.5, 3.0]), np.array([-7.5, 12.25, 0.0])):
        for precision in (8, 4):
            with np.printoptions(precision=precision):
                assert called(jitted, x) == called(function, x)


def over_parts(x):
    text = f"{x[0]},{x[1]}"
    found = [float(one) + 1 for one in text.split(",")]
    for line in "\n".join(str(int(v)) for v in x).splitlines():
        found.append(len(line))
    counts = {}
    for word in f"{int(x[0])} a  {int(x[1])} {x[2]:.0f}\n".split():
        counts[word] = counts.get(word, 0) + 1
    return found, counts


def test_loops_over_parts():
    jitted = jit(over_parts)
    for x in ([1.25, -20.5, 3.0], [1.0, 1.0, 1.0], [-7.5, 1e10, 12.0]):
        assert jitted(np.array(x)) == over_parts(np.array(x))


def test_parts_that_are_not_looked_for_are_an_error():
    with pytest.raises(TracerError, match="known when the program runs"):
        jit(lambda x: [float(one) for one in f"{x[0]},{x[1]}".rsplit(",")])(np.ones(2))


def matched(text, number):
    match f"{number} {text}".split():
        case [a, "b"]:
            return a
        case [a, "c", *rest]:
            return rest
    match text.split(","):
        case [a]:
            return "one", a
        case [_, _]:
            return "two"
    return "no"


def split(text):
    return (
        text.split(None),
        text.split("ab"),
        text.splitlines(),
        text.split(text[:1] or "a"),
        [word.strip("b").split("a") for word in text.split(" ")],
    )


def test_parts_of_arguments():
    """The third text is the first that is an input."""
    jitted = jit(matched)
    for text in ("b", "c x y", "d", "b", "c", "e,", "e,f", ",,", "c x"):
        for number in (1, 23):
            assert jitted(text, number) == matched(text, number)
    generator, jitted = random.Random(2), jit(split)
    for _ in range(30):
        text = "".join(generator.choices("aab \n\r\t\x1c\x85\u2003\u2028\u00a0", k=generator.randrange(12)))
        assert jitted(text) == split(text)
    assert jitted.cache_info().misses == 3

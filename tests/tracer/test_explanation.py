"""`JittedFunction.explain`: what a user is told of a compiled function."""

from decimal import Decimal

import numpy as np
import pytest
from phlox.tracer import jit

WEIGHTS = np.array([1.0, 2.0, 3.0])
SETTINGS = {"rate": 0.5}
LOG = []


def doubled(x):
    return 2 * x


def lines_of(function, title):
    """The lines of the only form's section."""
    ((_, sections),) = function.explain().forms
    return dict(sections).get(title, [])


def test_loops_and_branches():
    @jit
    def f(x, count):
        total = 0.0
        for _ in range(count):
            total += x.sum()
        for k in range(3):
            total += k
        for name in ("a", "b"):
            total += len(name)
        while count > 10**9:
            total = np.sort(x * np.sin(total)).sum()
            if total > 3:
                total = np.sort(x / total).sum()
        return total

    f(WEIGHTS, 4)
    loops = lines_of(f, "loops")
    assert [line.split("`: ")[1] for line in loops] == [
        "a loop of the program, the program decides how many rounds",
        "3 rounds, unrolled as they are short",
        "unrolled, over the elements of a tuple",
        "a loop of the program, the program decides how many rounds",
    ]
    assert "test_explanation.py:" in loops[0] and "`for _ in range(count):`" in loops[0]
    (branch,) = lines_of(f, "branches")
    assert "`if total > 3:`" in branch and branch.endswith("one of the sides runs")


def test_a_loop_that_cannot_be_captured_says_why():
    @jit
    def f(x):
        parts = {}
        for k in range(400):
            parts[Decimal(k)] = x[k % 3]
        return sum(parts.values())

    f(WEIGHTS)
    (line,) = lines_of(f, "loops")
    assert "400 rounds, unrolled as a loop of the program fails: " in line


def test_the_outside():
    @jit
    def f(x):
        LOG.append(x[0])
        print(x[1])
        return doubled(x) * WEIGHTS * SETTINGS["rate"]

    f(WEIGHTS)
    outside = lines_of(f, "outside")
    assert "global WEIGHTS: f64[3], read at each call" in outside
    assert "global SETTINGS['rate']: compiled for 0.5" in outside
    assert "global doubled: compiled with this function" in outside
    assert lines_of(f, "sets") == ["global LOG: appended to behind each call"]
    (line,) = lines_of(f, "Python")
    assert line.endswith("`print(x[1])`: Python is called here")
    LOG.clear()


def test_exceptions_and_memory():
    @jit
    def f(x, limit):
        before = x.copy()
        x[0] = 5.0
        if x.sum() > limit:
            raise OverflowError("too much")
        return before

    f(np.ones(1023), 1e6)
    (line,) = lines_of(f, "raises")
    assert line.endswith('`raise OverflowError("too much")`: OverflowError')
    assert lines_of(f, "memory") == ["arguments 8 KiB, results 15.99 KiB, temporaries 0 bytes"]


def test_forms_and_reasons():
    @jit
    def f(x):
        return x + 1

    assert str(f.explain()) == "f is not compiled yet: call it"
    f(np.ones(3))
    f(np.ones(4))
    text = str(f.explain())
    assert text.startswith("f is compiled for 2 forms of call\n\n1. (x: f64[3])\n   why         first call\n")
    assert "2. (x: f64[4])\n   why         argument x: shape (3,) -> (4,)\n" in text
    assert text.count("calls       run native code at once") == 2


def test_a_function_without_source():
    namespace = {}
    exec("def f(x):\n    return x + 1", namespace)
    f = jit(namespace["f"])
    f(1.0)
    assert "Its control flow is left to tracing: its source, <string>, cannot be read" in str(f.explain())


@pytest.mark.parametrize("function", [lambda x: x, lambda x: "<b>" if x[0] > 1 else np.sort(x)])
def test_html_is_well_formed(function):
    from xml.etree import ElementTree

    f = jit(function)
    f(WEIGHTS)
    card = f.explain()._repr_html_()
    ElementTree.fromstring(f"<div>{card.replace(' open>', '>')}</div>")
    assert "<svg" in card


def test_loops_that_become_operations_on_arrays():
    def function(x):
        out, total = np.zeros_like(x), 0.0
        for i in range(len(x)):
            out[i] = 2 * x[i]
        for i in range(len(x)):
            total += x[i]
        return out, total

    jitted = jit(function)
    jitted(np.ones(90))
    first, second = [line for line in str(jitted.explain()).splitlines() if "a loop of the program" in line]
    assert first.endswith("90 rounds; the compiler needs no loop for them") and second.endswith("90 rounds")

"""Names that expressions bind, by ``:=``, on some ways only, or in comprehensions."""

import numpy as np
import pytest

from .test_keys import check

CALLS = [(np.array(values),) for values in ([0.3, 0.95, 0.6, 0.1, 0.8, 0.5], [0.1] * 6, [0.99, 0.9, 0.7, 0.9, 0.2, 0.95])]
PROGRAMS = []


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


@program
def behind_or(x):
    total = 0.0
    for v in x:
        if v > 0.9 or (y := v * 2) > 1.0:
            total += v
        else:
            total -= y
    return total


@program
def behind_elif(x):
    total = x[0]
    for v in x:
        if v < 0.2:
            total += 1
        elif v > 0.9 or (d := v - 0.5) > 0.2:
            total += 2
        elif (e := v * 2) < 0.5 or total > 5:
            total -= e + d
    return total


@program
def in_a_condition_of_a_loop(x):
    i = 0
    while i < 5 and ((v := x[i]) < 0.9 or (w := x[i + 1]) < 0.5 < w + 1):
        i += 1
    return i, v


@program
def on_both_sides(x):
    total, out = 0.0, np.zeros(6)
    for k, v in enumerate(x):
        total += (w := v * 2) if v > 0.5 else (w := v * 3)
        out[k] = (t := w - 1) if w > 1 and (u := w * w) < 3 > u else (t := 0.5)
    return total, w, t, out, z if x[1] > 0.5 and (z := x[0]) < 2 else (z := 2.0)


@program
def on_one_side(x):
    if x[0] > 0.5 or (y := x[1]) > 0.9:
        return x[2]
    return y


@program
def unbound_on_one_side(x):
    if x[0] > 0.5 or (y := x[1]) > 2:
        pass
    return y


@program
def within_a_chain(x):
    best = 0.0 * x[0]
    for i in range(5):
        if best < (total := x[i] + x[i + 1]) <= 1.2 < total + 1:
            best = total
    return best, total


@program
def behind_what_might_see_it(x):
    """What stands before it in the statement is evaluated before it."""
    w = 1.0

    def f(a, b):
        return a - 2 * b

    return f(w, (w := x[0]) if len(x) > 2 else 0.0), w


@program
def in_comprehensions(x):
    v, total = 7, 0.0
    found = [(y, z, k) for k, v in enumerate(x) if (y := v * 2) > 0.4 and (z := y - 1) < 0.9]
    return found, v, [y for a in x for b in x if (y := a - b) > 0.5], [total := total + a for a in x], total


@program
def up_to_the_one_that_decides(x):
    if any((w := v) > 0.9 for v in x):
        total = w
    else:
        total = -w
    fine = all((w := a - b) < 0.7 for a in x for b in x if a > 0.2)
    return total, fine, w


@pytest.mark.parametrize("function", PROGRAMS)
def test_names_in_expressions(function):
    check(function, CALLS)

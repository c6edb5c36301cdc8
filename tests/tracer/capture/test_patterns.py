"""Patterns of ``match`` statements: what Python's own `match` would not find in a traced value."""

import numpy as np
import pytest
from phlox import jit


def rest_of_a_mapping(x, command):
    match command:
        case {"scale": int(k), **rest}:
            return x * k + len(rest), sorted(rest)
        case {"shift": float(s) | int(s), **rest} if all(v < 9 for v in rest.values()):
            return x + s, rest
        case {**everything}:
            return everything


def alternatives_within_patterns(x, command):
    match (x[0], command):
        case (float(v), {"a": q} | {"b": q} | [q]):
            return v, q
        case (_, [1 | 2 as a, b, *c] | (a, (b, *c))):
            return a, b, c, x[1]


def guard_with_a_comprehension(x, command):
    match x.tolist():
        case [first, *others] if any(o > first for o in others):
            return first
        case [first, *others] if (lambda limit: first > limit)(1.5):
            return others
        case found:
            return found


COMMANDS = {
    rest_of_a_mapping: [
        {"scale": 2, "z": 1, "y": 2.5},
        {"scale": 3},
        {"scale": 2.5},
        {"shift": 4, "b": 3},
        {"shift": 0.5},
        {"shift": 1, "b": 30},
        {},
    ],
    alternatives_within_patterns: [{"a": 2.0}, {"b": 3}, [4], [1, 2, 3], [5, 6.0, 7], [5, [6.0, 7]]],
    guard_with_a_comprehension: [0],
}


@pytest.mark.parametrize(("function", "command"), [(one, command) for one in COMMANDS for command in COMMANDS[one]])
def test_patterns_find_what_they_find_in_python(function, command):
    jitted = jit(function)
    for x in (np.array([1.0, 2.0]), np.array([7.0, 2.0]), np.array([1.25, 0.5])):
        assert repr(jitted(x, command)) == repr(function(x, command))


def guard_of_alternatives(x):
    match (x[0], x[1]):
        case (1.0, a) | (a, 2.0) if a > 1:
            return a
        case (7.0, a):
            return -a


def test_a_guard_is_asked_for_the_first_alternative_that_matches():
    jitted = jit(guard_of_alternatives)
    for x in ([1.0, 2.0], [1.0, 0.5], [7.0, 2.0], [7.0, 3.0], [0.5, 2.0], [2.0, 2.0]):
        assert repr(jitted(np.array(x))) == repr(guard_of_alternatives(np.array(x)))


def bound_anew_in_a_guard(x):
    match x[0]:
        case v if [v for v in (1, 2)]:
            return v


def test_what_is_left_to_python_sees_no_traced_values():
    with pytest.raises(NotImplementedError, match="a match statement on traced values"):
        jit(bound_anew_in_a_guard)(np.array([0.0, 2.0]))


def test_without_traced_values_python_matches():
    @jit
    def named(x, kind):
        match kind:
            case "up" as way if [way for way in "ab"]:
                assert way == "up"
                return x + 1
            case _:
                return x

    assert (named(1.0, "up"), named(1.0, "flat")) == (2.0, 1.0)

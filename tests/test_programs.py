"""Programs as people write them do the same with the decorator: `programs` has them, and how they are compared.

The ordinary run takes every twentieth of them, ``pytest -m ci`` the others.
"""

import numpy as np
import phlox
import pytest
from programs.comparison import LOUD, call, compare, differences, kind, outcome_differences, reason
from programs.not_yet import NOT_YET
from programs.registry import PROGRAMS, Program
from thinning import one_in

EVERY_PROGRAM = one_in(20, PROGRAMS)


@pytest.mark.parametrize("name", EVERY_PROGRAM)
def test_the_decorator_changes_nothing(name):
    verdict = compare(PROGRAMS[name]).verdict
    if name not in NOT_YET:
        assert not verdict, "\n".join(verdict)
        return
    assert verdict, f"{name} runs now: take it off the list in programs/not_yet.py"
    # What ends in an error today must not silently become something else.
    assert kind(NOT_YET[name]) not in LOUD or kind(reason(verdict)) in LOUD, "\n".join(verdict)
    pytest.xfail(NOT_YET[name])


@pytest.mark.parametrize("name", [name for name, one in PROGRAMS.items() if one.check])
@pytest.mark.parametrize("seed", [1, 2])
def test_undecorated_programs_are_right(name, seed):
    program = PROGRAMS[name]
    if program.reset:
        program.reset()
    outcome = call(program.function, program.arguments_of(seed))
    assert outcome.exception is None, outcome.exception
    result = outcome.arguments if outcome.result is None else outcome.result
    assert program.check(result, *program.arguments_of(seed))


def test_the_list_names_programs():
    assert set(NOT_YET) <= set(PROGRAMS)


def last_place_changed(value):
    """An array whose numbers, but those of few digits, are one unit in the last place away; others are left alone."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc" and value.flags.writeable:
        many_digits = np.isfinite(value) & (value * 1024 != np.round(value * 1024))
        value[many_digits] *= 1 + np.finfo(value.dtype).eps
    return value


@pytest.mark.parametrize("name", EVERY_PROGRAM)
def test_rounding_does_not_decide_what_a_program_does(name):
    """Or else a difference says nothing."""

    def decorate(function):
        return lambda *arguments: function(*map(last_place_changed, arguments))

    verdict = compare(PROGRAMS[name], decorate).verdict
    assert not verdict, "\n".join(verdict)


class State:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    ("expected", "found", "kinds"),
    [
        (np.float64(1), np.float64(1 + 1e-12), []),
        (np.float64(1), np.float64(1 + 1e-6), ["value"]),
        (np.array([1e10, 1.0]), np.array([1e10, 1.1]), []),
        (np.float32(1), np.float32(1.00001), []),
        (np.array([1, 2]), np.array([1, 3]), ["value"]),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), []),
        (np.array([np.nan, np.inf]), np.array([1.0, -np.inf]), ["value"]),
        (1.0, np.float64(1), ["type"]),
        (np.float64(1), np.array(1.0), ["type"]),
        (np.zeros(2), np.zeros(2, np.float32), ["dtype"]),
        (np.zeros(2), np.zeros((2, 1)), ["shape"]),
        (np.zeros(2), [0.0, 0.0], ["type"]),
        (True, np.True_, ["type"]),
        ((1, [2, {"a": None}]), (1, [2, {"a": None}]), []),
        ((1, [2, {"a": None}]), (1, [2, {"a": 3}]), ["type"]),
        ([1, 2], [1], ["shape"]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ["value"]),
        (None, 1, ["type"]),
        ("a", "b", ["value"]),
        (State(1), State(1), []),
        (State(1), State(2), ["value"]),
        (np.random.default_rng(1), np.random.default_rng(2), ["value"]),
    ],
)
def test_differences_are_found(expected, found, kinds):
    assert [kind(line) for line in differences(expected, found)] == kinds


def first_only(function):
    """A decorator as bad as can be: every call does what the first one did."""
    kept = []

    def decorated(*arguments):
        kept.append(kept[0] if kept else function(*arguments))
        return kept[0]

    return decorated


def scaled(x):
    x[0] = 0
    print(f"{x.sum():.3f}")
    return x * 2


def refused(x):
    raise ValueError(f"not {x[0]:.3f}")


NOTES = {}


class TracedArray:
    """Has the name of those that must not be left behind, and cannot be copied, as they cannot."""

    def __deepcopy__(self, memo):
        raise phlox.TracerError("left behind")


def noted(x):
    NOTES["sums"] = [*NOTES.get("sums", []), x.sum()]


def leaves_traced(function):
    def decorated(*arguments):
        function(*arguments)
        NOTES["sums"][-1] = TracedArray()

    return decorated


def raises(error):
    def decorated(*arguments):
        raise error

    return lambda function: decorated


@pytest.mark.parametrize(
    ("function", "decorate", "kinds"),
    [
        (scaled, lambda function: function, set()),
        (scaled, first_only, {"value", "argument", "printed"}),
        (scaled, raises(TypeError("no")), {"error"}),
        (refused, raises(ValueError("not ")), {"exception"}),
        (refused, lambda function: np.sum, {"exception"}),
        (noted, lambda function: function, set()),
        (noted, first_only, {"outside"}),
        (noted, leaves_traced, {"leak"}),
    ],
)
def test_what_a_decorator_changes_is_found(function, decorate, kinds):
    program = Program(function, lambda rng: (rng.normal(size=3),), reset=NOTES.clear, outside=lambda: NOTES)
    assert {kind(line) for line in compare(program, decorate).verdict} == kinds


def test_a_call_that_takes_too_long_is_ended():
    def endless():
        while True:
            pass

    found = call(endless, (), limit=0.05)
    assert [kind(line) for line in outcome_differences(call(int, ()), found)] == ["time"]

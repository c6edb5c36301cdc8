"""Members of enumerations that are numbers, too: constants that the program chooses from, and numbers in arithmetic."""

from enum import IntEnum, IntFlag, auto

import numpy as np
import pytest
from phlox import jit

VALUES = [np.array([0.0, 1.0, 2.0]), np.array([3.0, -1.0, 2.0]), np.array([0.0, 0.5, 1.0])]


class State(IntEnum):
    CALM = auto()
    BUSY = auto()
    DONE = 7


class Flags(IntFlag):
    READ = 1
    WRITE = 2


def names_of_states(x):
    state, found = State.CALM, []
    for value in x:
        if value > 1:
            state = State.BUSY
        elif value < 0:
            state = State.DONE
        found.append(state.name)
    return found, state, state == State.BUSY, state + 1, state.value


def counted(x):
    state, count = State.CALM, 0
    for value in x:
        state = State.BUSY if value > 1 else State.CALM
        if state == State.BUSY:
            count += state
        if state is State.CALM:
            count += 10
    return count, state


def as_a_position(x):
    found, state = np.zeros(9), State.CALM
    for value in x:
        found[state] += value
        state = State.BUSY if value > 1 else State.DONE
    return found


def as_a_key(x):
    found = {State.CALM: 0, State.BUSY: 0}
    for value in x:
        found[State.CALM if value > 1 else State.BUSY] += 1
    return found


def flags(x):
    found = Flags.READ
    if x[0] > 1:
        found = found | Flags.WRITE
    return found


def in_arithmetic(x):
    count = 0
    for _ in range(len(x) + 100):
        count = State.BUSY + count * State.CALM
    return count, int(x[0]) - State.DONE, x * State.BUSY


@pytest.mark.parametrize("function", [names_of_states, counted, as_a_position, as_a_key, flags, in_arithmetic])
def test_as_undecorated(function):
    decorated = jit(function)
    for x in VALUES:
        assert repr(decorated(x)) == repr(function(x))

"""Members of enumerations that are numbers, too: constants that the program chooses from, and numbers in arithmetic."""

from enum import Enum, IntEnum, IntFlag, auto

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


class Phase(Enum):
    SOLID = 0
    LIQUID = 1
    FLUID = 1
    GAS = 2.5
    OTHER = "other"

    def hotter(self):
        return Phase((0, 1, 2.5, 0)[int(self.value) + 1])


def members_by_values(x):
    return [Phase(int(value > 0.75)) for value in x], Phase(x[2] * 0 + 2.5).name, State(int(x[0]) * 0 + 7)


def that_may_be_none(x):
    found, refused = [], 0
    for value in x:
        try:
            found.append(Phase(int(value)))
        except ValueError:
            refused += 1
    return found, refused


def steps(x):
    phase, log = Phase.SOLID, []
    for value in x:
        if value > 0:
            phase = phase.hotter()
        if phase is Phase.LIQUID:
            log.append(value)
    return phase, log, {Phase.SOLID: 0.5, Phase.LIQUID: 1.5, Phase.GAS: 2.5}[phase]


def counted_by_values(x):
    counts, held = {member: 0 for member in Phase}, [0] * 9
    for value in x:
        counts[Phase(int(value > 0.75))] += 1
        held[State(1 + int(value > 0.75))] += 1
    return counts, held


@pytest.mark.parametrize("function", [members_by_values, that_may_be_none, steps, counted_by_values])
def test_members_by_values(function):
    test_as_undecorated(function)


def refused(x):
    return Phase(int(x[0]) + 9)


def test_a_value_that_no_member_has():
    with pytest.raises(ValueError, match="9 is not a valid Phase"):
        jit(refused)(VALUES[0])


@pytest.mark.parametrize("function", [names_of_states, counted, as_a_position, as_a_key, flags, in_arithmetic])
def test_as_undecorated(function):
    decorated = jit(function)
    for x in VALUES:
        assert repr(decorated(x)) == repr(function(x))

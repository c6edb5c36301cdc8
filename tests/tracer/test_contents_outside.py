"""Lists, deques, dicts and sets outside, as a native call gives them new contents: they stay the objects that they are."""

from collections import Counter, defaultdict, deque

import numpy as np
import pytest
from phlox import jit

from ..support.native_calls import calls_noted

HELD = {}
ARRAYS = [np.arange(3.0), np.ones(2)]


def set_item(k, x):
    HELD["list"][k % 3] = x
    return HELD["list"][0]


def turn(k, x):
    HELD["deque"].append(HELD["deque"].popleft())
    HELD["deque"][0] = x
    return len(HELD["deque"])


def limited(k, x):
    HELD["limited"].append((k, x))
    return HELD["limited"][0]


def reverse(k, x):
    HELD["list"].reverse()
    HELD["arrays"].reverse()
    return x


def by_key(k, x):
    HELD["dict"][k] = x
    return len(HELD["dict"])


def count(k, x):
    HELD["counter"][k] += 1
    HELD["default"][k] += x
    return HELD["counter"][k]


def in_set(k, x):
    HELD["set"].add(k)
    return k in HELD["set"]


def cleared(k, x):
    HELD["dict"].clear()
    HELD["deque"].clear()
    HELD["deque"].extend([x, x + 1])
    return x


def fresh():
    HELD.update(
        list=[1.0, 2.0, 3.0],
        deque=deque([1.0, 2.0, 3.0]),
        limited=deque([(0, 0.5)] * 4, maxlen=4),
        arrays=list(ARRAYS),
        dict={1: 0.5},
        counter=Counter(),
        default=defaultdict(float),
        set={1, 2},
    )
    return dict(HELD)


CALLS = [(1, 2.5), (3, -1.0), (1, 0.25), (4, 4.0), (4, 5.0), (5, 6.0)]


@pytest.mark.parametrize("function", [set_item, turn, limited, reverse, by_key, count, in_set, cleared])
def test_contents_become_others(function):
    decorated, outcomes = jit(function), []
    for one in (function, decorated):
        held = fresh()
        found = [(one(*arguments), repr(HELD)) for arguments in CALLS]
        assert all(HELD[name] is container for name, container in held.items())
        assert [type(element) for element in HELD["arrays"]] == [np.ndarray, np.ndarray]
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("function", [set_item, turn, limited])
def test_no_python_is_called(function):
    fresh()
    decorated = jit(function)
    for arguments in CALLS * 2:
        decorated(*arguments)
    with calls_noted() as called:
        decorated(1, 3.5)
        called = called[:]
    assert called == []


def test_explanations_tell_of_entries():
    def counts(values):
        for value in values.tolist():
            HELD["dict"][value] = HELD["dict"].get(value, 0.0) + 1.0

    fresh()
    decorated = jit(counts)
    for k in range(5):
        decorated(np.arange(k, k + 3))
    assert "given other entries behind each call" in str(decorated.explain())

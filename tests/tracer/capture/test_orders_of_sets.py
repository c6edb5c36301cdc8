"""Sets that the program fills are gone over in Python's order, where they were filled one element after the other."""

import numpy as np
import pytest
from phlox import TracerError, jit
from thinning import left_to_ci, one_in

KINDS = [(0, 9, 8), (-50, 50, 12), (-(2**56), 2**56, 12), (0, 10**6, 300)]


def values(low, high, count):
    return np.random.default_rng(count).integers(low, high, count)


def one_by_one(x):
    s = set()
    for v in x:
        s.add(int(v) * 37)
    return list(s), tuple(s), [v + 1 for v in s], s


def of_a_list(x):
    found = []
    for label in set(x.tolist()):
        found.append(label * 2)
    return found


def of_elements(x):
    return [v - 1 for v in {v for v in x}], list(set(x))


def of_pairs(x):
    return [i - j for i, j in {(int(v), int(v) // 2) for v in x}], list({(float(v), (v > 3, int(v))) for v in x})


def of_floats(x):
    return list({v / 7 for v in x}), list(set((x * 0.25).tolist())), list({float(v) for v in x})


def begun_with_one(x):
    s = {0}
    for v in x:
        if v > 2:
            s.add(int(v))
    return sum(place * v for place, v in enumerate(s)), next(iter(s))


def as_keys(x):
    return {label: float(np.mean(x == label)) for label in set(x.tolist())}


def as_text(x):
    s = {int(v) for v in x}
    return str(s), f"{s}", " ".join(map(str, s))


def changed_meanwhile(x):
    s = set(x.tolist())
    for v in s:
        s.add(v + 10**7)
    return s


FUNCTIONS = [of_a_list, one_by_one, of_elements, of_pairs, of_floats, begun_with_one, as_keys, as_text]


@pytest.mark.parametrize("function", one_in(8, FUNCTIONS, ci_step=2))
def test_order_is_that_of_python(function):
    jitted = jit(function)
    for kind in KINDS:
        x = values(*kind)
        assert repr(jitted(x)) == repr(function(x))


@left_to_ci
def test_large_tables_grow_twofold():
    x = np.random.default_rng(0).permutation(60_000)
    assert jit(lambda x: list({v for v in x}))(x) == list({v for v in x})


def test_sets_that_change_size_meanwhile():
    with pytest.raises(RuntimeError, match="changed size"):
        jit(changed_meanwhile)(values(0, 9, 8))


def popped(x):
    s, found = {int(v) for v in x}, []
    while s:
        found.append(s.pop())
    return found


def discarded(x):
    s = set(x.tolist())
    s.discard(3)
    return list(s)


def copied(x):
    return list(set(x.tolist()).copy())


def joined(x):
    return list({int(v) % 17 * 1000 for v in x} | {int(v) for v in x})


def begun_with_several(x):
    s = {1, 2, 3}
    for v in x:
        s.add(int(v))
    return list(s)


def begun_with_a_gap(x):
    s = {5, 6}
    s.discard(6)
    for v in x:
        s.add(int(v))
    return list(s)


def of_one_side(x):
    s = {1, 9} if x[0] > 2 else set()
    for v in x:
        s.add(int(v))
    return list(s)


def text_of_the_rest(x):
    s = set(x.tolist())
    s.discard(3)
    return str(s)


@pytest.mark.parametrize(
    "function", [discarded, copied, joined, popped, begun_with_several, begun_with_a_gap, of_one_side, text_of_the_rest]
)
def test_order_that_depends_on_more_is_refused(function):
    with pytest.raises(TracerError, match="order"):
        jit(function)(values(0, 9, 8))

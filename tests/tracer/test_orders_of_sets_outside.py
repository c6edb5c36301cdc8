"""Sets from outside are gone over in their own order, whatever they have held before; what is not known is an error."""

from collections import OrderedDict, defaultdict, deque

import pytest
from phlox import TracerError, jit


def just_made():
    return {3, 8, 0, 16}


def emptied():
    made = set(range(1000))
    made.difference_update(range(1000))
    made.update([70000, 5, 33, 12345, 8, 1])
    return made


def grown():
    made = set()
    for value in [8, 16, 0, 24, 32, 40, 1]:
        made.add(value)
    return made


def with_gap():
    made = {0, 8, 16, 1}
    made.discard(0)
    return made


def popped():
    made = {1, 2, 3}
    made.pop()
    made.add(1)
    return made


KINDS = [just_made, emptied, grown, with_gap, popped]


def gone_over(s, x):
    return [v * x for v in s], list(s), tuple(s), str(s), sum([v / 10 for v in s]), dict.fromkeys(s)


def taken_apart(s, x):
    first, *others = s
    return first, others, [*s], next(iter(s)), type(s), isinstance(s, set)


def without_one(s, x):
    s.discard(8)
    return list(s), 8 in s


def without_one_of_the_program(s, x):
    s.discard(x)
    return [v for v in s]


def without_one_on_a_side(s, x):
    if x > 1:
        s.discard(8)
    return list(s)


def with_another_in_no_order(s, x):
    s.add(7)
    return 7 in s, x in s, len(s), sorted(s), max(s)


def returned(s, x):
    return s


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "function",
    [
        gone_over, taken_apart, without_one, without_one_of_the_program, without_one_on_a_side, with_another_in_no_order,
        returned,
    ],
)  # fmt: skip
def test_a_set_is_gone_over_in_its_own_order(function, kind):
    compiled = jit(function)
    for x in (2, 2, 2, 1, 8):
        expected, found = kind(), kind()
        assert repr(compiled(found, x)) == repr(function(expected, x))
        assert list(found) == list(expected)


def with_another(s, x):
    s.add(24)
    return list(s)


def taken_one_by_one(s, x):
    total = 0
    while s:
        total = total * 3 + s.pop() * x
    return total


def taken_and_put_back(s, x):
    first = s.pop()
    s.add(first)
    return first, s.pop(), list(s)


@pytest.mark.parametrize(
    "function, known",
    [
        (with_another, {just_made, emptied}),
        (taken_one_by_one, {just_made, emptied, grown, with_gap}),
        (taken_and_put_back, {just_made, emptied}),
    ],
)
def test_what_python_does_not_tell_of_a_set_is_an_error(function, known):
    for kind in KINDS:
        compiled = jit(function)
        for x in (2, 2, 3):
            if kind in known:
                assert compiled(kind(), x) == function(kind(), x)
            else:
                with pytest.raises(TracerError, match="sorted|copy"):
                    compiled(kind(), x)


def test_a_set_with_another_table_is_told_apart():
    compiled = jit(with_another)
    roomy = set(range(100))
    for value in range(1, 100):
        roomy.discard(value)
    for kind in (lambda: {0, 8}, lambda: {0, 8}, lambda: {0, 8}, lambda: {8, 0}):
        assert compiled(kind(), 1) == with_another(kind(), 1)
    roomy.add(8)
    with pytest.raises(TracerError):
        compiled(roomy, 1)


LIST, DICT, ORDERED, DEFAULT, QUEUE = [1], {1: 2}, OrderedDict(a=1), defaultdict(int), deque([1])


def classes(x):
    held = LIST, DICT, ORDERED, DEFAULT, QUEUE
    are = [(isinstance(one, OrderedDict), isinstance(one, defaultdict), type(one) is list) for one in held]
    return x, are, [type(one) for one in held], [one.__class__ for one in held]


def test_classes_of_containers_outside():
    assert jit(classes)(1.0) == classes(1.0)


HELD = emptied()


def read_as_global(x):
    return [v * x for v in HELD]


def test_a_global_set_that_becomes_another():
    compiled = jit(read_as_global)
    HELD.clear()
    HELD.update(emptied())
    for kind in (emptied, emptied, grown, grown, popped, emptied, with_gap):
        globals()["HELD"] = kind()
        assert compiled(3) == read_as_global(3)

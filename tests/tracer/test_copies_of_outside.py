"""`copy.copy` and `copy.deepcopy` of what comes from outside: of what it is at the call, with what has been set until then."""

import copy
import threading
from collections import Counter, OrderedDict, defaultdict
from types import SimpleNamespace

import numpy as np
import phlox
import pytest
from phlox import jit


class Node:
    def __init__(self, rows):
        self.rows, self.list, self.dict, self.level = rows, [1.0], {"k": [1.0]}, 1.0
        self.itself, self.other = self, None

    def __len__(self):
        return len(self.list)


class Slotted:
    __slots__ = ("rows", "unset")

    def __init__(self, rows):
        self.rows = rows


class Own:
    def __init__(self, rows):
        self.rows, self.copies = rows, 0

    def __copy__(self):
        made = Own(self.rows * 2)
        made.copies = self.copies + 1
        return made

    def __deepcopy__(self, memo):
        return Own(copy.deepcopy(self.rows, memo) * 3)


class Locked:
    def __init__(self, rows):
        self.rows, self.lock = rows, threading.Lock()

    def __getstate__(self):
        return {"rows": self.rows}


def deep_of_an_object(x, v):
    x.node.rows = x.node.rows * v
    x.node.list.append(v)
    made = copy.deepcopy(x.node)
    made.rows += v
    made.dict["k"][0] += v
    return made.rows, made.list, made.dict, made.itself is made, len(made)


def shallow_of_an_object(x, v):
    x.node.level = v
    made = copy.copy(x.node)
    made.list.append(v)
    made.rows += v
    made.level += 1
    made.more = v
    return made.list is x.node.list, made.level, made.more, made.itself is x.node


def arrays_that_change(x, v):
    return copy.copy(x.node).rows * v, copy.deepcopy(x.node).rows.sum(), copy.deepcopy(x.plain).rows


def within_containers(x, v):
    made = copy.deepcopy([x.node, x.node, {"n": (x.node, v)}])
    made[0].level = v
    return made[0] is made[1], made[2]["n"][0].level, x.node.level


def on_one_side(x, v):
    made = copy.deepcopy(x.node)
    if v > 0:
        made.level = v
        x.node.level = copy.copy(made).level + 1
    return made.level


def kinds_of_dicts(x, v):
    by_default, ordered, counts = copy.deepcopy(x.by_default), copy.copy(x.ordered), x.counts.copy()
    by_default[1].append(v)
    by_default[7].append(v)
    ordered["z"] = v
    counts["a"] += 1
    return by_default, ordered, counts, x.by_default.copy(), x.ordered | {"y": v}


def lists_in_lists(x, v):
    made, shallow = copy.deepcopy(x.nested), copy.copy(x.nested)
    made[1][0] += v
    shallow[1].append(v)
    return made, shallow


def of_a_dict_of_attributes(x, v):
    made = copy.deepcopy(x.node.dict)
    held = dict(copy.copy(x.plain.__dict__))
    made["k"].append(v)
    held["rows"] = held["rows"] + v
    return made, held["rows"]


def with_slots(x, v):
    made = copy.copy(x.slotted)
    made.rows = made.rows + v
    return made.rows, hasattr(made, "unset")


def with_methods_of_their_own(x, v):
    x.own.rows = x.own.rows + v
    return copy.copy(x.own).rows, copy.copy(x.own).copies, copy.deepcopy(x.own).rows


def of_one_that_is_made(x, v):
    made = Node(np.ones(2) * v)
    made.other = x.node
    deep, shallow = copy.deepcopy(made), copy.copy(made)
    deep.rows += 1
    deep.other.level = v
    return made.rows, deep.rows, shallow.other is x.node, x.node.level, deep.other.itself is deep.other


def what_is_outside():
    x = SimpleNamespace(node=Node(np.ones(2)), plain=SimpleNamespace(rows=np.arange(3.0)), slotted=Slotted(np.ones(2)))
    x.own, x.nested = Own(np.ones(2)), [1.0, [2.0]]
    x.by_default, x.ordered, x.counts = defaultdict(list, {1: [2.0]}), OrderedDict(a=1.0), Counter("aab")
    return x


FUNCTIONS = [
    deep_of_an_object, shallow_of_an_object, arrays_that_change, within_containers, on_one_side, kinds_of_dicts, lists_in_lists,
    of_a_dict_of_attributes, with_slots, with_methods_of_their_own, of_one_that_is_made,
]  # fmt: skip


def held(x):
    node = x.node
    return repr((node.rows, node.list, node.dict, node.level, x.plain.rows, x.slotted.rows, x.own.rows, x.nested, x.by_default))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_copies_are_what_they_are_at_the_call(function):
    expected_x, x = what_is_outside(), what_is_outside()
    jitted = jit(lambda v: function(x, v))
    for number, v in enumerate((2.0, -3.0, 0.5, 0.5)):
        for one in (expected_x, x):
            one.node.rows, one.plain.rows, one.slotted.rows = np.ones(2) * number, np.ones(3) * number, np.ones(2) * number
        assert repr(jitted(v)) == repr(function(expected_x, v))
        assert held(x) == held(expected_x)


def test_what_a_class_copies_by_itself_must_not_have_been_changed():
    locked = Locked(np.ones(2))

    @jit
    def copied(v):
        return copy.copy(locked).rows * v

    @jit
    def copied_behind_a_change(v):
        locked.rows = v
        return copy.copy(locked).rows

    np.testing.assert_array_equal(copied(2.0), [2, 2])
    locked.rows = np.zeros(2)
    np.testing.assert_array_equal(copied(2.0), [0, 0])
    with pytest.raises(phlox.TracerError, match="locked, a Locked, is copied by the traced function, which has set attributes"):
        copied_behind_a_change(2.0)

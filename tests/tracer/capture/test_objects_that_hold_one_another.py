"""Objects that hold one another, or themselves: lists linked both ways, rings, trees whose nodes know their parents."""

import numpy as np
import pytest
from phlox import jit


class Node:
    def __init__(self, value, previous=None):
        self.value, self.previous, self.next, self.children = value, previous, None, []

    def grow(self, value):
        self.children.append(Node(value, self))
        return self.children[-1]


def a_list_linked_both_ways(values, n):
    head = Node(values[0])
    last = head
    for value in values[1:]:
        node = Node(value, last)
        last.next = node
        last = node
    if n > 1:
        last.next, head.previous = head, last
    total, node = 0.0, head
    for _ in range(7):
        if node is None:
            break
        total, node = total * 2 + node.value, node.next
    return total


def one_of_two_in_a_ring(values, n):
    first, second = Node(values[0]), Node(values[1])
    first.next, second.next = second, first
    current = first if n > 1 else second
    for value in values:
        current.value += value
        current = current.next
    return first.value, second.value


def one_that_holds_itself(values, n):
    node = Node(n)
    node.next = node
    if n > 1:
        node = Node(3)
        node.next = node
    for k in range(n):
        node.next.value += k
    return node.value


def one_that_holds_itself_behind_an_empty_list(values, n):
    node, pairs = Node(n), []
    node.next = node
    pairs = [pair for pair in pairs if pair]
    for k in range(n):
        values[k] = node.value
        node.next = node
    return values, node.next.value


def a_tree_with_parents(values, n):
    root = current = Node(0.0)
    for value in values:
        current = current.grow(value)
        if value > n:
            current = current.previous
    depth = 0
    while current.previous is not None:
        current, depth = current.previous, depth + 1
    return depth, len(root.children)


@pytest.mark.parametrize(
    "function",
    [
        a_list_linked_both_ways,
        one_of_two_in_a_ring,
        one_that_holds_itself,
        one_that_holds_itself_behind_an_empty_list,
        a_tree_with_parents,
    ],
)
def test_objects_that_hold_one_another(function):
    jitted = jit(function)
    for n in (0, 2, 3):
        found, wanted = (call(np.array([1.0, 2, 3, 4, 5]), n) for call in (jitted, function))
        assert str(found) == str(wanted)


def a_node_that_is_linked_to_itself(values, n):
    node = Node(n)
    node.next = node
    if n > 1:
        node.value += 1
    return node


def nodes_linked_both_ways(values, n):
    first = last = Node(values[0])
    for value in values[1:3]:
        last.next = Node(value, last)
        last = last.next
    return {"first": first, "both": (last, [first])}


def a_list_within_itself(values, n):
    held = [values[0] + n]
    held += [held, (1, held)]
    return held


def a_dict_within_a_list_within_it(values, n):
    held = {"n": n}
    held["list"] = [held, values[1]]
    return held


def shape_of(value, seen):
    """What a value holds, with numbers in the place of what has been there before."""
    if isinstance(value, (int, float, type(None))):
        return type(value), value
    if not isinstance(value, tuple):
        if id(value) in seen:
            return seen[id(value)]
        seen[id(value)] = len(seen)
    if isinstance(value, (list, tuple)):
        return type(value), [shape_of(one, seen) for one in value]
    parts = value if isinstance(value, dict) else vars(value)
    return type(value), {key: shape_of(one, seen) for key, one in parts.items()}


@pytest.mark.parametrize(
    "function",
    [a_node_that_is_linked_to_itself, nodes_linked_both_ways, a_list_within_itself, a_dict_within_a_list_within_it],
)
def test_results_that_hold_themselves(function):
    jitted = jit(function)
    for n in (0, 2, 3, 2):
        found, wanted = (shape_of(call(np.array([1.0, 2, 3]), n), {}) for call in (jitted, function))
        assert found == wanted

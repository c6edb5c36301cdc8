"""Objects that hold one another, as a call returns them or keeps them outside: trees, linked lists, rings, graphs."""

import dataclasses
import heapq

import numpy as np
import pytest
from phlox import jit
from thinning import LEFT_TO_CI


class Node:
    def __init__(self, value, before=None):
        self.value, self.left, self.right = value, before, None


@dataclasses.dataclass
class Branch:
    value: float
    left: "Branch | None" = None
    right: "Branch | None" = None


class Place:
    def __init__(self, number):
        self.number, self.edges, self.parent = number, [], None


class Tree:
    def __init__(self):
        self.root, self.size = None, 0

    def insert(self, value):
        self.size += 1
        if self.root is None:
            self.root = Node(value)
            return
        at = self.root
        while True:
            if value < at.value:
                if at.left is None:
                    at.left = Node(value)
                    return
                at = at.left
            else:
                if at.right is None:
                    at.right = Node(value)
                    return
                at = at.right

    @jit
    def insert_all(self, values):
        for value in values:
            self.insert(value)


def tree(x):
    made = Tree()
    for v in x:
        made.insert(v)
    return made


def branches(x):
    root = Branch(x[0])
    for v in x[1:]:
        at = root
        while at is not None:
            last, at = at, (at.left if v < at.value else at.right)
        if v < last.value:
            last.left = Branch(v)
        else:
            last.right = Branch(v)
    return root


def linked(x):
    head = None
    for v in x:
        head = Node(v, head)
    return head


def turned_round(x):
    head, before = linked(x), None
    while head is not None:
        following, head.left = head.left, before
        before, head = head, following
    return before


def linked_both_ways(x):
    head = last = None
    for v in x:
        node = Node(v, last)
        if last is None:
            head = node
        else:
            last.right = node
        last = node
    return head, last


def ring(x):
    first = at = Node(x[0])
    for v in x[1:]:
        at.left = at = Node(v)
    at.left = first
    return first


def graph(x):
    places = [Place(number) for number in range(len(x))]
    for number, v in enumerate(x):
        other = int(v * 100) % len(x)
        places[number].edges.append(places[other])
        places[other].edges.append(places[number])
        if other < number:
            places[number].parent = places[other]
    return places


def corner_of_a_graph(x):
    return graph(x)[0]


def newest_of_each_kind(x):
    found = {}
    for v in x:
        found[int(v * 100) % 3] = Node(v, found.get(int(v * 100) % 3))
    return found


def merged(x):
    """As in Huffman's coding."""
    heap = []
    for number, v in enumerate(x):
        heapq.heappush(heap, (float(v), number, Node(float(v))))
    number = len(x)
    while len(heap) > 1:
        one, other = heapq.heappop(heap), heapq.heappop(heap)
        node = Node(one[0] + other[0], one[2])
        node.right = other[2]
        heapq.heappush(heap, (node.value, number, node))
        number += 1
    return heap[0][2]


def in_themselves(x):
    held, named = [x[0]], {"of": x[-1]}
    held.append(held)
    named["self"] = held[-1], named
    return held, named


def in_tuples(x):
    one, other = Place(0), Place(1)
    one.edges.append((other, x[0]))
    other.edges.append((one, x[-1]))
    one.parent = other.parent = (one, other)
    return [other, one]


def drawn(result):
    """What a value is made of, with a number for each object in the order in which they are met."""
    numbers, pending, found = {}, [], []

    def part(value):
        if isinstance(value, (list, dict)) or hasattr(value, "__dict__"):
            if id(value) not in numbers:
                numbers[id(value)] = len(numbers)
                pending.append(value)
            return "object", numbers[id(value)]
        return tuple(map(part, value)) if isinstance(value, tuple) else (type(value), value)

    found.append(part(result))
    for value in pending:
        held = dict(enumerate(value)) if isinstance(value, list) else value if isinstance(value, dict) else vars(value)
        found.append((type(value), [(key, part(one)) for key, one in held.items()]))
    return found


PROGRAMS = [
    tree, branches, linked, turned_round, linked_both_ways, ring, graph, corner_of_a_graph, newest_of_each_kind, merged,
    in_themselves, in_tuples,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("length", [1, 7, pytest.param(80, marks=LEFT_TO_CI)])
def test_structures_are_as_undecorated(program, length):
    jitted = jit(program)
    for seed in range(2):
        x = np.random.default_rng(seed).uniform(size=length)
        assert drawn(jitted(x)) == drawn(program(x))


def test_a_tree_that_is_kept_grows():
    kept, x = Tree(), np.random.default_rng(0).uniform(size=5)
    for values in (x, x + 0.5):
        kept.insert_all(values)
    assert drawn(kept) == drawn(tree(np.concatenate([x, x + 0.5])))


def test_a_long_list():
    x = np.random.default_rng(0).uniform(size=2000)
    assert drawn(jit(turned_round)(x)) == drawn(turned_round(x))


def test_circles_of_which_the_program_decides():
    def chosen(x):
        one, other = Place(0), Place(1)
        if x[0] > 0:
            one.parent, other.parent = other, one
        return one

    jitted = jit(chosen)
    for x in (np.ones(2), -np.ones(2)):
        assert drawn(jitted(x)) == drawn(chosen(x))


def test_circles_that_are_refused():
    def both(x):
        one, other = Place(0), Place(1)
        other.parent = one
        if x[0] > 0:
            one.parent = other
        return one, other

    with pytest.raises(NotImplementedError, match="hold one another where the program decides which ones"):
        jit(both)(np.ones(2))

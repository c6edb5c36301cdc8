"""Objects whose attributes are None or objects of their class: trees and lists that grow as the values decide."""

import heapq

import numpy as np
import pytest
from phlox import jit
from thinning import left_to_ci, one_in

X = np.array([3, 1, 2, 5, 4, 0, 2])


class Member:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

    def insert(self, key):
        if key < self.key:
            if self.left is None:
                self.left = Member(key)
            else:
                self.left.insert(key)
        elif self.right is None:
            self.right = Member(key)
        else:
            self.right.insert(key)

    def height(self):
        left = self.left.height() if self.left is not None else 0
        right = self.right.height() if self.right is not None else 0
        return 1 + max(left, right)


def tree(x):
    root = Member(int(x[0]))
    for v in x[1:]:
        root.insert(int(v))
    return root


def height(x):
    return tree(x).height()


def in_order(x):
    node, found, pending = tree(x), [], []
    while pending or node is not None:
        while node is not None:
            pending.append(node)
            node = node.left
        node = pending.pop()
        found.append(node.key)
        node = node.right
    return found


class Stage:
    def __init__(self, number, before=None):
        self.number, self.before, self.after, self.visits = number, before, [], 0


def visited(x):
    root = last = Stage(0)
    for v in x:
        stage = Stage(int(v), last if v % 2 else root)
        stage.before.after.append(stage)
        last = stage
        while stage is not None:
            stage.visits += 1
            stage = stage.before
    return root.visits, [(one.number, one.visits, len(one.after)) for one in root.after]


def scored(x):
    """A key that raises for any element where nothing has been counted yet."""
    root = Stage(0)
    for v in x:
        if len(root.after) > 2:
            best = max(root.after, key=lambda one: v / one.visits)
            best.visits += 1
        else:
            root.after.append(Stage(int(v), root))
            root.after[-1].visits += 1
    return [one.visits for one in root.after]


def turned_round(x):
    """A linked list whose members are changed while other names hold them."""
    head = None
    for v in x:
        if v % 3:
            one = Member(int(v))
            one.left, head = head, one
    before, node = None, head
    while node is not None:
        node.left, before, node = before, node, node.left
    found = []
    while before:
        found.append(before.key)
        before = before.left
    return found


def on_a_heap(x):
    """Nothing is changed of the members, of which the heap decides where each one is."""
    heap = []
    for place, v in enumerate(x):
        heapq.heappush(heap, (int(v), place, Member(int(v) + 1)))
    found = []
    while heap:
        found.append(heapq.heappop(heap)[-1].key)
    return found


def put_into_dicts(node, key):
    if key < node["key"]:
        if node["left"] is None:
            node["left"] = {"key": key, "left": None, "right": None}
        else:
            put_into_dicts(node["left"], key)
    elif node["right"] is None:
        node["right"] = {"key": key, "left": None, "right": None}
    else:
        put_into_dicts(node["right"], key)


def of_dicts(x):
    """Three instructions make dicts with the same keys, which a recursion changes."""
    root = {"key": int(x[0]), "left": None, "right": None}
    for v in x[1:]:
        put_into_dicts(root, int(v))
    return root["left"]["key"], root["right"]["key"]


def of_a_class_of_its_own(x):
    """Each recording makes another class."""

    class Link:
        def __init__(self, key, following):
            self.key, self.following = key, following

    head = None
    for v in x:
        if v != 1:
            head = Link(int(v), head)
    head.following.key = 9
    found = []
    while head is not None:
        found.append(head.key)
        head = head.following
    return found


def described(node):
    return node and (type(node).__name__, node.key, described(node.left), described(node.right))


PROGRAMS = [in_order, height, visited, scored, turned_round, on_a_heap, of_dicts, of_a_class_of_its_own]


@pytest.mark.parametrize("program", one_in(3, PROGRAMS), ids=lambda program: program.__name__)
def test_trees_are_as_undecorated(program):
    decorated = jit(program)
    for values in (X, X[::-1] + 1, X):
        assert decorated(values) == program(values)
    assert decorated.cache_info().misses == 1


@pytest.mark.parametrize("values", [X, X[::-1]], ids=str)
def test_a_tree_is_returned(values):
    assert described(jit(tree)(values)) == described(tree(values))


def test_many_objects_that_hold_one_another_are_records():
    """There are twice as many ways to them with each."""
    x = np.arange(14)
    assert jit(of_a_class_of_its_own)(x) == of_a_class_of_its_own(x)


class Leaf:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right


def grown(x, depth):
    middle = x.mean()
    if depth == 0 or len(x) < 2:
        return Leaf(middle)
    return Leaf(None, grown(x[x <= middle], depth - 1), grown(x[x > middle], depth - 1))


class Regression:
    def __init__(self, x):
        self.root = grown(x, 2)

    def at(self, value):
        node = self.root
        while node.value is None:
            node = node.left if value < 1 else node.right
        return node.value


@left_to_ci
def test_rounds_that_put_trees_into_a_list_are_soon_unrolled():
    """Each recording of a round makes other nodes, which no list of the program holds."""

    def boosted(x, rounds):
        trees = []
        for _ in range(rounds):
            tree = Regression(x)
            x = x + np.array([tree.at(value) for value in x])
            trees.append(tree)
        return x

    x = np.random.default_rng(0).random(9)
    np.testing.assert_allclose(jit(boosted)(x, 2), boosted(x, 2))

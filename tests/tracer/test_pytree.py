"""Containers of arrays: taken apart, put together, and how they differ."""

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox.tracer.capture.choices import Choice
from phlox.tracer.recording import makers, pytree

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Model:
    weights: object
    name: str = dataclasses.field(default="m", metadata={"static": True})

    def __post_init__(self):
        if self.weights is None:
            raise ValueError("no weights")


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: object
    b: object


TREES = st.recursive(
    st.integers() | st.text(max_size=2) | st.none() | st.floats(allow_nan=False),
    lambda children: (
        st.lists(children, max_size=3)
        | st.tuples(children, children)
        | st.dictionaries(st.text(max_size=2) | st.integers(), children, max_size=3)
        | st.builds(Point, children, children)
        | st.builds(Frozen, children, children)
        | st.builds(OrderedDict, st.dictionaries(st.text(max_size=1), children, max_size=2))
    ),
    max_leaves=8,
)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(TREES)
def test_round_trip(tree):
    leaves, structure = pytree.flatten(tree)
    again = pytree.unflatten(structure, leaves)
    assert again == tree and type(again) is type(tree)
    assert repr(again) == repr(tree)  # the order of keys too
    assert len(pytree.leaf_paths(structure)) == len(leaves)
    assert pytree.flatten_as(structure, tree) == leaves
    assert hash(structure) == hash(pytree.flatten(again)[1])


@settings(deadline=None, derandomize=True, max_examples=100)
@given(TREES)
def test_paths_lead_to_the_leaves(tree):
    leaves, structure = pytree.flatten(tree)
    for path, leaf in zip(pytree.leaf_paths(structure, "tree"), leaves):
        assert eval(path) is leaf


def test_dict_keeps_its_order():
    first, second = pytree.flatten({"b": 1, "a": 2}), pytree.flatten({"a": 2, "b": 1})
    assert first[0] == [1, 2] and second[0] == [2, 1]
    assert first[1] != second[1]
    assert list(pytree.unflatten(*reversed(first))) == ["b", "a"]


def test_flatten_as_takes_dicts_in_any_order():
    _, structure = pytree.flatten({"b": 0, "a": (0, 0)})
    assert pytree.flatten_as(structure, {"a": (2, 3), "b": 1}) == [1, 2, 3]


def test_defaultdict():
    tree = defaultdict(list, a=1)
    leaves, structure = pytree.flatten(tree)
    again = pytree.unflatten(structure, leaves)
    assert again == tree and again.default_factory is list


def test_dataclass_with_static_field():
    leaves, structure = pytree.flatten(Model([1, 2], "net"))
    assert leaves == [1, 2]
    assert structure != pytree.flatten(Model([1, 2], "other"))[1]
    again = pytree.unflatten(structure, ["x", "y"])
    assert again == Model(["x", "y"], "net")
    assert pytree.leaf_paths(structure, "model") == ["model.weights[0]", "model.weights[1]"]


def test_dataclass_is_put_together_without_its_checks():
    _, structure = pytree.flatten(Model(1))
    assert pytree.unflatten(structure, [None]).weights is None


@pytest.mark.parametrize(
    "required, given, path, words",
    [
        ({"w": [1, 2]}, {"w": [1]}, "state['w']", "list of 2"),
        ({"w": 1}, {"v": 1}, "state", "keys"),
        ((1, 2), [1, 2], "state", "tuple of 2"),
        ((1, None), (1, 2), "state[1]", "None"),
        ((1, 2), (1, (2, 3)), "state[1]", "an array"),
    ],
)
def test_mismatch_names_the_place(required, given, path, words):
    _, structure = pytree.flatten(required)
    with pytest.raises(pytree.StructureMismatch) as caught:
        pytree.flatten_as(structure, given, "state")
    assert caught.value.path == path and words in caught.value.required


def test_registered_type():
    class Pair:
        def __init__(self, first, second):
            self.first, self.second = first, second

    pytree.register_pytree(Pair, lambda pair: ((pair.first, pair.second), None), lambda _, children: Pair(*children))
    doubled = pytree.tree_map(lambda leaf: 2 * leaf, {"p": Pair(1, 2)})["p"]
    assert (doubled.first, doubled.second) == (2, 4)
    with pytest.raises(ValueError, match="is a container already"):
        pytree.register_pytree(Pair, lambda pair: ((), None), lambda _, children: None)
    with pytest.raises(ValueError, match="is a container already"):
        pytree.register_pytree(dict, lambda pair: ((), None), lambda _, children: None)


def test_a_type_met_as_a_leaf_can_be_registered_later():
    class Late:
        pass

    assert pytree.flatten(Late())[1] is pytree.LEAF
    pytree.register_pytree(Late, lambda value: ((), None), lambda _, children: Late())
    assert pytree.flatten(Late())[0] == []


def test_tree_map_requires_one_structure():
    with pytest.raises(ValueError, match=r"tree 2\[0\]"):
        pytree.tree_map(lambda a, b: a, [1], [(1, 2)])


def test_functions_that_put_values_together_do_so_as_unflatten_does():
    class Tagged:
        def __init__(self, tag, parts):
            self.tag, self.parts = tag, parts

    pytree.register_pytree(Tagged, lambda value: (value.parts, value.tag), Tagged)
    deep = 0
    for level in range(300):
        deep = [deep, Tagged(level, ())]
    for value in (3, (), (1,), [None, {"a": (1, [2]), 5: ()}], Tagged("x", [1, (2, Tagged("y", ()))]), deep):
        leaves, structure = pytree.flatten(value)
        for are_given in ([True] * len(leaves), [False] * len(leaves), [number % 2 == 0 for number in range(len(leaves))]):
            marked = [makers.GIVEN if is_given else leaf for leaf, is_given in zip(leaves, are_given)]
            made = makers.function_of_leaves(structure, marked)
            given = [leaf for leaf, is_given in zip(leaves, are_given) if is_given]
            found, again = made(*given), made(*given)
            assert pytree.flatten(found) == (leaves, structure)
            assert found is not again or structure is pytree.LEAF or found == ()


def test_what_the_first_part_does_not_ask_for_is_not_made():
    made = []
    pytree.register_pytree(_Noted, lambda value: ((value.name,), None), lambda _, parts: made.append(parts[0]))
    value = Choice(0, [(_Noted("a"), 1), [_Noted("b"), 2], 3])
    leaves, structure = pytree.flatten(value)
    function = makers.function_of_leaves(structure, [makers.GIVEN, *leaves[1:-1], makers.GIVEN])
    assert function(1, 5) == [None, 2] and made == ["b"]
    assert function(2, 5) == 5 and made == ["b"]


class _Noted:
    def __init__(self, name):
        self.name = name

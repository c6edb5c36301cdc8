"""Dicts and lists of a class of its own, with attributes besides, and those that dataclasses make, in branches and loops."""

import dataclasses
from collections import OrderedDict, deque

import pytest
from phlox import jit


class Result(dict):
    """As SciPy's: what it holds are its attributes."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class Doubled(dict):
    def __setitem__(self, key, value):
        dict.__setitem__(self, key, value * 2)


class Path(list):
    pass


def made_on_both_sides(x):
    result = Result(x=x * 2, n=1) if x > 0 else Result(x=x * 3, n=2)
    result.n = result.n + 1
    return result.x, result["n"], result.get("x"), len(result), list(result), result


def other_keys(x):
    if x > 0:
        result = Result(x=x * 2)
    else:
        result = Result(x=x * 3, y=1.0)
    return result.x, len(result)


def one_of_them_from_before(x):
    first = Result(x=x, n=1)
    chosen = first if x > 0 else Result(x=x * 3, n=2)
    chosen.n = 5
    return first.n, chosen.n, chosen.x


def made_in_rounds(x):
    result = Result(x=x, n=0)
    while x * x < 100:
        x = x * 2
        result = Result(x=x, n=result.n + 1)
    return result.x, result.n


def own_methods(x):
    if x > 0:
        held = Doubled()
        held["x"] = x
    else:
        held = Doubled(x=x)
    return held["x"]


def lists(x):
    if x > 0:
        path = Path([x])
        path.append(x * 2)
        path.cost = 1
    else:
        path = Path([x * 3, x])
        path.cost = x
    path.append(1.0)
    return path[0], path[1], path.cost, len(path)


class Pair(tuple):
    pass


class Measured(tuple):
    def __new__(cls, values, error):
        made = super().__new__(cls, values)
        made.error = error
        return made


class Name(str):
    pass


class Kinds(set):
    pass


class Ordered(OrderedDict):
    pass


class Refused(ValueError):
    def __init__(self, value):
        super().__init__("refused", value)
        self.value = value


def tuples(x):
    if x > 0:
        pair, measured = Pair((x, x * 2)), Measured((x, 1), x * 2)
    else:
        pair, measured = Pair((x * 3, x)), Measured((x, 2), x * 3)
    for k in range(40):
        measured = Measured((measured[0] * 0.5, k), measured.error + x)
    return pair[0], pair[1], len(pair), measured.error, measured[0]


def texts_and_sets(x):
    if x > 0:
        name, kinds = Name("a"), Kinds([1])
        name.weight, kinds.weight = x, x
    else:
        name, kinds = Name("b"), Kinds([1])
        name.weight, kinds.weight = x * 2, x * 3
    return name.weight, name == "a", kinds.weight, 1 in kinds


def dicts_in_order(x):
    if x > 0:
        held = Ordered(a=x)
        held.weight = x * 3
    else:
        held = Ordered(a=x * 2)
        held.weight = x
    return held["a"] + held.weight


def exceptions(x):
    error = Refused(x) if x > 0 else Refused(x * 2)
    return error.value, error.args[1], str(error)[:9]


@pytest.mark.parametrize(
    "function",
    [
        made_on_both_sides,
        other_keys,
        one_of_them_from_before,
        made_in_rounds,
        own_methods,
        lists,
        tuples,
        texts_and_sets,
        dicts_in_order,
        exceptions,
    ],  # fmt: skip
)
def test_containers_with_attributes(function):
    jitted = jit(function)
    for x in (1.5, -2.5):
        assert jitted(x) == function(x)


def test_the_class_is_kept():
    assert type(jit(made_on_both_sides)(1.5)[-1]) is Result


@dataclasses.dataclass
class Cell:
    weight: float
    members: list = dataclasses.field(default_factory=list)
    bounds: list = dataclasses.field(default_factory=lambda: [0.0, 1.0])
    names: dict = dataclasses.field(init=False, default_factory=dict)
    places: list = dataclasses.field(init=False, default_factory=lambda: [])


def filled_in_branches(x):
    cell = Cell(x)
    if x > 0:
        cell = Cell(x, bounds=[x, x])
        cell.members.append(x)
        cell.names["x"] = x
    else:
        cell = Cell(x * 2)
        cell.members.append(x * 3)
        cell.bounds[0] = x
        cell.places.append(x)
        cell.names["x"] = 1.0
    return len(cell.members), sum(cell.members), cell.bounds, cell.names["x"], len(cell.places)


def test_what_dataclasses_make_by_default():
    jitted = jit(filled_in_branches)
    for x in (1.5, -2.5):
        assert jitted(x) == filled_in_branches(x)


class Line(deque):
    pass


def test_what_nobody_knows_how_to_put_together_is_refused_by_name():
    @jit
    def chosen(x):
        line = Line([x, 1.0]) if x > 0 else Line([x * 2, 2.0])
        return line[0]

    with pytest.raises(NotImplementedError, match="class Line"):
        chosen(1.5)


def test_sets_with_attributes_that_differ_are_refused_by_name():
    @jit
    def chosen(x):
        if x > 1:
            kinds = Kinds([3])
            kinds.weight = x
        else:
            kinds = Kinds([4])
            kinds.weight = x * 2
        return kinds.weight

    with pytest.raises(NotImplementedError, match="class Kinds"):
        chosen(1.5)

"""Objects from outside with operators, iteration and items of their own; queues, counters, and containers of the user's."""

import abc
import collections
import copy
import dataclasses
import operator
import types
from array import array

import numpy as np
import pytest
from phlox import TracerError, jit

X = np.arange(4.0)
FACTOR = 1.0


class Vector:
    """All kinds of special methods; what they say depends on ``w`` and on a global."""

    def __init__(self, w):
        self.w, self.uses = w, 0

    def __add__(self, other):
        return other * self.w + FACTOR

    __radd__ = __add__

    def __iadd__(self, other):
        self.w = self.w + other
        return self

    def __matmul__(self, other):
        self.uses += 1
        return other * self.w

    def __neg__(self):
        return -self.w

    def __abs__(self):
        return abs(self.w)

    def __getitem__(self, index):
        return self.w * index

    def __setitem__(self, index, value):
        self.w = self.w + index * value

    def __iter__(self):
        yield self.w
        yield self.w * 2

    def __len__(self):
        return int(self.w)

    def __contains__(self, value):
        return value == self.w

    def __bool__(self):
        return self.w > 1.5

    def __float__(self):
        return float(self.w)

    def __eq__(self, other):
        return self.w == other

    def __lt__(self, other):
        return self.w < other

    __hash__ = object.__hash__

    def __enter__(self):
        return self.w

    def __exit__(self, *error):
        self.uses += 1

    def __array__(self, dtype=None, copy=None):
        return np.full(4, self.w)

    def __call__(self, x):
        return self + x

    def __getattr__(self, name):
        if name == "tenfold":
            return self.w * 10
        raise AttributeError(name)

    @property
    def half(self):
        return self.w / 2 * FACTOR


class Base(abc.ABC):
    @abc.abstractmethod
    def __mul__(self, other): ...


class Derived(Base):
    def __init__(self, w):
        self.w = w

    def __mul__(self, other):
        return other * self.w


@dataclasses.dataclass
class Pair:
    w: float

    def __add__(self, other):
        return self.w + other


class Registering:
    kinds = []

    def __init__(self, w):
        self.w = w

    def __init_subclass__(cls):
        Registering.kinds.append(cls)

    def __add__(self, other):
        return self.w + other


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w

    def __add__(self, other):
        return self.w + other


VECTOR = Vector(1.0)


def with_(x):
    with VECTOR as w:
        return x * w


def in_place(x):
    global VECTOR
    VECTOR += 1
    VECTOR[2] = 3.0
    return x * VECTOR.w


def unpacked(x):
    first, second = VECTOR
    return x * first + second


FUNCTIONS = {
    "add": lambda x: VECTOR + x,
    "radd": lambda x: 5.0 + VECTOR + x,
    "matmul": lambda x: VECTOR @ x,
    "neg, abs": lambda x: x * -VECTOR + abs(VECTOR),
    "items": lambda x: x * VECTOR[2] + VECTOR.__getitem__(3),
    "iteration": lambda x: [x * w for w in VECTOR] + [sum(VECTOR), max(VECTOR), *VECTOR],
    "zip": lambda x: [a * b for a, b in zip(VECTOR, x)],
    "len": lambda x: x * len(VECTOR) + np.zeros(4)[: len(VECTOR)].sum(),
    "contains": lambda x: x * (2.0 in VECTOR),
    "bool": lambda x: x if VECTOR else x + 1,
    "float": lambda x: x * float(VECTOR),
    "comparisons": lambda x: x * (VECTOR == 2.0) + (VECTOR < 2.5),
    "array": lambda x: x + np.asarray(VECTOR) + np.array(VECTOR),
    "call": lambda x: VECTOR(x),
    "getattr": lambda x: x * VECTOR.tenfold + VECTOR.half + getattr(VECTOR, "tenfold"),  # noqa: B009
    "attrgetter": lambda x: x * operator.attrgetter("w")(VECTOR) + operator.methodcaller("__neg__")(VECTOR),
    "vars": lambda x: x * vars(VECTOR)["w"] + VECTOR.__dict__["w"],
    "copies": lambda x: x * copy.copy(VECTOR).w + copy.deepcopy(VECTOR).w,
    "types": lambda x: x + (type(VECTOR) is Vector) + isinstance(VECTOR, Vector) + (VECTOR.__class__ is Vector),
    "with": with_,
    "in place": in_place,
    "unpacked": unpacked,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_methods(name):
    global FACTOR, VECTOR
    jitted, found = jit(FUNCTIONS[name]), []
    for called in (FUNCTIONS[name], jitted):
        VECTOR, results = Vector(1.0), []
        original = VECTOR
        for number, w in enumerate((1.0, 2.0, 3.0, 2.0)):
            FACTOR = number // 2 + 1.0
            VECTOR.w = w
            results.append((called(X), VECTOR.w, VECTOR.uses))
            assert VECTOR is original and type(VECTOR) is Vector and list(vars(VECTOR)) == ["w", "uses"]
        found.append(repr(results))
    assert found[1] == found[0]


@pytest.mark.parametrize("kind", [Derived, Pair, Registering, Slotted])
def test_classes_that_are_made_in_other_ways(kind):
    holder = types.SimpleNamespace(one=kind(1.0))
    f = jit(lambda x: holder.one * x if kind is Derived else holder.one + x)
    for w in (1.0, 2.0, 3.0):
        holder.one.w = w
        np.testing.assert_array_equal(f(X), X * w if kind is Derived else X + w)
    assert Registering.kinds == []


def test_arguments_and_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        def __getitem__(self, index):
            return self.w[index]

        def __len__(self):
            return len(self.w)

        @jit
        def total(self, x):
            return x * len(self) + self[0]

    model = Model(np.ones(3))
    assert model.total(1.0) == 4.0
    model.w = np.full(3, 7.0)
    assert model.total(1.0) == 10.0
    model.w = np.full(5, 7.0)
    assert model.total(1.0) == 12.0
    assert jit(lambda model: model[1] + len(model))(model) == 12.0
    assert jit(lambda model: model)(model) is model


def test_what_a_method_changes_where_nobody_sees_it_is_an_error():
    pair = Slotted(1.0)

    class Counting:
        def __init_subclass__(cls):
            pass

        def __add__(self, other):
            self.n += 1
            return other

    counting = Counting()
    counting.n = 0
    with pytest.raises(TracerError, match="counting is changed"):
        jit(lambda x: counting + x)(X)
    np.testing.assert_array_equal(jit(lambda x: pair + x)(X), X + 1)


class Table(dict):
    """Methods beside those of a dict."""

    def total(self):
        return sum(self.values())


class Row(list):
    def total(self):
        return sum(self)


class Options(dict):
    def __getattr__(self, name):
        return self[name]


def queue_of_last(outside, x):
    outside.queue.append(x.sum())
    return x


def queue_read(outside, x):
    queue = outside.queue
    y = x + queue[0] + sum(queue) + len(queue) + (1.0 in queue)
    queue.append(y[0])
    queue.rotate(1)
    return y, queue.popleft() if len(queue) > 2 else 0.0


def queue_emptied(outside, x):
    while outside.queue:
        x = x + outside.queue.popleft()
    outside.queue.extend([1.0, 2.0])
    return x


def queue_in_a_loop(outside, x):
    for value in x:
        if value > 1:
            outside.total += value
        outside.queue.append(value)
    return len(outside.queue)


def counted(outside, x):
    outside.counts["a"] += 1
    outside.counts.update(["b", "b"])
    return x * outside.counts["a"] + outside.counts["absent"], outside.counts.most_common(1)[0][1]


def counted_by_update(outside, x):
    outside.counts.update(["b", "b"])
    outside.counts.subtract(c=2)
    return x * outside.counts["b"], list(outside.counts.values())


def table(outside, x):
    outside.table["a"] = outside.table["a"] + 1
    outside.table["n"] = outside.table.pop("n")
    return x * outside.table["a"] + outside.table.total() + len(outside.table), list(outside.table)


def row(outside, x):
    outside.row[0] += 1
    outside.row.append(2.0)
    return x * outside.row.total(), isinstance(outside.row, Row)


def options(outside, x):
    return x * outside.options.rate + outside.options["rate"]


def raw(outside, x):
    return x * outside.numbers[0] + outside.bytes[0] + len(outside.objects[0])


def of_functions(outside, x):
    outside.helper.calls += 1
    return x * outside.helper.calls + outside.helper(x)


@pytest.mark.parametrize(
    "function",
    [
        queue_of_last,
        queue_read,
        queue_emptied,
        queue_in_a_loop,
        counted,
        counted_by_update,
        table,
        row,
        options,
        raw,
        of_functions,
    ],
    ids=lambda function: function.__name__,
)
def test_containers(function):
    found = []
    for decorate in (lambda one: one, jit):
        outside = types.SimpleNamespace(
            queue=collections.deque([1.0, 2.0], maxlen=5), total=0.0, counts=collections.Counter("ac"),
            table=Table(a=1.0, n=2.0), row=Row([1.0]), options=Options(rate=1.0), numbers=array("d", [1.0]),
            bytes=bytearray(b"ab"), objects=np.array([[1], [2, 3]], dtype=object), helper=lambda x: x + 1,
        )  # fmt: skip
        outside.helper.calls = 0
        called, results = decorate(lambda x, outside=outside: function(outside, x)), []
        for number in range(6):
            outside.table["n"] = outside.options["rate"] = outside.numbers[0] = float(number // 2)
            outside.bytes[0] = number // 2
            outside.objects[0].append(number)
            results.append(repr((called(X), {k: v for k, v in vars(outside).items() if k != "helper"}, outside.helper.calls)))
        found.append(results)
    assert found[1] == found[0]


def test_appending_to_a_queue_is_traced_once():
    queue = collections.deque(maxlen=3)
    f = jit(lambda x: queue.append(x * 2))
    for number in range(5):
        f(float(number))
    assert list(queue) == [4.0, 6.0, 8.0] and f.cache_info().misses == 1


class Named:
    """Its text depends on an attribute; objects of this class are keys, and are compared by what they are."""

    def __init__(self, k):
        self.k = k

    def __format__(self, specification):
        return f"P{self.k}"

    def __str__(self):
        return f"S{self.k}"


class Plain:
    def __init__(self, k):
        self.k = k

    def __str__(self):
        return f"T{self.k}"


@pytest.mark.parametrize("kind", [Named, Plain])
def test_texts_and_keys(kind, capsys):
    one, other = kind(1), kind(2)
    table, rows, seen = {one: 1.0, other: 2.0}, [other, one], {one}

    def f(x):
        print(f"{one} {one!s} {x}", str(one), one)
        return x * table[one] + table.get(other) + rows.index(one) + (one in seen) + (one == other) + (rows[1] is one)

    found = []
    for called in (f, jit(f)):
        results = []
        for k in (1, 2, 3):
            one.k = k
            results.append(called(2.0))
        found.append((results, capsys.readouterr().out.replace(str(id(one)), "")))
    assert found[1] == found[0]


def test_objects_of_libraries_and_records():
    polynomial, table = np.poly1d([1.0, 2.0]), {"a": 1.0}
    chain, records = collections.ChainMap({}, table), np.zeros(2, [("u", float), ("v", int)])
    f = jit(lambda x: polynomial(x) + chain["a"] + records["u"][0] + records[0]["u"])
    for value in (1.0, 2.0, 3.0):
        polynomial.coeffs[0] = table["a"] = records["u"][0] = value
        np.testing.assert_array_equal(f(X), polynomial(X) + 3 * value)


class Arrow:
    """As many people write vectors: ``__slots__``, and operators that make others."""

    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Arrow(self.x + other.x, self.y + other.y)

    def __mul__(self, factor):
        return Arrow(self.x * factor, self.y * factor)

    def __neg__(self):
        return Arrow(-self.x, -self.y)

    def __iadd__(self, other):
        self.x += other.x
        return self

    def __abs__(self):
        return np.hypot(self.x, self.y)

    def __getitem__(self, index):
        return self.x[index]

    def __len__(self):
        return len(self.x)


class ArrowBelow(Arrow):
    """With a dict besides the slots of the class that it derives from, one of which holds nothing."""

    __slots__ = ("__dict__", "nothing")


@pytest.mark.parametrize("kind", [Arrow, ArrowBelow])
def test_objects_with_slots(kind):
    held = {}

    def loop(place, step, n):
        for _ in range(n):
            place = -(place + step * 0.5)
        return place.x, abs(place)

    def read(place, keep):
        return place[keep > 1], len(place), hasattr(place, "nothing")

    def change(x):
        place = held["place"]
        place += Arrow(x, 0)
        return place.x + 1

    def results(decorate):
        held["place"] = kind(1.0, 2.0)
        changed = [decorate(change)(2.0), decorate(change)(3.0), held["place"].x, type(held["place"])]
        return [decorate(loop)(kind(1.0, 2.0), kind(0.5, 1.0), 7), decorate(read)(kind(X, 0), X), changed]

    assert repr(results(jit)) == repr(results(lambda function: function))

"""What a function reads from outside, and sets there: programs undecorated beside decorated, with changes in between."""

import copy
import functools
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field

import numpy as np
import pytest
from phlox import jit

X = np.arange(1.0, 4.0)
PROGRAMS = {}


def program(make):
    """Decorator: ``make(decorate)`` returns the function that is called, changes between the calls, and what is looked at."""
    PROGRAMS[make.__name__] = make
    return make


def outcome(make, decorate):
    """All results, printed texts of exceptions, and the state behind each call."""
    function, changes, state = make(decorate)
    found = []
    for change in (None, None, *changes, None):
        if change is not None:
            change()
        try:
            result = function(X.copy())
        except Exception as error:  # noqa: BLE001, what is raised is compared
            result = type(error).__name__
        found.append((copy.deepcopy(result), copy.deepcopy(state())))
    return found


def assert_same(found, wanted):
    if isinstance(wanted, np.ndarray):
        assert isinstance(found, np.ndarray) and found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    elif isinstance(wanted, (list, tuple, deque)):
        assert type(found) is type(wanted) and len(found) == len(wanted)
        for one, other in zip(found, wanted):
            assert_same(one, other)
    elif isinstance(wanted, dict):
        assert type(found) is type(wanted) and list(found) == list(wanted)
        for key in wanted:
            assert_same(found[key], wanted[key])
    elif isinstance(wanted, (float, np.floating)):
        assert type(found) is type(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    else:
        assert type(found) is type(wanted) and found == wanted


def set_global(name, value):
    return lambda: globals().__setitem__(name, value)


# --- globals ---

NUMBER, TABLE, FLAG, TEXT, NOTHING = 2, np.array([1.0, 2.0, 3.0]), True, "double", None


def scale_by(x):
    return x * NUMBER


@program
def numbers(decorate):
    globals().update(NUMBER=2)

    @decorate
    def f(x):
        return x * NUMBER + 1 / NUMBER

    return f, [set_global("NUMBER", value) for value in (3, 4, 5, 2.5, 3.5, np.float32(2), True, 2)], lambda: NUMBER


@program
def arrays(decorate):
    globals().update(TABLE=np.array([1.0, 2.0, 3.0]))

    @decorate
    def f(x):
        return np.sqrt(TABLE) * 2 + x, TABLE[0] * TABLE.sum()

    return f, [
        lambda: TABLE.__setitem__(0, 7.0), set_global("TABLE", np.array([4.0, 5.0, 6.0])), set_global("TABLE", np.ones((2, 3))),
        set_global("TABLE", np.ones((2, 3), np.float32)), set_global("TABLE", np.arange(12.0).reshape(2, 6)[:, ::2]),
        set_global("TABLE", 5.0), set_global("TABLE", np.array([1, 2, 3])),
    ], lambda: TABLE  # fmt: skip


@program
def decisions(decorate):
    globals().update(TABLE=np.array([6.0, 2.0, 3.0]), FLAG=True, TEXT="double", NOTHING=None)

    @decorate
    def f(x):
        y = x
        if TABLE[0] > 5:
            y = y + 1
        if FLAG:
            y = y * 3
        if TEXT == "double":
            y = y * 2
        return y if NOTHING is None else y - 1

    return f, [
        lambda: TABLE.__setitem__(0, 1.0), set_global("FLAG", False), set_global("TEXT", "no"), set_global("NOTHING", 1),
        set_global("FLAG", True), lambda: TABLE.__setitem__(0, 9.0),
    ], lambda: 0  # fmt: skip


@program
def shapes(decorate):
    globals().update(NUMBER=2, TABLE=np.array([0.5, 2.0]))

    @decorate
    def f(x):
        total = np.zeros(NUMBER)
        for i in range(int(np.ceil(TABLE[1] / TABLE[0]))):
            total += x[:NUMBER] * i
        return total

    return f, [set_global("NUMBER", 3), lambda: TABLE.__setitem__(1, 3.0), set_global("NUMBER", 1)], lambda: 0


@program
def sizes_of_results(decorate):
    globals().update(TABLE=np.array([1, 2, 0]))

    @decorate
    def f(x):
        return np.repeat(x, TABLE), np.repeat(x, TABLE[1]), np.arange(TABLE[0], TABLE[1] + 3)

    return f, [lambda: TABLE.__setitem__(1, 4), set_global("TABLE", np.array([2, 2, 2]))], lambda: TABLE


@program
def helpers(decorate):
    globals().update(NUMBER=2)

    @decorate
    def f(x):
        return scale_by(x) + 1

    def scale_otherwise():
        globals()["scale_by"] = lambda x: x - NUMBER

    original = scale_by
    return f, [
        set_global("NUMBER", 3), scale_otherwise, set_global("NUMBER", 4), set_global("scale_by", original),
        lambda: setattr(original, "__defaults__", None),
    ], lambda: 0  # fmt: skip


@program
def shadowed_and_deleted(decorate):
    globals().update(NUMBER=2)
    globals().pop("max", None)

    @decorate
    def f(x):
        return max(NUMBER, 3) * x

    return f, [
        set_global("max", lambda a, b: a + b), lambda: globals().pop("max"), lambda: globals().pop("NUMBER"),
        set_global("NUMBER", 7),
    ], lambda: 0  # fmt: skip


@program
def counted(decorate):
    globals().update(NUMBER=0)

    @decorate
    def f(x):
        global NUMBER
        NUMBER += 1
        return x * NUMBER

    return f, [set_global("NUMBER", 10)], lambda: NUMBER


@program
def set_in_a_branch(decorate):
    globals().update(TABLE=np.zeros(3), NUMBER=1.0)

    @decorate
    def f(x):
        global TABLE, NUMBER
        if x.sum() + NUMBER > 7:
            TABLE = TABLE + x
            NUMBER = NUMBER / 2
        else:
            NUMBER = NUMBER * 4
        return TABLE.sum()

    return f, [set_global("NUMBER", 3.0)], lambda: (TABLE, NUMBER)


@program
def written_in_place(decorate):
    globals().update(TABLE=np.zeros(3))

    @decorate
    def f(x):
        TABLE[:] = TABLE + 1
        TABLE[0] += x[1]
        return TABLE * 2

    return f, [lambda: TABLE.fill(5), set_global("TABLE", np.arange(3.0))], lambda: TABLE


@program
def modules(decorate):
    config = types.ModuleType("config")
    config.__file__ = __file__
    config.LR, config.W = 0.1, np.ones(3)

    @decorate
    def f(x):
        config.W = config.W - config.LR * x
        return config.W.sum()

    return f, [lambda: setattr(config, "LR", 0.2), lambda: setattr(config, "LR", 0.3)], lambda: (config.LR, config.W)


# --- closures ---


@program
def closures(decorate):
    n, w, on = 2, np.ones(3), True

    def change(new_n=None, new_w=None, new_on=None):
        nonlocal n, w, on
        n, w, on = n if new_n is None else new_n, w if new_w is None else new_w, on if new_on is None else new_on

    @decorate
    def f(x):
        return (x * n + np.exp(w)) * (2 if on else 3)

    return f, [
        lambda: change(3), lambda: change(4), lambda: change(new_w=np.zeros(3)), lambda: change(new_on=False),
        lambda: change(new_w=np.zeros((2, 3))),
    ], lambda: n  # fmt: skip


@program
def counting_closure(decorate):
    count, last = 0, None

    @decorate
    def f(x):
        nonlocal count, last
        count = count + 1
        last = x * count
        return last.sum()

    return f, [], lambda: (count, last)


@program
def two_closures_of_one_code(decorate):
    def make(k):
        @decorate
        def f(x):
            return x * k

        return f

    first, second = make(2), make(3)
    return lambda x: (first(x), second(x)), [], lambda: 0


@program
def functions_made_in_a_loop(decorate):
    made = [decorate(lambda x: x + k) for k in range(3)]  # noqa: B023
    return lambda x: [f(x) for f in made], [], lambda: 0


@program
def closures_that_share_a_variable(decorate):
    n = 1

    def read():
        return n * 10

    @decorate
    def f(x):
        nonlocal n
        n += 1
        return x + read()

    return f, [], lambda: n


@program
def recursion(decorate):
    depth = 3

    def power(x, n):
        return x if n == 0 else power(x * 2, n - 1)

    @decorate
    def f(x):
        return power(x, depth)

    def change():
        nonlocal depth
        depth = 1

    return f, [change], lambda: 0


@program
def defaults(decorate):
    table = np.ones(3)

    def helper(x, scale=2.0, *, w=table):
        return x * scale + np.sqrt(w)

    @decorate
    def f(x):
        return helper(x)

    def change():
        helper.__defaults__ = (3.0,)

    return f, [lambda: table.fill(4), change, lambda: helper.__kwdefaults__.update(w=np.zeros(3))], lambda: 0


# --- objects ---


class Layer:
    scale = 2.0

    def __init__(self, w):
        self.w, self.calls, self.log = w, 0, []

    @property
    def doubled(self):
        return self.w * 2

    @doubled.setter
    def doubled(self, value):
        self.w = value / 2

    def apply(self, x):
        self.calls += 1
        return x * self.w * self.scale


@program
def objects(decorate):
    layer = Layer(np.ones(3))
    Layer.scale = 2.0

    @decorate
    def f(x):
        y = layer.apply(x)
        layer.log.append(y.sum())
        layer.doubled = layer.doubled + x
        return y

    return f, [
        lambda: setattr(layer, "w", np.zeros(3)), lambda: setattr(layer, "scale", 5.0), lambda: setattr(Layer, "scale", 7.0),
        lambda: layer.log.clear(), lambda: setattr(layer, "w", np.ones((2, 3))),
    ], lambda: (layer.w, layer.calls, layer.log)  # fmt: skip


class Model:
    def __init__(self):
        self.w, self.n, self.name, self.seen = np.ones(3), 0, "model", {}

    def plain_step(self, x):
        self.w = self.w - 0.1 * x
        self.n += 1
        self.seen["last"] = self.w.sum()
        if self.name == "other":
            return self.w * 2
        return self.w


def _as_method(decorate, **options):
    class Decorated(Model):
        step = decorate(Model.plain_step, **options)

    return Decorated


@program
def methods(decorate):
    kind = _as_method(decorate)
    first, second = kind(), kind()

    def run(x):
        return first.step(x), second.step(x * 2)

    return run, [
        lambda: setattr(first, "w", np.zeros(3)), lambda: setattr(second, "name", "other"), lambda: setattr(first, "n", 10),
        lambda: setattr(second, "w", np.zeros((2, 3))),
    ], lambda: (first.w, first.n, first.seen, second.w, second.n, second.seen)  # fmt: skip


@program
def static_self(decorate):
    kind = _as_method(decorate, static_argnames=("self",))
    model = kind()
    return lambda x: model.step(x), [
        lambda: setattr(model, "w", np.zeros(3)), lambda: setattr(model, "name", "other"),
    ], lambda: (model.w, model.n, model.seen)  # fmt: skip


@program
def bound_methods(decorate):
    model = Model()
    return decorate(model.plain_step), [lambda: setattr(model, "w", np.zeros(3))], lambda: (model.w, model.n)


@program
def callable_objects(decorate):
    class Affine:
        def __init__(self):
            self.a, self.b = 2.0, np.ones(3)

        def __call__(self, x):
            self.b = self.b + 1
            return self.a * x + self.b

    affine = Affine()
    return (
        decorate(affine),
        [lambda: setattr(affine, "a", 3.0), lambda: setattr(affine, "a", 4.0)],
        lambda: (affine.a, affine.b),
    )


@program
def partial_applications(decorate):
    w = np.ones(3)
    f = decorate(functools.partial(lambda w, x: np.exp(w) + x, w))
    return f, [lambda: w.fill(2.0)], lambda: w


@program
def slots(decorate):
    class Point:
        __slots__ = ("x", "y")

    point = Point()
    point.x = 1.0

    @decorate
    def f(x):
        point.x = point.x + x.sum()
        point.y = x
        return hasattr(point, "y"), getattr(point, "z", 5)

    return f, [lambda: delattr(point, "y"), lambda: setattr(point, "x", 2.0)], lambda: (point.x, point.y)


@program
def unknown_attributes(decorate):
    class Point:
        __slots__ = ("x",)

    point = Point()

    @decorate
    def f(x):
        point.y = x
        return x

    return f, [], lambda: 0


@program
def deleted_attributes(decorate):
    holder = types.SimpleNamespace(a=np.ones(3), b=1)

    @decorate
    def f(x):
        if hasattr(holder, "b"):
            del holder.b
            return x + holder.a
        return x - holder.a

    return f, [lambda: setattr(holder, "b", 2)], lambda: vars(holder)


@program
def cached_properties(decorate):
    class Data:
        def __init__(self):
            self.raw = np.ones(3)

        @functools.cached_property
        def total(self):
            return self.raw.sum() * 2

    data = Data()

    @decorate
    def f(x):
        return x * data.total

    return f, [lambda: setattr(data, "raw", np.zeros(3)), lambda: data.__dict__.pop("total")], lambda: vars(data)


@program
def private_names(decorate):
    class Holder:
        def __init__(self):
            self.__w = np.ones(3)

        def step(self, x):
            self.__w = self.__w + x
            return self.__w.sum()

        def get(self):
            return self.__w

    holder = Holder()
    return decorate(holder.step), [], holder.get


@program
def nested_objects(decorate):
    model = types.SimpleNamespace(layers=[Layer(np.ones(3)), Layer(np.ones(3) * 2)], options={"lr": 0.1, "steps": 2})
    Layer.scale = 2.0

    @decorate
    def f(x):
        for _ in range(model.options["steps"]):
            for layer in model.layers:
                x = layer.apply(x)
                layer.w = layer.w * (1 - model.options["lr"])
        return x

    return f, [
        lambda: model.options.update(lr=0.2), lambda: model.options.update(lr=0.3), lambda: model.options.update(steps=1),
        lambda: model.layers.append(Layer(np.ones(3))), lambda: setattr(model.layers[0], "w", np.zeros(3)),
        lambda: model.layers.reverse(), lambda: model.layers.__setitem__(0, Layer(np.ones(3) * 5)),
    ], lambda: [layer.w for layer in model.layers] + [layer.calls for layer in model.layers]  # fmt: skip


@program
def dataclasses_outside(decorate):
    @dataclass
    class State:
        w: np.ndarray
        step: int = 0
        history: list = field(default_factory=list)

    state = State(np.ones(3))

    @decorate
    def f(x):
        state.w = state.w + x
        state.step += 1
        state.history.append(state.step)
        return state.w

    return f, [lambda: setattr(state, "step", 100)], lambda: (state.w, state.step, state.history)


@program
def enclosing_object_is_kept(decorate):
    holder = types.SimpleNamespace(x=None, table=np.ones(3))

    @decorate
    def f(x):
        holder.x = x
        holder.copy = holder.table
        return x

    def state():
        return holder.copy is holder.table, holder.x

    return f, [lambda: setattr(holder, "table", np.zeros(3))], state


# --- containers ---


@program
def dicts(decorate):
    cfg = {"lr": 0.1, "w": np.ones(3), "name": "a"}

    @decorate
    def f(x):
        cfg["w"] = cfg["w"] - cfg["lr"] * x
        cfg["count"] = cfg.get("count", 0) + 1
        if "extra" in cfg:
            x = x * cfg["extra"]
        return x * len(cfg["name"])

    return f, [
        lambda: cfg.update(lr=0.2), lambda: cfg.update(lr=0.4), lambda: cfg.update(name="abc"), lambda: cfg.update(extra=2.0),
        lambda: cfg.pop("extra"), lambda: cfg.update(unrelated=1),
    ], lambda: cfg  # fmt: skip


@program
def all_of_a_dict(decorate):
    cfg = {"a": np.ones(3), "b": np.zeros(3)}

    @decorate
    def f(x):
        total = x
        for key, value in cfg.items():
            total = total + value * len(key)
        return total, sorted(cfg), {**cfg}["a"].sum()

    return f, [lambda: cfg.update(ccc=np.ones(3)), lambda: cfg.pop("b"), lambda: cfg["a"].fill(3)], lambda: cfg


@program
def kinds_of_dicts(decorate):
    counts, ordered = defaultdict(int), OrderedDict(a=1.0, b=2.0)

    @decorate
    def f(x):
        counts["calls"] += 1
        ordered["c"] = ordered["a"] + x
        del ordered["b"]
        ordered["b"] = 3.0
        return x + sum(ordered[key] for key in ("a", "b"))

    return f, [lambda: counts.update(calls=7), lambda: ordered.update(a=5.0)], lambda: (counts, ordered)


@program
def lists(decorate):
    log, weights = [], [np.ones(3), np.zeros(3)]

    @decorate
    def f(x):
        for w in weights:
            x = x + w
        log.append(x.sum())
        log.extend([1, 2])
        weights[1] = weights[1] + x
        return x

    return f, [lambda: log.clear(), lambda: weights.append(np.ones(3)), lambda: weights.pop(0)], lambda: (log, weights)


@program
def lists_as_stacks(decorate):
    stack = [1.0, 2.0, 3.0]

    @decorate
    def f(x):
        top = stack.pop()
        stack.append(top * 2)
        stack.insert(0, 7.0)
        return x * top + len(stack) + stack[-1]

    return f, [lambda: stack.pop(), lambda: stack.reverse()], lambda: stack


@program
def sets(decorate):
    seen, allowed = {1, 2}, frozenset({"a"})

    @decorate
    def f(x):
        seen.add(3)
        return x * len(seen) if "a" in allowed else x

    return f, [lambda: seen.add(9), lambda: seen.clear()], lambda: sorted(seen)


@program
def tuples(decorate):
    pair = types.SimpleNamespace(value=(np.ones(3), 2.0, "a"))

    @decorate
    def f(x):
        w, scale, name = pair.value
        return x * w * scale * len(name)

    return f, [
        lambda: setattr(pair, "value", (np.zeros(3), 2.0, "a")), lambda: setattr(pair, "value", (np.ones(3), 3.0, "ab")),
        lambda: pair.value[0].fill(4),
    ], lambda: pair.value  # fmt: skip


@program
def late(decorate):
    globals().update(TABLE=np.ones(3))

    @decorate
    def f(g):
        g[0] = 9
        return g.sum() + TABLE.sum()

    return lambda x: (f(TABLE), f(x)), [lambda: TABLE.fill(2)], lambda: TABLE


@program
def one_array_under_two_names(decorate):
    holder = types.SimpleNamespace(a=np.ones(3))
    holder.b = holder.a

    @decorate
    def f(x):
        holder.a[0] += 1
        return holder.b * x

    return f, [
        lambda: setattr(holder, "b", np.zeros(3)), lambda: setattr(holder, "b", holder.a),
    ], lambda: (holder.a, holder.b, holder.a is holder.b)  # fmt: skip


@program
def exceptions(decorate):
    holder = types.SimpleNamespace(n=0, w=np.ones(3), log=[])

    @decorate
    def f(x):
        if holder.n == 2:
            raise ValueError("two")
        holder.n += 1
        holder.log.append(holder.n)
        return x

    return f, [lambda: setattr(holder, "n", 0)], lambda: (holder.n, holder.log)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    make = PROGRAMS[name]
    try:
        assert_same(outcome(make, jit), outcome(make, lambda function, **options: function))
    finally:
        globals().pop("max", None)
        globals()["scale_by"] = lambda x: x * NUMBER


# --- the cache ---


def test_reasons():
    holder = types.SimpleNamespace(flag=True, w=np.ones(3))
    f = jit(lambda x: x * holder.w if holder.flag else x)
    f(X)
    holder.w = np.ones((2, 3))
    f(X)
    holder.flag = False
    f(X)
    reasons = [entry.reason for entry in f.cache_info().entries]
    assert reasons[1:] == [
        "closure variable holder.w: shape (3,) -> (2, 3)", "closure variable holder.flag: True -> False"
    ]  # fmt: skip


def test_what_was_there_before_is_not_traced_again():
    holder = types.SimpleNamespace(flag=True)
    f = jit(lambda x: x * 2 if holder.flag else x)
    for flag in (True, False, True, False, True):
        holder.flag = flag
        np.testing.assert_array_equal(f(X), X * 2 if flag else X)
    assert f.cache_info().misses == 2


def test_numbers_that_change_are_inputs():
    holder = types.SimpleNamespace(lr=0.1)
    f = jit(lambda x: x * holder.lr)
    for step in range(10):
        holder.lr = 0.1 / (step + 1)
        np.testing.assert_array_equal(f(X), X * holder.lr)
    assert f.cache_info().misses == 2


def test_counters_are_traced_once():
    model = Model()
    f = jit(model.plain_step)
    for count in range(5):
        f(X)
        assert model.n == count + 1 and type(model.n) is int
    assert f.cache_info().misses == 1


def test_appending_does_not_depend_on_the_length():
    log = []
    f = jit(lambda x: log.append(x.sum()))
    for _ in range(5):
        f(X)
    assert log == [6.0] * 5 and f.cache_info().misses == 1


def test_nothing_traced_stays_in_the_users_objects_after_errors():
    holder = types.SimpleNamespace(w=np.ones(3), log=[], options={})

    @jit
    def f(x):
        holder.w = x * 2
        holder.log.append(x)
        holder.options["x"] = x
        raise RuntimeError("while traced")

    with pytest.raises(RuntimeError, match="while traced"):
        f(X)
    np.testing.assert_array_equal(holder.w, np.ones(3))
    assert holder.log == [] and holder.options == {}


def test_errors_of_the_program_leave_everything_as_it_was():
    holder = types.SimpleNamespace(w=np.ones(3), n=0)

    @jit
    def f(x, i):
        holder.w = holder.w + x
        holder.n += 1
        return x[i]

    f(X, np.int64(1))
    with pytest.raises(IndexError):
        f(X, np.int64(7))
    np.testing.assert_array_equal(holder.w, 1 + X)
    assert holder.n == 1


def test_threads_see_no_traced_arrays():
    holder = types.SimpleNamespace(w=np.zeros(3))
    seen, stop = [], threading.Event()

    def look():
        while not stop.is_set():
            seen.append(type(holder.w))

    @jit
    def f(x):
        holder.w = holder.w + x
        return holder.w

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(3):
            f(X)
    finally:
        stop.set()
        thread.join()
    assert set(seen) <= {np.ndarray}
    np.testing.assert_array_equal(holder.w, 3 * X)


def test_objects_that_the_function_makes_cannot_be_kept():
    class Pair:
        def __init__(self, a):
            self.a = a

    holder = types.SimpleNamespace(pair=None)

    @jit
    def f(x):
        holder.pair = Pair(x * 2)
        return x

    with pytest.raises(TypeError, match="closure variable holder.pair"):
        f(X)
    assert holder.pair is None


def test_what_cannot_be_followed_is_an_error():
    counts, queue = Counter(), deque([1.0])

    @jit
    def counting(x):
        counts["x"] += 1
        return x

    @jit
    def queueing(x):
        queue.append(x)
        return x

    for f in (counting, queueing):
        with pytest.raises(TypeError, match="Counter|deque"):
            f(X)
    assert not counts and list(queue) == [1.0]

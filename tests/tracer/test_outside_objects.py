"""What a function reads from objects, and sets there: attributes, methods, `self`, callable objects."""

import functools
import gc
import types
import weakref
from dataclasses import dataclass, field

import numpy as np
import pytest
from phlox import TracerError, jit
from programs_outside import X, check, registry

PROGRAMS, program = registry()


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


@program
def what_weak_references_refer_to(decorate):
    held = {"model": Layer(2.0), "other": Layer(7.0)}
    references = {name: weakref.ref(model) for name, model in held.items()}

    @decorate
    def f(x):
        model = references["model"]()
        if model is None:
            return x
        model.calls += 1
        return x * model.w + references["other"]().w

    return f, [
        lambda: setattr(held["model"], "w", 3.0), lambda: setattr(held["other"], "w", np.ones(3)),
        lambda: setattr(held["model"], "w", np.float32(2)),
        lambda: (held.pop("model"), gc.collect()),  # a trace that is over refers to itself
    ], lambda: held["model"].calls if "model" in held else None  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    check(PROGRAMS[name])


@pytest.mark.parametrize("kind", [weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet])
def test_weak_containers_are_refused(kind):
    held = kind()
    for read in (lambda: len(held), lambda: 3 in held, lambda: list(held), lambda: held.copy()):
        with pytest.raises(TracerError, match=f"held, a {kind.__name__}, is read"):
            jit(read)()


def test_counters_are_traced_once():
    model = Model()
    f = jit(model.plain_step)
    for count in range(5):
        f(X)
        assert model.n == count + 1 and type(model.n) is int
    assert f.cache_info().misses == 1


class Holder:
    def __init__(self, held):
        self.held = held

    def __repr__(self):
        return f"Holder({self.held})"


def exchanged(holder, other, n):
    holder.held.append(5.0)
    holder.held = other


def exchanged_on_a_side(holder, other, n):
    old = holder.held
    if n == 1:
        old[0] = 7.0
    holder.held = other
    return old


def emptied(holder, other, n):
    holder.held.append(n)
    if len(holder.held) > 2:
        holder.held = []


def handed_on(holder, other, n):
    other.append(holder.held)
    other[0].held, holder.held = holder.held, []
    other[0].held.append(n)
    other[0] = Holder([n])


@pytest.mark.parametrize("function", [exchanged, exchanged_on_a_side, emptied, handed_on])
def test_what_is_changed_is_what_was_there_before(function):
    jitted = jit(function)
    for count, n in ((1, 1), (1, 2), (2, 1), (12, 1)):
        outcomes = []
        for run in (function, jitted):
            old, first = [1.0] * count, Holder([3.0])
            holder, other = Holder(old), [first, 2.0]
            outcomes.append(repr((run(holder, other, n), holder, old, other, first)))
        assert outcomes[1] == outcomes[0]

"""What can be jitted: partial applications, bound methods, objects with __call__; their names, signatures and errors."""

import copy
import functools
import inspect
import operator
import pickle
import typing

import cloudpickle
import numpy as np
import pytest
from phlox import jit

X = np.arange(3.0)


def scaled(x, y=2, *, k=1):
    """x times y, plus k."""
    return x * y + k


class Scale:
    """Multiplies by what it holds."""

    def __init__(self, scale):
        self.scale = scale
        self._lock = self.cache_info = self._known = "its own"

    def __call__(self, x, times=1):
        return x * self.scale * times

    def method(self, x):
        return x + self.scale

    @classmethod
    def of_class(cls, x):
        return x + len(cls.__name__)


class Slotted:
    __slots__ = ()

    def __call__(self, x):
        return x - 1


def wrapping(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 100

    return wrapper


# The callable, the name of what is compiled, its parameters.
CALLABLES = [
    (functools.partial(scaled, y=3), "scaled", "(x, *, y=3, k=1)"),
    (functools.partial(functools.partial(scaled, k=5), y=7), "scaled", "(x, *, y=7, k=5)"),
    (functools.partial(Scale.method, Scale(4.0)), "method", "(x)"),
    (functools.partial(Scale(2.0), times=3), "Scale", "(x, *, times=3)"),
    (functools.partial(jit(scaled), y=9), "scaled", "(x, *, y=9, k=1)"),
    (jit(scaled), "scaled", "(x, y=2, *, k=1)"),
    (Scale(2.0), "Scale", "(x, times=1)"),
    (Scale(2.0).method, "method", "(x)"),
    (Scale.of_class, "of_class", "(x)"),
    (Slotted(), "Slotted", "(x)"),
    (wrapping(scaled), "scaled", "(x, y=2, *, k=1)"),
    (lambda x: x + 1, "<lambda>", "(x)"),
    (functools.singledispatch(scaled), "scaled", "(x, y=2, *, k=1)"),
    (np.sin, "sin", None),
    (abs, "abs", "(x, /)"),
]


@pytest.mark.parametrize(("function", "name", "parameters"), CALLABLES, ids=[f"{i}-{c[1]}" for i, c in enumerate(CALLABLES)])
def test_callables(function, name, parameters):
    jitted = jit(function)
    np.testing.assert_array_equal(jitted(X), function(X))
    np.testing.assert_array_equal(jitted(X), function(X))
    assert jitted.__name__ == name and jitted.__wrapped__ is function
    assert parameters is None or str(inspect.signature(jitted)) == parameters
    assert repr(jitted) == f"<jitted {function!r}>"
    assert str(jitted.cache_info()).startswith(f"{name}: ")
    assert jitted.lower(X).compile()(X).tolist() == function(X).tolist()
    with pytest.raises(TypeError, match=rf"^{name}\(\) missing (a|1) required "):
        jitted()


def test_descriptions():
    jitted = jit(functools.partial(scaled, y=3))
    assert jitted.__doc__ == scaled.__doc__ and jitted.__module__ == __name__ and jitted.__qualname__ == "scaled"
    jitted = jit(Scale(2.0))
    assert jitted.__doc__ == Scale.__doc__ and jitted.__module__ == __name__
    assert not hasattr(jitted, "scale")
    function = wrapping(scaled)
    function.note = "given"
    assert jit(function).note == "given"


def test_callables_without_a_signature():
    assert jit(operator.itemgetter(1))(X) == 1.0


def test_arrays_that_a_partial_application_holds_are_read_at_each_call():
    held = np.ones(3)
    for function in (functools.partial(scaled, y=held), functools.partial(scaled, held)):
        jitted = jit(function)
        for value in (1.0, 2.0):
            held[:] = value
            np.testing.assert_array_equal(jitted(X) if "y" in function.keywords else jitted(y=X), X * value + 1)


def test_objects_whose_methods_are_applied_in_part_are_read_at_each_call():
    held = Scale(2.0)
    outside = functools.partial(held.method, X)
    decorated = [jit(outside), jit(functools.partial(held, times=2)), jit(lambda x: outside() + x)]
    for held.scale in (2.0, 3.0, 4.0):
        for jitted, expected in zip(decorated, (X + held.scale, X * held.scale * 2, X + held.scale + X), strict=True):
            np.testing.assert_array_equal(jitted() if jitted is decorated[0] else jitted(X), expected)


def test_callables_inside_of_traced_functions():
    parts = [jit(function) for function, name, _ in CALLABLES]
    total = jit(lambda x: sum(part(x) for part in parts))
    np.testing.assert_allclose(total(X), sum(function(X) for function, _, _ in CALLABLES))


@pytest.mark.parametrize(
    "function", [functools.partial(scaled, y=3), Scale(2.0), Scale(2.0).method, functools.partial(operator.add, 2)]
)
def test_pickles(function):
    jitted = jit(backend="reference")(function)
    jitted(X)
    again = pickle.loads(pickle.dumps(jitted))
    assert again.backend == "reference"
    np.testing.assert_array_equal(again(X), function(X))
    assert copy.copy(jitted) is jitted and copy.deepcopy(jitted) is jitted


class Generates:
    def __call__(self, x):
        yield x


@pytest.mark.parametrize("function", [Generates(), functools.partial(Generates.__call__, None)])
def test_callables_that_only_begin(function):
    with pytest.raises(TypeError, match="'(Generates|__call__)' is a generator"):
        jit(function)


def test_a_jitted_function_tells_what_its_function_is():
    @jit
    def scaled(x: "np.ndarray", n: int = 3, *, k: float = 2.0) -> float:
        return x.sum() * n * k

    function = scaled.__wrapped__
    assert typing.get_type_hints(scaled) == typing.get_type_hints(function)
    assert (scaled.__defaults__, scaled.__kwdefaults__) == (function.__defaults__, function.__kwdefaults__)
    assert not hasattr(jit(np.sum), "__kwdefaults__") and not hasattr(scaled, "others")
    assert pickle.loads(cloudpickle.dumps(scaled)).__annotations__ == function.__annotations__


def test_a_jitted_function_is_registered_by_its_annotations():
    @functools.singledispatch
    def total(value):
        return "other"

    @total.register
    @jit
    def _(value: np.ndarray):
        return value.sum()

    assert (total(np.ones(3)), total(3)) == (3.0, "other")


def counted(function):
    """What a decorator made counts in an attribute, and in a variable of the decorator's."""
    total = 0

    def inner(x):
        nonlocal total
        total += 1
        inner.calls += 1
        return function(x) + total

    inner.calls = 0
    return inner


class Counter:
    def counted(self, function):
        return counted(function)


@pytest.mark.parametrize("decorator", [counted, Counter().counted])
@pytest.mark.parametrize("start", [1.0, 3.0])
def test_what_a_decorator_makes_within_a_jitted_function_is_new_in_each_call(decorator, start):
    def program(x):
        @decorator
        def doubled(x):
            return x * 2

        while x < 20:
            x = doubled(x)
        return x, doubled.calls

    jitted = jit(program)
    jitted(start)
    assert jitted(start) == program(start)

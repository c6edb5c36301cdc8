"""Code and defaults of the decorated function itself that become others."""

import functools
import types

import numpy as np
import pytest
from phlox import jit

X = np.array([1.0, 2.0, 3.0])


def calls(function, *args, **kwargs):
    try:
        return [function(*args, **kwargs) for _ in range(3)]
    except TypeError as error:
        return type(error)


def both(jitted, function, *args, **kwargs):
    expected, found = calls(function, *args, **kwargs), calls(jitted, *args, **kwargs)
    if isinstance(expected, type):
        assert found is expected
    else:
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


def copy_of(function):
    made = types.FunctionType(function.__code__, globals(), function.__name__, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def scaled(x, factor=2.0, *, shift=1.0):
    return x * factor + shift


def shifted(x, factor=2.0, *, shift=1.0):
    return x - factor - shift


def with_others(x, y, z=4.0):
    return x * y * z


def code(function):
    function.__code__ = shifted.__code__


def defaults(function):
    function.__defaults__ = (5.0,)


def other_type(function):
    function.__defaults__ = (np.arange(3),)


def defaults_by_name(function):
    function.__kwdefaults__ = {"shift": 7.0}


def default_in_the_dict(function):
    function.__kwdefaults__["shift"] = 9.0


def no_defaults(function):
    function.__defaults__ = function.__kwdefaults__ = None


def other_parameters(function):
    function.__code__, function.__defaults__ = with_others.__code__, (4.0,)


CHANGES = [code, defaults, other_type, defaults_by_name, default_in_the_dict, no_defaults, other_parameters]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("control_flow", ["source", "trace"])
def test_functions(change, control_flow):
    function = copy_of(scaled)
    function.__kwdefaults__ = dict(scaled.__kwdefaults__)
    jitted = jit(function, control_flow=control_flow) if control_flow == "source" else jit(control_flow="trace")(function)
    held = function.__code__, function.__defaults__, dict(function.__kwdefaults__)
    for _ in range(2):
        for args, kwargs in (((X,), {}), ((X, 3.0), {}), ((X,), {"shift": 4.0}), ((X, 3.0), {"shift": 4.0})):
            both(jitted, function, *args, **kwargs)
        change(function)
        for args, kwargs in (((X,), {}), ((X, 3.0), {}), ((X,), {"shift": 4.0}), ((X, 3.0), {"shift": 4.0})):
            both(jitted, function, *args, **kwargs)
        function.__code__, function.__defaults__, function.__kwdefaults__ = held


def test_by_the_decorated_function():
    function = copy_of(scaled)
    jitted = jit(function)
    both(jitted, function, X)
    jitted.__defaults__ = (11.0,)
    both(jitted, function, X)
    assert jitted(X).tolist() == [12.0, 23.0, 34.0]
    jitted.__code__ = shifted.__code__
    both(jitted, function, X)
    assert (jitted.__code__, jitted.__kwdefaults__) == (shifted.__code__, scaled.__kwdefaults__)
    assert "other code" in str(jitted.cache_info())


def test_where_another_one_calls_it():
    function = copy_of(scaled)
    jitted = jit(function)

    def plain(x):
        return function(x) * 2

    @jit
    def outer(x):
        return jitted(x) * 2

    both(outer, plain, X)
    function.__defaults__ = (-1.0,)
    both(outer, plain, X)
    function.__code__ = shifted.__code__
    both(outer, plain, X)


class Model:
    factor = 2.0

    def scaled(self, x, shift=1.0):
        return x * self.factor + shift

    @jit
    def jitted(self, x, shift=1.0):
        return x * self.factor + shift


def other_method(self, x, shift=3.0):
    return x - self.factor - shift


def test_methods(monkeypatch):
    model = Model()
    jitted, of_part = jit(model.scaled), jit(functools.partial(copy := copy_of(scaled), factor=3.0))
    for _ in range(2):
        both(jitted, model.scaled, X)
        both(model.jitted, model.scaled, X)
        both(of_part, functools.partial(copy, factor=3.0), X)
        monkeypatch.setattr(Model.scaled, "__code__", other_method.__code__)
        monkeypatch.setattr(Model.scaled, "__defaults__", (8.0,))
        monkeypatch.setattr(Model.jitted, "__code__", other_method.__code__)
        monkeypatch.setattr(Model.jitted, "__defaults__", (8.0,))
        monkeypatch.setattr(copy, "__code__", shifted.__code__)

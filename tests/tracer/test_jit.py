"""Jitted functions against the same functions undecorated: arguments, results, the cache, stages."""

import copy
import dataclasses
import inspect
import pickle
from collections import namedtuple

import ml_dtypes
import numpy as np
import pytest
from jitted_calls import assert_same, check, compiled
from phlox.tracer import jit, register_pytree

Point = namedtuple("Point", "x y")


# --- arguments and results ---


@pytest.mark.parametrize("value", [2, 2.5, 1 + 2j, np.float32(3), np.int8(3), np.arange(3.0), np.arange(3, dtype=np.int32)])
def test_leaves(value):
    array = np.arange(3, dtype=np.float32)
    check(lambda x, y: x * y, array, value)


def test_python_scalars_are_weak():
    assert check(lambda x, s: x + s, np.ones(2, np.float32), 2.0)(np.ones(2, np.float32), 2.0).dtype == np.float32
    assert compiled(lambda x, s: x + s)(np.ones(2, np.float32), np.float64(2.0)).dtype == np.float64


def test_python_numbers_remain_python_numbers():
    check(lambda a, b: (a * b, a + 1), 3, 2)
    check(lambda a: a * 2.0, 1.5)


@pytest.mark.parametrize(
    "tree",
    [
        {"b": np.ones(2), "a": 2.0},
        [np.ones(2), (1.0, None)],
        Point(np.ones(2), np.zeros(2)),
        (),
        {"deep": [{"x": (np.arange(3),)}]},
    ],
)
def test_containers(tree):
    check(lambda t: t, tree)
    check(lambda t: {"again": [t, None, "text"]}, tree)


def test_dict_order_is_seen_and_kept():
    check(lambda d: [value * 2 for value in d.values()], {"b": np.ones(1), "a": np.zeros(2)})


def test_results_that_are_no_arrays():
    check(lambda x: (x + 1, "name", 3, None, True, np.float32(2)), np.ones(2))


def test_no_results_and_no_arguments():
    check(lambda: None)
    check(lambda: 5)
    check(lambda x: None, np.ones(2))


def test_one_array_returned_twice_is_one_object():
    def twice(x):
        y = x + 1
        return y, y, x + 1

    for function in (twice, compiled(twice)):
        a, b, c = function(np.ones(2))
        assert a is b and a is not c


def test_dataclass_argument():
    @dataclasses.dataclass
    class Model:
        weights: np.ndarray
        power: int = dataclasses.field(default=2, metadata={"static": True})

    @compiled
    def apply(model, x):
        assert type(model.power) is int
        return model.weights * x**model.power

    x = np.arange(3.0)
    assert_same(apply(Model(np.ones(3) * 2), x), 2 * x**2)
    assert_same(apply(Model(np.ones(3) * 2, 3), x), 2 * x**3)
    assert apply.cache_info().misses == 2


def test_registered_type_as_argument_and_result():
    class Interval:
        def __init__(self, low, high):
            self.low, self.high = low, high

    register_pytree(Interval, lambda i: ((i.low, i.high), None), lambda _, children: Interval(*children))
    wider = compiled(lambda i, by: Interval(i.low - by, i.high + by))(Interval(np.zeros(2), np.ones(2)), 1.0)
    assert_same(wider.low, np.full(2, -1.0))
    assert_same(wider.high, np.full(2, 2.0))


def test_keywords_defaults_and_variable_arguments():
    def f(a, b=2.0, *rest, scale=1.0, **others):
        total = a + b
        for value in rest:
            total = total + value
        for name in others:
            total = total - others[name]
        return total * scale

    x = np.arange(3.0)
    jitted = compiled(f)
    for args, kwargs in [
        ((x,), {}),
        ((x, 3.0), {}),
        ((x,), {"b": 3.0}),
        ((x, 1.0, x, 5.0), {}),
        ((x,), {"scale": 2.0, "other": x}),
        ((), {"b": x, "a": 1.0}),
    ]:
        assert_same(jitted(*args, **kwargs), f(*args, **kwargs))


def test_spelling_of_a_call_does_not_compile_again():
    f = compiled(lambda a, b: a - b)
    x = np.arange(3.0)
    for result in (f(x, 1.0), f(x, b=1.0), f(b=1.0, a=x), f(a=x, b=1.0)):
        assert_same(result, x - 1)
    assert f.cache_info().misses == 1


def test_wrong_arguments_are_python_errors():
    f = compiled(lambda a, b: a - b)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        f(np.ones(2))
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        f(np.ones(2), 1.0, c=3)


def test_methods_and_descriptors():
    @dataclasses.dataclass
    class Line:
        slope: float

        @compiled
        def at(self, x):
            return self.slope * x

        @staticmethod
        @compiled
        def double(x):
            return 2 * x

    x = np.arange(3.0)
    assert_same(Line(3.0).at(x), 3 * x)
    assert_same(Line(4.0).at(x), 4 * x)
    assert_same(Line.at(Line(5.0), x), 5 * x)
    assert_same(Line(1.0).double(x), 2 * x)
    assert Line.at.cache_info().misses == 1


@compiled
def documented(x: float, y=1):
    """Adds."""
    return x + y


def test_metadata_of_the_function():
    assert documented.__name__ == "documented" and documented.__doc__ == "Adds."
    assert str(inspect.signature(documented)) == "(x: float, y=1)"
    assert callable(documented.__wrapped__) and "documented" in repr(documented)


def test_pickled_and_copied_by_name():
    assert copy.deepcopy(documented) is documented
    assert documented.__reduce__() == "documented"
    with pytest.raises((pickle.PicklingError, AttributeError)):  # as for any lambda
        pickle.dumps(compiled(lambda x: x))


class Particle:
    pass


@pytest.mark.parametrize(
    "wrong, reason",
    [
        (3, "int given"), (classmethod(lambda cls: 1), "put @classmethod above"),
        ("f8(f8)", "'f8.f8.' given: the types .* each call"), (Particle, "'Particle' is a class: decorate its methods"),
    ],
)  # fmt: skip
def test_jit_requires_a_function(wrong, reason):
    with pytest.raises(TypeError, match=f"jit requires a function.*{reason}"):
        jit(wrong)


def test_jit_rejects_generators_and_coroutines():
    async def coroutine():
        return 1

    def generator():
        yield 1

    for function, message in ((coroutine, "generator or a coroutine"), (generator, r"jit\(lambda \*args: list\(.*generator")):
        with pytest.raises(TypeError, match=message):
            jit(function)


# --- memory: order, alignment, byte order ---


def misaligned(array):
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    view = buffer[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


BASE = np.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(BASE),
        BASE[:, ::2],
        BASE[::-1],
        BASE.T,
        BASE.astype(">f8"),
        misaligned(BASE),
        np.broadcast_to(np.arange(6.0), (4, 6)),
        np.zeros((0, 3)),
        np.array(3.0),
        BASE.reshape(2, 2, 6).transpose(2, 0, 1),
        np.arange(3, dtype=ml_dtypes.bfloat16),
        np.arange(3, dtype=np.float16),
        np.array([True, False]),
    ],
)
def test_memory_of_arguments(array):
    f = compiled(lambda x: x + x)
    result = f(array)
    expected = np.asarray(array, array.dtype.newbyteorder("=")) * 2 if array.dtype != bool else array | array
    np.testing.assert_array_equal(np.asarray(result), expected)
    assert result.dtype == expected.dtype and result.shape == array.shape


def test_fortran_order_becomes_a_layout():
    f = compiled(lambda x: x + 1)
    module = f.trace(np.asfortranarray(BASE)).module
    assert module.entry.parameter_shapes[0].minor_to_major == (0, 1)
    f(BASE), f(np.asfortranarray(BASE))
    assert "memory order C -> F" in f.cache_info().entries[1].reason


def test_memory_order_and_alignment_are_checked_at_each_call():
    f = compiled(lambda x: x * 2)
    for array in (BASE, misaligned(BASE), BASE[:, ::2], np.asfortranarray(BASE), BASE, misaligned(BASE)):
        assert_same(f(array), array * 2)


def test_memmap_is_an_array(tmp_path):
    array = np.memmap(tmp_path / "array", dtype=np.float64, mode="w+", shape=(3,))
    array[:] = [1, 2, 3]
    result = compiled(lambda x: x + 1)(array)
    np.testing.assert_array_equal(result, [2, 3, 4])


# --- nested functions ---


def test_nested_jit_is_a_call():
    inner = compiled(lambda x, y: x * y)

    @compiled
    def outer(x):
        return inner(x, 2.0) + inner(x, x)

    x = np.arange(3.0)
    assert_same(outer(x), x * 2 + x * x)
    opcodes = [instruction.opcode for instruction in outer.trace(x).module.entry.instructions]
    assert opcodes.count("call") == 2
    assert inner.cache_info().misses == 0


def test_nested_jit_changes_arrays_in_place():
    @compiled
    def set_first(x):
        x[0] = 9
        return x

    def outer(x):
        y = x + 1
        z = set_first(y)
        return y, z is y

    check(outer, np.zeros(2))


def test_nested_jit_returns_containers_and_constants():
    inner = compiled(lambda x: {"a": x + 1, "b": "text", "c": None, "d": x})
    check(lambda x: inner(x), np.ones(2))


class Setting:
    """Hashable by a value that can be changed."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return isinstance(other, Setting) and self.value == other.value


@pytest.mark.parametrize("wrap", [lambda setting: setting, lambda setting: (setting, 1)])
def test_static_argument_that_is_changed(wrap):
    @jit(static_argnames=("setting",))
    def f(x, setting):
        setting = setting[0] if isinstance(setting, tuple) else setting
        x *= setting.value
        return x.copy()

    setting = Setting(2)
    for value in (2, 5, 2, 7, 7):
        setting.value = value
        assert f(np.ones(2), wrap(setting)).tolist() == [value, value]
        assert f(np.ones(2), wrap(Setting(2))).tolist() == [2, 2]
        pure = jit(static_argnames=("setting",))(lambda x, setting: x * setting.value)
    for value in (2, 5, 2):
        setting.value = value
        assert pure(np.ones(2), setting).tolist() == [value, value]

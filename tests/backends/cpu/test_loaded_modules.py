"""Loaded modules are called natively with the exact arrays that they take, by way of Python with anything that fits."""

import gc
import weakref

import numpy as np
import pytest
from phlox import load_hlo
from phlox.backends.loading import LoadedModuleBase
from phlox.backends.registry import native_call_unavailable

native = pytest.mark.skipif(native_call_unavailable() is not None, reason="calls are not native here")

NESTED = """
HloModule nested

ENTRY main {
  x = f32[2,3]{0,1} parameter(0)
  s = f32[] parameter(1)
  b = f32[2,3] broadcast(s), dimensions={}
  y = f32[2,3] add(x, b)
  pair = (f32[2,3], f32[]) tuple(y, s)
  ROOT r = ((f32[2,3], f32[]), f32[2,3]) tuple(pair, b)
}"""
TOKENS = """
HloModule tokens

ENTRY main {
  t = token[] parameter(0)
  x = f32[3] parameter(1)
  ROOT r = (f32[3], token[]) tuple(x, t)
}"""


def check(results):
    (y, s), b = results
    np.testing.assert_array_equal(y, [[2, 3, 4], [5, 6, 7]])
    np.testing.assert_array_equal(b, np.full((2, 3), 2))
    assert s == 2 and type(s) is np.float32


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_whatever_fits(backend):
    f, x = load_hlo(NESTED, backend), np.arange(6, dtype=np.float32).reshape(2, 3)
    for array in (x, np.asfortranarray(x), x.astype(">f4"), x[::-1][::-1]):
        for scalar in (2.0, np.float32(2), np.array(2, np.float32)):
            check(f(array, scalar))
    with pytest.raises(TypeError, match="takes 2 arguments"):
        f(x)
    with pytest.raises(ValueError, match=r"an array of shape \(3, 2\) given"):
        f(x.T, 2.0)


@native
def test_exact_arrays_bypass_python(monkeypatch):
    f = load_hlo(NESTED)

    def fail(self, *arguments):
        raise AssertionError("called by way of Python")

    monkeypatch.setattr(LoadedModuleBase, "call_in_python", fail)
    x = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    check(f(x, np.float32(2)))
    with pytest.raises(AssertionError, match="by way of Python"):
        f(x, 2.0)


def test_a_module_is_freed_with_its_code():
    f = load_hlo(NESTED)
    check(f(np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)), np.float32(2)))
    alive = weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None


def test_tokens_are_none():
    x = np.ones(3, np.float32)
    for backend in ("cpu", "reference"):
        y, token = load_hlo(TOKENS, backend)(None, x)
        assert token is None
        np.testing.assert_array_equal(x, y)


SCALAR = "HloModule m\nENTRY e {{ x = {0}[] parameter(0)  ROOT y = {0}[] copy(x) }}"


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize(("value", "expected"), [(2**70, 2.0**70), (-(2**70), -(2.0**70)), (2**127, 2.0**127), (True, 1.0)])
def test_numbers_of_python_that_fit(backend, value, expected):
    for element_type in ("bf16", "f32", "f64", "c64", "c128"):
        assert load_hlo(SCALAR.format(element_type), backend=backend)(value) == expected


@pytest.mark.parametrize("element_type", ["f16", "bf16", "f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("value", [10**400, -(10**400)], ids=["positive", "negative"])
def test_numbers_of_python_that_do_not_fit(element_type, value):
    with pytest.raises(TypeError, match=rf"m, parameter 0 \(x\): {element_type}\[\] is required, the Python int -?1000"):
        load_hlo(SCALAR.format(element_type), backend="reference")(value)


MASKED = np.ma.array(np.float32([[1, 2, 3], [4, 5, 6]]), mask=[[True, False, False], [False, True, False]])


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((MASKED, 2.0), TypeError, r"parameter 0 \(x\): an array without a mask is required, a masked array given"),
        (
            ([[1.0, 2.0], [3.0]], 2.0),
            ValueError,
            r"parameter 0 \(x\): an array is required, the list given has elements of diff",
        ),
        ((np.ones((2, 3), np.float32),), TypeError, r"nested takes 2 arguments .*, 1 given"),
    ],
)
def test_arguments_that_do_not_fit(backend, arguments, error, message):
    with pytest.raises(error, match=message):
        load_hlo(NESTED, backend=backend)(*arguments)


def test_what_an_executable_refuses():
    loaded = load_hlo(NESTED)
    with pytest.raises(TypeError, match=r"parameter 0 \(x\): an array without a mask is required"):
        loaded.executable(MASKED.copy(order="F"), np.float32(2))
    with pytest.raises(TypeError, match="nested takes its arguments by position, not x, s by name"):
        loaded(x=MASKED, s=2.0)
    with pytest.raises(TypeError, match=r"parameter 0 \(t\): None is required for a token, float given"):
        load_hlo(TOKENS)(1.0, np.zeros(3, np.float32))

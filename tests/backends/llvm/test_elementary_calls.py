"""Elementary functions give the same bits whether their code is inline or is called, in every loop that applies them."""

import re

import numpy as np
import pytest
from phlox import fori_loop, jit
from phlox.backends.llvm import elementary_calls
from phlox.backends.llvm.complex_arithmetic import COMPLEX_EMITTERS
from phlox.backends.llvm.elementary import ELEMENTARY_FUNCTIONS
from phlox.backends.registry import get_backend
from phlox.hlo import BF16, C64, C128, F32, F64, Shape
from phlox.xla_builder import XlaBuilder

BINARY = {"atan2", "power", "remainder"}
COMPLEX = sorted(ELEMENTARY_FUNCTIONS.keys() & COMPLEX_EMITTERS.keys() - {"atan2"}) + ["abs", "divide"]
ALWAYS, NEVER = -1, 10**9


def compiled(monkeypatch, applications, compile_it):
    """What ``compile_it()`` returns, where modules with more than so many applications of elementary functions call them."""
    with monkeypatch.context() as patch:
        patch.setattr(elementary_calls, "_INLINE_APPLICATIONS", applications)
        return compile_it()


def module_of(name, element_type):
    """The operation on arrays of several sizes; and the dimensions of the operands."""
    b = XlaBuilder(name)
    results, dimensions = [], []
    for sizes in SIZES:
        count = 2 if name in BINARY | {"divide"} else 1
        operands = [b.parameter(Shape(element_type, sizes), f"x{len(dimensions) + k}") for k in range(count)]
        dimensions += [sizes] * count
        results.append(b.emit(name, *operands))
    return b.build_module(b.Tuple(results)), dimensions


def samples(element_type, dimensions):
    random = np.random.default_rng(3)
    specials = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-30, 3e5, -2e9]

    def reals():
        special = random.random(dimensions) < 0.2
        return np.where(special, random.choice(specials, dimensions), 3 * random.standard_normal(dimensions))

    with np.errstate(all="ignore"):
        return np.asarray(reals() + 1j * reals() if element_type.is_complex else reals()).astype(element_type.dtype)


def same_bits(one, other):
    """Equality that tells zeros apart and takes any two NaNs as equal."""
    one, other = (np.ascontiguousarray(array).astype(np.float64) for array in (one, other))
    return np.array_equal(one, other, equal_nan=True) and np.array_equal(
        np.signbit(one) & ~np.isnan(one), np.signbit(other) & ~np.isnan(other)
    )


def parts(array):
    array = np.asarray(array)
    return [array.real, array.imag] if np.iscomplexobj(array) else [array]


def check(monkeypatch, name, element_type, called_name):
    module, dimensions = module_of(name, element_type)
    forms = [compiled(monkeypatch, limit, lambda: get_backend("cpu").compile(module)) for limit in (NEVER, ALWAYS)]
    calls = [re.search(rf'call .*@"phlox\.{called_name}\.v?\d*f', form.llvm_ir()) is not None for form in forms]
    assert calls == [False, called_name not in ("sqrt", "rsqrt")]
    arguments = [samples(element_type, sizes) for sizes in dimensions]
    for inline, called in zip(*(form(*arguments) for form in forms), strict=True):
        assert all(map(same_bits, parts(inline), parts(called)))


# A scalar; less than a vector; several registers at a time, of which some overlap; rows.
SIZES = [(), (3,), (200,), (3, 70)]


@pytest.mark.parametrize("element_type", [F32, F64], ids=lambda t: t.name)
@pytest.mark.parametrize("name", sorted(ELEMENTARY_FUNCTIONS))
def test_real_functions(monkeypatch, name, element_type):
    check(monkeypatch, name, element_type, name)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions(monkeypatch, name):
    check(monkeypatch, name, C128 if name in ("divide", "exponential") else C64, f"complex.{name}")


@pytest.mark.parametrize("name", ["exponential", "power"])
def test_narrow_functions(monkeypatch, name):
    check(monkeypatch, name, BF16, name)


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def several(x, y):
    return np.exp(-x * x) * np.sin(y) + np.tanh(x * y) + np.log1p(np.abs(x)) + np.cosh(y) ** 1.5


def in_place(x, y):
    x[1:] = np.sin(x[1:]) + np.exp(y[1:])
    return np.cos(x), x


def mixed_widths(x, y):
    return np.exp(x.astype(np.float64)) + np.sin(y), (np.tan(x) > 0.5), np.cos(x).astype(np.int8)


def moved(x, y):
    return np.concatenate([np.sin(x[::2]), np.exp(y)[::-1], np.cos(np.roll(x, 3))])


def reductions(x, y):
    return (
        np.sum(np.exp(x)),
        np.max(np.sin(x) * np.cos(y)),
        np.mean(np.tanh(np.outer(x, y)), axis=0),
        np.sum(np.log1p(np.abs(np.outer(x, y))), axis=1),
    )


def rows(x, y):
    e = np.exp(np.outer(x, y))
    return e / e.sum(axis=1, keepdims=True)


def loop(x, y):
    return fori_loop(0, 5, lambda i, state: np.sin(state) * np.exp(-y) + np.cos(state[0]), x)


@pytest.mark.parametrize("size, dtype", [(5, np.float32), (67, np.float64), (300, np.float32)])
@pytest.mark.parametrize("program", [several, in_place, mixed_widths, moved, reductions, rows, loop], ids=lambda f: f.__name__)
def test_programs(monkeypatch, program, size, dtype):
    random = np.random.default_rng(size)
    x, y = (random.standard_normal(size).astype(dtype) for _ in range(2))
    inline, called = (
        compiled(monkeypatch, limit, lambda: jit(lambda x, y: program(x, y))(x.copy(), y.copy())) for limit in (NEVER, ALWAYS)
    )
    for one, other in zip(leaves(inline), leaves(called), strict=True):
        assert same_bits(one, other)


def test_few_applications_stay_inline():
    x = np.ones(100, np.float32)

    def text(function):
        return jit(function).lower(x).compile().executable.llvm_ir()

    assert "phlox.exponential" not in text(lambda x: np.exp(x) + 1)
    assert "phlox.exponential" in text(lambda x: np.exp(np.sin(np.cos(np.exp(x)))))

"""phlox.numpy: NumPy's names as functions that record themselves."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from phlox import jit
from phlox.tracer import numpy_namespace as pnp


def test_creation_is_recorded_not_captured():
    @jit(backend="reference")
    def make(n):
        rows = pnp.zeros((2, 3))
        rows[0] = n
        rows += pnp.arange(3)
        return (
            rows,
            pnp.eye(2),
            pnp.array([n, 1.5]),
            pnp.full((2,), n),
            pnp.indices((2, 2)),
            pnp.linspace(0, n, 3),
            pnp.ones(2, np.int8),
        )

    expected = (
        np.array([[4.0, 5, 6], [0, 1, 2]]), np.eye(2), np.array([4, 1.5]), np.full((2,), 4), np.indices((2, 2)),
        np.linspace(0, 4, 3), np.ones(2, np.int8),
    )  # fmt: skip
    for one, other in zip(make(4), expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    opcodes = {instruction.opcode for instruction in make.trace(4).module.entry.instructions}
    assert {"iota", "broadcast"} <= opcodes


def test_functions_ufuncs_and_constants():
    @jit(backend="reference")
    def use(x):
        return (
            pnp.sin(x) * pnp.pi,
            pnp.add.reduce(x),
            pnp.add.accumulate([1, 2]),
            pnp.multiply.outer(x, x),
            pnp.linalg.norm(x),
            pnp.sum([x, x]),
        )

    x = np.arange(3.0)
    expected = (np.sin(x) * np.pi, x.sum(), np.array([1, 3]), np.multiply.outer(x, x), np.linalg.norm(x), np.sum([x, x]))
    for one, other in zip(use(x), expected, strict=True):
        np.testing.assert_allclose(one, other)


def test_outside_of_tracing_it_is_numpy():
    assert type(pnp.zeros(3)) is np.ndarray
    assert pnp.sin(1.0) == np.sin(1.0)
    assert pnp.add.reduce([1, 2]) == 3
    assert pnp.float32 is np.float32 and pnp.newaxis is None and pnp.inf == np.inf
    x = np.zeros(3)
    pnp.add.at(x, [0, 0], 1)
    assert x[0] == 2


def test_all_of_numpy_is_there():
    assert all(hasattr(pnp, name) for name in np.__all__)
    assert all(hasattr(pnp.linalg, name) for name in np.linalg.__all__)
    assert pnp.add.nin == 2 and pnp.add.types == np.add.types

    @jit(backend="reference")
    def use(x):
        grid = pnp.mgrid[:2, :2]
        return pnp.r_[x, 1.0], grid, pnp.add.reduceat(x, [0, 2]), pnp.random.default_rng(1).random(3), pnp.c_[x, x]

    x = np.arange(4.0)
    expected = np.r_[x, 1.0], np.mgrid[:2, :2], np.add.reduceat(x, [0, 2]), np.random.default_rng(1).random(3), np.c_[x, x]
    for one, other in zip(use(x), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def signature(function):
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):  # of some that are no Python functions
        return None


def test_signatures_are_numpys():
    for module, own in ((np, pnp), (np.linalg, pnp.linalg), (np.fft, pnp.fft)):
        for name in module.__all__:
            assert signature(getattr(own, name)) == signature(getattr(module, name)), name


def test_arrays_are_copied_where_numpy_copies():
    def use(x):
        made = (
            pnp.array(x), pnp.array(x, copy=False), pnp.asarray(x), pnp.asarray(x, copy=True), pnp.astype(x, float, copy=False),
            pnp.astype(x, float), pnp.reshape(x, (2, 2), copy=True).reshape(-1), pnp.reshape(x, (2, 2), copy=False).reshape(-1),
        )  # fmt: skip
        x += 1
        return [one[0] == x[0] for one in made]

    def copied(x):
        return pnp.asarray(x, dtype=np.float32, copy=False)

    is_shared = [False, True, True, False, True, False, False, True]
    assert use(np.arange(4.0)) == is_shared == jit(use, backend="reference")(np.arange(4.0))
    for function in (copied, jit(copied, backend="reference")):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            function(np.arange(4.0))


def test_names_that_numpy_has_not():
    with pytest.raises(AttributeError, match="^module 'phlox.numpy' has no attribute 'zerros'$") as caught:
        pnp.zerros  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("zerros", pnp)


def test_what_is_missing_says_so():
    assert "np.isnat" in pnp.gaps()
    with pytest.raises(NotImplementedError, match=r"np.isnat.*dates"):
        jit(lambda x: pnp.isnat(x), backend="reference")(np.arange(3))
    assert set(pnp.__all__) <= set(dir(pnp))

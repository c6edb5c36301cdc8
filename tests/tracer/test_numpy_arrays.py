"""Functions of shapes, products, padding and numbers on traced arrays agree with NumPy: values, dtypes, shapes, exceptions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from phlox import jit

TOLERANCE = {"e": 2e-3, "f": 5e-6, "d": 1e-13, "F": 5e-6, "D": 1e-13}

RANDOM = np.round(np.random.default_rng(0).uniform(-3, 3, (2, 3, 4)), 2)
REALS = [RANDOM, RANDOM.astype(np.float32), np.round(RANDOM).astype(np.int32)]
NUMBERS = [*REALS, RANDOM + 1j * RANDOM[::-1], RANDOM.astype(np.float16)]
EVERY = [*NUMBERS, RANDOM > 0]


ERRORS = (TypeError, ValueError, IndexError, ZeroDivisionError)


def outcome(function, array):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(array)
        except ERRORS as error:
            return error


def same(expected, actual):
    if isinstance(expected, (tuple, list)):
        assert isinstance(actual, (tuple, list)) and len(actual) == len(expected)
        for one, other in zip(expected, actual):
            same(one, other)
        return
    assert np.shape(actual) == np.shape(expected)
    assert np.asarray(actual).dtype == np.asarray(expected).dtype
    kind = np.asarray(expected).dtype
    tolerance = TOLERANCE.get(kind.char, 0)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=4 * tolerance)


def check(function, array):
    expected, actual = outcome(function, array.copy()), outcome(jit(function, backend="reference"), array.copy())
    if isinstance(expected, Exception):
        assert isinstance(actual, next(kind for kind in ERRORS if isinstance(expected, kind))), (expected, actual)
        return
    if isinstance(actual, Exception):
        raise actual
    same(expected, actual)


def cases(arrays, /, **functions):
    """One test for each of the named functions, over all these arrays (shape (2, 3, 4))."""
    return pytest.mark.parametrize(
        ("function", "array"),
        [pytest.param(function, array, id=f"{name}-{array.dtype}") for name, function in functions.items() for array in arrays],
    )


@cases(
    EVERY[::2],
    reshape=lambda x: (x.reshape(6, 4), x.reshape((4, -1)), np.reshape(x, (3, 8), order="F"), x.reshape(2, 2, -1, order="F")),
    ravel=lambda x: (x.ravel(), x.ravel("F"), x.flatten("F"), x.T.ravel("A"), x.T.reshape(-1), np.ravel(x)),
    transpose=lambda x: (
        x.T,
        x.transpose(1, 0, 2),
        np.transpose(x, (2, 0, 1)),
        x.transpose((0, -1, 1)),
        x.swapaxes(0, 2),
        x.mT,
    ),
    moveaxis=lambda x: (np.moveaxis(x, 0, -1), np.moveaxis(x, (0, 1), (2, 0)), np.rollaxis(x, 2), np.rollaxis(x, 0, 3)),
    wrong_order=lambda x: x.transpose(0, 1),
    repeated_axis=lambda x: x.transpose(0, 1, 1),
    wrong_size=lambda x: x.reshape(5, 5),
    two_unknown=lambda x: x.reshape(-1, -1, 2),
    expand=lambda x: (
        np.expand_dims(x, 0),
        np.expand_dims(x, (1, -1)),
        np.squeeze(x[:1]),
        x[:, :1].squeeze(1),
        x[None].squeeze((0,)),
    ),
    squeeze_error=lambda x: x.squeeze(0),
    broadcast=lambda x: (
        np.broadcast_to(x, (5, 2, 3, 4)),
        np.broadcast_to(x[:, :1], (2, 3, 4)),
        np.broadcast_arrays(x, x[0], 1.0)[2],
    ),
    broadcast_error=lambda x: np.broadcast_to(x, (3, 4)),
    at_least=lambda x: (
        np.atleast_1d(x[0, 0, 0]),
        np.atleast_2d(x[0, 0]),
        np.atleast_3d(x[0]),
        np.atleast_1d(x, x[0, 0, 0])[1],
    ),
    flip=lambda x: (np.flip(x), np.flip(x, 1), np.flip(x, (0, 2)), np.fliplr(x), np.flipud(x)),
    rotate=lambda x: (np.rot90(x), np.rot90(x, 2), np.rot90(x, 3, (1, 2)), np.rot90(x, -1), np.rot90(x, 4)),
    roll=lambda x: (
        np.roll(x, 1),
        np.roll(x, -2, axis=1),
        np.roll(x, (1, 2), axis=(0, 2)),
        np.roll(x, 5, axis=(0, 1)),
        np.roll(x, 3, 0),
    ),
    centered=lambda x: (np.fft.fftshift(x), np.fft.fftshift(x, 1), np.fft.ifftshift(x), np.fft.ifftshift(x, (0, -1))),
    questions=lambda x: (np.array(np.shape(x)), np.ndim(x), np.size(x), np.size(x, 1), x.size, x.nbytes, x.itemsize, len(x)),
    strides=lambda x: (
        np.array(x.strides),
        np.array(x.T.strides),
        np.array(x[:, ::-2].strides),
        np.array(x[1:, None].strides[2:]),
    ),
)
def test_shapes(function, array):
    check(function, array)


@cases(
    EVERY[1::2],
    concatenate=lambda x: (
        np.concatenate([x, x], axis=1),
        np.concatenate((x, x[:1])),
        np.concatenate([x, x], axis=None),
        np.concatenate(x),
    ),
    mixed=lambda x: (np.concatenate([x, np.ones((2, 3, 1), np.int8)], 2), np.concatenate([x[0, 0], [1, 2]]), np.append(x, 5)),
    with_dtype=lambda x: np.concatenate([x.real, x.real], dtype=np.float16),
    stack=lambda x: (
        np.stack([x, x]),
        np.stack([x, x], axis=-1),
        np.stack([x[0, 0, 0], 1]),
        np.vstack([x, x]),
        np.hstack([x, x]),
    ),
    columns=lambda x: (
        np.dstack([x, x]),
        np.column_stack([x[0, 0], x[0, 0]]),
        np.hstack([x[0, 0, 0], 2]),
        np.vstack([x[0, 0], [1, 2, 3, 4]]),
    ),
    wrong_rank=lambda x: np.concatenate([x, x[0]]),
    wrong_size=lambda x: np.concatenate([x, x[:, :2]]),
    wrong_axis=lambda x: np.concatenate([x, x], axis=3),
    wrong_stack=lambda x: np.stack([x, x[0]]),
    block=lambda x: np.block([[x[0], x[1]], [x[1], x[0]]]),
    split=lambda x: (
        np.split(x, 2),
        np.array_split(x, 3, axis=2),
        np.split(x, [1, 3], axis=2),
        np.hsplit(x, 3),
        np.dsplit(x, [1]),
    ),
    unequal_split=lambda x: np.split(x, 3),
    tile=lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 3)), np.tile(x, (2, 1, 1, 2)), np.tile(x[0, 0], (2, 2)), np.tile(x, 0)),
    repeat=lambda x: (
        np.repeat(x, 2),
        np.repeat(x, 3, axis=1),
        x.repeat([1, 0, 2], axis=1),
        np.repeat(x, [2], axis=0),
        np.repeat(x, 0, 0),
    ),
    wrong_repeats=lambda x: np.repeat(x, [1, 2], axis=1),
    negative_repeats=lambda x: np.repeat(x, -1),
    resize=lambda x: (np.resize(x, (3, 3)), np.resize(x, (5, 10))),
)
def test_joining_and_splitting(function, array):
    check(function, array)


@cases(
    NUMBERS,
    like=lambda x: (
        np.zeros_like(x),
        np.ones_like(x, dtype=int),
        np.full_like(x, 7),
        np.full_like(x, 2, dtype=np.float32, shape=(2,)),
    ),
    filled=lambda x: (
        np.zeros((2, 3), like=x),
        np.ones(3, np.int8, like=x),
        np.full((2,), 3, like=x),
        np.full(2, [1.5, 2], like=x),
    ),
    ranges=lambda x: (
        np.arange(5, like=x),
        np.arange(2, 11, 3, like=x),
        np.arange(0, 1, 0.1, like=x),
        np.arange(5, 0, -2, np.float32, like=x),
    ),
    eye=lambda x: (np.eye(3, like=x), np.eye(2, 4, 1, like=x), np.identity(2, like=x), np.tri(3, 4, 1, like=x)),
    triangles=lambda x: (np.tril(x), np.triu(x, 1), np.tril(x, -1), np.triu(x[0])),
    diagonals=lambda x: (
        np.diag(x[0]),
        np.diag(x[0], -1),
        np.diagonal(x),
        np.diagonal(x, 1, 1, 2),
        np.diagonal(x, -1, 0, 2),
        np.diagonal(x, 5),
    ),
    diagonal_matrices=lambda x: (
        np.diag(x[0, 0]),
        np.diag(x[0, 0], 1),
        np.diag(x[0, 0], -2),
        np.diagflat(x[0]),
        np.trace(x, 1, 1, 2),
        x.trace(),
    ),
    grids=lambda x: (
        np.meshgrid(x[0, 0], x[0, :, 0]),
        np.meshgrid(x[0, 0], x[0, :, 0], x[:, 0, 0], sparse=True, indexing="ij"),
    ),
    from_arrays=lambda x: (
        np.asarray(x, like=x),
        np.array([x[0], x[1]], like=x),
        np.array([[x[0, 0, 0], 1], [2, 3]], like=x),
        np.asarray(3, like=x),
    ),
    whether_copied=lambda x: [np.array(x, copy=copy, like=x) for copy in np._CopyMode],
    conversions=lambda x: (np.copy(x), x.astype(np.complex64), x.astype(bool), np.array(x, ndmin=5, like=x)),
    vander=lambda x: (np.vander(x[0, 0]), np.vander(x[0, 0], 3, True)),
    inhomogeneous=lambda x: np.array([x, x[0]], like=x),
)
def test_creation(function, array):
    check(function, array)


@cases(
    EVERY,
    matmul=lambda x: (
        x @ x.mT,
        x[0] @ x[0].T,
        x[0] @ x[0, 0],
        x[0, 0] @ x[0].T,
        x[0, 0] @ x[0, 0],
        x @ x[0].T,
        x[0] @ x.mT,
        x @ x[0, 0],
    ),
    matmul_broadcast=lambda x: (x[0, 0] @ x.mT, np.matmul(x[:, None], x.mT[None]), np.matmul(x[:1], x.mT), x[:0] @ x.mT[0]),
    matmul_sizes=lambda x: x @ x,
    matmul_scalar=lambda x: x @ 2,
    dot=lambda x: (
        np.dot(x[0], x[0].T),
        x[0].dot(x[0, 0]),
        np.dot(x[0, 0], x[0, 0]),
        np.dot(x, x.mT),
        np.dot(x, 2),
        np.dot(x, x[0, 0]),
    ),
    inner=lambda x: (np.inner(x, x[0]), np.inner(x[0, 0], 2), np.vdot(x, x), np.outer(x[0], x[1]), np.vecdot(x, x[0])),
    dot_sizes=lambda x: np.dot(x, x),
    tensordot=lambda x: (
        np.tensordot(x, x, 3),
        np.tensordot(x, x, ((0, 2), (0, 2))),
        np.tensordot(x, x[0].T, 1),
        np.tensordot(x[0], x[0], 0),
    ),
    tensordot_sizes=lambda x: np.tensordot(x, x, axes=2),
    kron=lambda x: (np.kron(x[0], x[0]), np.kron(x, x[0]), np.kron(x[0, 0], 2), np.kron(x[0, 0], x)),
    einsum=lambda x: (
        np.einsum("ijk->kji", x),
        np.einsum("ijk,ijk->", x, x),
        np.einsum("ijk,ijk->i", x, x),
        np.einsum("ij,kj", x[0], x[0]),
    ),
    einsum_batch=lambda x: (
        np.einsum("bij,bkj->bik", x, x),
        np.einsum("...j,j", x, x[0, 0]),
        np.einsum("...ij,...kj->...ik", x, x[0]),
    ),
    einsum_diagonal=lambda x: (np.einsum("ii->i", x[0, :, :3]), np.einsum("ii", x[0, :, :3]), np.einsum("iij->j", x[:, :2])),
    einsum_chain=lambda x: (
        np.einsum("i,j,k->ijk", *x[0]),
        np.einsum("ij,jk,kl->il", x[0], x[0].T, x[0]),
        np.einsum("ij,jk->", x[0], x[0].T),
    ),
    einsum_lists=lambda x: (
        np.einsum(x, [0, 1, 2], x[0], [1, 3], [0, 3]),
        np.einsum("ij,ij->ij", x[0], x[0, :1]),
        np.einsum(" i j->j i", x[0]),
    ),
    einsum_rank=lambda x: np.einsum("ij->i", x),
    einsum_operands=lambda x: np.einsum("ijk,lm->", x),
    einsum_unknown=lambda x: np.einsum("ijk->l", x),
    einsum_sizes=lambda x: np.einsum("ij,ij->", x[0], x[0, :2]),
)
def test_products(function, array):
    check(function, array)


@cases(
    [*REALS, NUMBERS[3]],
    cross=lambda x: (
        np.cross(x[:, :, 0], x[:, :, 1]),
        np.cross(x[0, :, 0], x[:, :, 1]),
        np.cross(x[..., 0].T, x[..., 1].T, axis=0),
    ),
    norms=lambda x: (
        np.linalg.norm(x),
        np.linalg.norm(x, axis=1),
        np.linalg.norm(x[0], 1),
        np.linalg.norm(x[0], np.inf),
        np.linalg.norm(x[0], -1),
    ),
    vector_norms=lambda x: (
        np.linalg.norm(x, ord=3, axis=-1),
        np.linalg.norm(x[0, 0], 0),
        np.linalg.norm(x, axis=0, keepdims=True),
    ),
    more_norms=lambda x: (
        np.linalg.norm(x[0], "fro", keepdims=True),
        np.linalg.norm(x[0, 0], -np.inf),
        np.linalg.matrix_norm(x),
    ),
    wrong_norm=lambda x: np.linalg.norm(x, 1),
    powers=lambda x: (
        np.linalg.matrix_power(x[:, :, :3], 3),
        np.linalg.matrix_power(x[0, :, :3], 0),
        np.linalg.matrix_power(x[0, :, :3], 1),
    ),
    chain=lambda x: (np.linalg.multi_dot([x[0], x[0].T, x[0]]), np.linalg.multi_dot([x[0, 0], x[0].T, x[0], x[0, 0]])),
    parts=lambda x: (
        x.real,
        x.imag,
        np.conj(x),
        x.conj(),
        np.real(x),
        np.imag(x),
        np.isreal(x),
        np.iscomplex(x),
        np.iscomplexobj(x),
    ),
)
def test_linear_algebra(function, array):
    check(function, array)


@cases(
    REALS,
    constant=lambda x: (np.pad(x, 1), np.pad(x, ((0, 1), (2, 0), (1, 1))), np.pad(x, (1, 2), constant_values=5), np.pad(x, 0)),
    constants=lambda x: (np.pad(x, 1, constant_values=((1, 2), (3, 4), (5, 6))), np.pad(x, 1, constant_values=x[0, 0, 0])),
    arrays=lambda x: (np.pad(x, np.array([[1], [0], [2]])), np.pad(x, 1, constant_values=np.array([3, 4]))),
    axes=lambda x: (np.pad(x, {0: 1, -1: (2, 0)}), np.pad(x, {1: (1, 2)})),
    three_widths=lambda x: np.pad(x, (1, 2, 3)),
    width_missing=lambda x: np.pad(x, ((1, 2), (3, 4), ())),
    edge=lambda x: (np.pad(x, 2, mode="edge"), np.pad(x, [(1,)], "edge")),
    wrap=lambda x: np.pad(x, ((1, 3), (5, 2), (0, 9)), mode="wrap"),
    reflect=lambda x: (np.pad(x, ((1, 1), (2, 7), (3, 0)), mode="reflect"), np.pad(x, 1, mode="reflect", reflect_type="odd")),
    symmetric=lambda x: (
        np.pad(x, ((2, 3), (4, 5), (6, 7)), mode="symmetric"),
        np.pad(x, 1, mode="symmetric", reflect_type="odd"),
    ),
    statistics=lambda x: (
        np.pad(x, ((0, 0), (1, 0), (2, 2)), "maximum"),
        np.pad(x, 1, "minimum", stat_length=2),
        np.pad(x, 2, "mean"),
    ),
    ramp=lambda x: np.pad(x, (3, 2), "linear_ramp", end_values=(5, -4)),
    negative=lambda x: np.pad(x, -1),
    unknown=lambda x: np.pad(x, 1, "nothing"),
    unsupported=lambda x: np.pad(x, 1, "edge", constant_values=1),
    empty=lambda x: np.pad(x[:0], 1, "edge"),
    wrong_widths=lambda x: np.pad(x, ((1, 1), (1, 1))),
)
def test_padding(function, array):
    check(function, array)


@cases(
    REALS,
    where=lambda x: (np.where(x > 0, x, 0), np.where(x > 0, 1, -1), np.where(x > 0, x, np.float32(1)), np.where(x, 1.5, x[0])),
    where_error=lambda x: np.where(x > 0, 1),
    select=lambda x: (np.select([x > 1, x > 0], [x, x * 2], 9), np.select([x > 1], [1])),
    piecewise=lambda x: np.piecewise(x, [x > 0, x > 1], [lambda v: v * 2, 5, -1]),
    clip=lambda x: (np.clip(x, -1, 1), np.clip(x, None, 0), x.clip(0), np.clip(x, x[0], 2), np.clip(x, max=1, min=0)),
    clip_beyond_the_type=lambda x: [
        (x > 0).astype(dtype).clip(lower, upper)
        for dtype in (np.uint8, np.int8, np.int32)
        for lower, upper in ((-(2**40), 2**40), (None, 300), (-1, 2**40))
    ],
    close=lambda x: (
        np.isclose(x, x + 1e-9),
        np.isclose(x, 1),
        np.allclose(x, x),
        np.array_equal(x, x),
        np.array_equal(x, x[0]),
    ),
    infinite=lambda x: (
        np.isposinf(x),
        np.isneginf(x),
        np.isin(x, [1, x[0, 0, 0]]),
        np.isin(x, x[0, 0], invert=True),
        np.array_equiv(x, x[0]),
    ),
    round=lambda x: (np.round(x), np.round(x, 1), x.round(2), np.round(x, -1), np.around(x * 10, -1), np.fix(x)),
    cleaned=lambda x: (
        np.nan_to_num(x / (x > 0)),
        np.nan_to_num(np.log(x), nan=7, neginf=0),
        np.sinc(x),
        np.angle(x),
        np.angle(x, deg=True),
    ),
    diff=lambda x: (
        np.diff(x),
        np.diff(x, 2, axis=2),
        np.diff(x, axis=0),
        np.diff(x, prepend=0),
        np.diff(x, append=x[:, :, :1]),
        np.diff(x > 0),
    ),
    ediff1d=lambda x: (np.ediff1d(x), np.ediff1d(x * 1.0, to_begin=1.0, to_end=[2.0, 3.0])),
    gradient=lambda x: (
        np.gradient(x, axis=2),
        np.gradient(x[0]),
        np.gradient(x[0], 2.0, [1, 2, 4, 7]),
        np.gradient(x, axis=1, edge_order=2),
    ),
    uneven_gradient=lambda x: np.gradient(x[0, 0], [0.0, 1, 4, 5], edge_order=2),
    trapezoid=lambda x: (
        np.trapezoid(x),
        np.trapezoid(x, dx=2, axis=1),
        np.trapezoid(x, [0.0, 1, 3, 4]),
        np.trapezoid(x, x * x, axis=0),
    ),
    interp=lambda x: (
        np.interp(x, [-2, 0, 1.5], [3, 4, -1.0]),
        np.interp(x, [-1, 0, 1], [1, 2, 3], left=-9, right=9),
        np.interp(x, [0.5], [3.0]),
    ),
    interp_scalar=lambda x: (np.interp(x[0, 0, 0], [0, 1], [5, 6]), np.interp(0.3, np.arange(4.0), x[0, 1])),
    unwrap=lambda x: (np.unwrap(x * 5), np.unwrap(x * 5, axis=0, period=4)),
    linspace=lambda x: (
        np.linspace(x[0, 0], 5, 4),
        np.linspace(x[0, 0, 0], 2, 5),
        np.linspace(x[0, 0], x[0, 1], 3, endpoint=False, axis=-1),
    ),
    steps=lambda x: (np.linspace(x[0, 0], 1, 4, retstep=True), np.linspace(x[0, 0], 1, 1), np.logspace(x[0, 0], 1, 3)),
    polynomials=lambda x: (
        np.polyval([1, 2, 3], x),
        np.polyval(x[0, 0], x),
        np.polyadd(x[0, 0], x[0, 0, :2]),
        np.polyder(x[0, 0]),
    ),
    convolve=lambda x: (
        [np.convolve(x[0, 0], [1, 2, 3], mode) for mode in ("full", "same", "valid")] + [np.convolve([1, 2], x[0, 0], "same")]
    ),
    correlate=lambda x: (
        np.correlate(x[0, 0], x[0, 1, :2]),
        np.correlate(x[0, 0], x[0, 1], "full"),
        np.correlate([1.0, 2], x[0, 0], "same"),
        np.correlate(x[0, 0] > 0, x[0, 1] > 0, "full"),
    ),
)
def test_numbers(function, array):
    check(function, array)


@cases(
    [*REALS, RANDOM.astype(np.float16)],
    reductions=lambda x: (x.sum(), x.sum(0), x.mean(axis=(0, 1)), x.std(), x.var(1), x.min(), x.max(2), x.prod(), x.all(1)),
    positions=lambda x: (x.argmax(), x.argmin(0), x.cumsum(), x.cumprod(1), x.round(1), x.repeat(2), x.squeeze(), x.conj()),
    operators=lambda x: (+x, -x, abs(x), x + 1, 1 + x, x - 1.5, 2 - x, x * 2, x / 2, 1 / x),
    more_operators=lambda x: (x // 2, 7 // x, x % 3, 7 % x, x**2, 2 ** abs(x)),
    comparisons=lambda x: (x == 1, x != x, x < 0, x <= x, x > 1, x >= 2, 0 < x, [1, 2, 3, 4] == x),
    scalars=lambda x: (
        np.float32(2) * x,
        np.int64(3) - x,
        np.float64(2.5) ** abs(x),
        [1, 2, 3, 4] + x,
        x + (1, 2, 3, 4),
        True + x,
    ),
    divmods=lambda x: (*divmod(x, 2), *divmod(7, x)),
    unsupported=lambda x: x + "text",
    no_operand=lambda x: x + None,
)
def test_methods_and_operators(function, array):
    check(function, array)


def test_what_owns_memory_is_told_of_arrays_of_the_function_alone():
    def owners(x):
        y = x + 1
        part = y[1:][1:]
        return y.base is None, part.base is y, y.flags.owndata, part.flags["O"], y.T.base is y, part.copy().base is None

    x = np.arange(6.0)
    assert jit(owners)(x) == owners(x)
    for ask in (lambda x: x.base is None, lambda x: x[1:].base is x, lambda x: x.flags.owndata):
        with pytest.raises(NotImplementedError, match="whether argument x owns its memory"):
            jit(ask)(x[1:])

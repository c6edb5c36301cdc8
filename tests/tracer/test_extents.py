"""Arrays whose sizes are known at run time only, against NumPy: values, dtypes and shapes, on both backends."""

from __future__ import annotations

import numpy as np
import phlox
import phlox.numpy
import pytest
from phlox import CarryTypeError, ConcretizationError, cond, fori_loop, hlo, jit, while_loop
from phlox.tracer.recording import dynamic_array
from thinning import one_in

from ..support.extents import check, line

DTYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, np.complex128)

# Of masks: some, none, all.
LINES = [(line(),), (np.full(7, -1.0),), (np.full(7, 3.0),)]
FIRST, *OTHERS = LINES


@pytest.mark.parametrize("dtype", DTYPES)
def test_selected_elements_of_each_type(dtype):
    def function(x, m):
        y = x[m]
        return (
            y,
            y.sum(),
            y.max(),
            y.min(),
            np.sort(y),
            y.any(),
            y.astype(np.float32),
            -y if dtype is not np.bool_ else y,
            y == y,
        )

    x, mask = line(dtype), np.array([1, 0, 1, 1, 0, 0, 1], bool)
    check(function, x, mask, again=[(x, ~mask), (x, np.ones(7, bool)), (x, np.zeros(7, bool)), (x, mask & (np.arange(7) == 2))])


FUNCTIONS = {
    "elements": lambda x: x[x > 0],
    "arithmetic": lambda x: (x[x > 0] * 2 + 1, 1 / x[x > 0], np.sqrt(x[x > 0]), x[x > 0] ** 2),
    "reductions": lambda x: (x[x > 0].sum(), x[x > 0].prod(), np.any(x[x > 0]), np.count_nonzero(x[x > -9])),
    "of what was computed": lambda x: np.sort(x[x > 0]).sum() + np.cumsum(x[x > 0]).sum(),
    "mean": lambda x: np.sort(x[x > -9]).mean() + np.var(x[x > -9][1:]) + np.std(x[x > -9][::2]),
    "maximum": lambda x: np.sort(x[x > 0]).max(),
    "argmax": lambda x: (x[x > 0][::-1].argmax(), np.argmin(x[x > 0])),
    "sizes": lambda x: (x[x > 0].shape, x[x > 0].size, x[x > 0].shape[0] * 2, x[x > 0].ndim, x.sum() / x[x > 0].shape[0]),
    "cumulative": lambda x: (np.cumsum(x[x > 0]), np.cumprod(x[x > 0])),
    "sorted": lambda x: (np.sort(x[x > 0]), np.argsort(x[x > 0]), np.sort(x[x > 0])[::-1]),
    "slices": lambda x: (x[x > 0][1:], x[x > 0][:2], x[x > 0][::-1], x[x > 0][-2:], x[x > 0][1:-1], x[x > 0][::2]),
    "first": lambda x: x[x > 0][0],
    "last": lambda x: x[x > 0][-1],
    "third": lambda x: x[x > 0][2],
    "of masks": lambda x: x[x > 0][x[x > 0] < 4],
    "of other masks": lambda x: x[x > 0][x[x > 2] < 4],
    "at positions": lambda x: x[np.nonzero(x > 0)[0]],
    "at positions of rows": lambda x: np.stack([x, x + 1], 1)[np.flatnonzero(x > 0)],
    "two masks": lambda x: x[x > 0] + x[x <= 0],
    "one mask twice": lambda x: x[x > 0] * x[x > 0][::-1],
    "with an array": lambda x: x[x > 0] + np.arange(3),
    "with its positions": lambda x: x[x > 0] * np.nonzero(x > 0)[0],
    "comparisons": lambda x: (x[x > 0] > 2, (x[x > 0] == 3).sum(), np.maximum(x[x > 0], 2)),
    "rounded": lambda x: (np.round(x[x > 0] / 3, 1), np.clip(x[x > 0], 1, 2), np.where(x[x > 0] > 2, x[x > 0], -1)),
    "nonzero": lambda x: (np.nonzero(x), np.flatnonzero(x > 0), np.argwhere(x > 0), np.where(x > 1), x.nonzero()),
    "nonzero in two dimensions": lambda x: (np.nonzero(np.outer(x, x) > 3), np.argwhere(np.outer(x, x) > 3)),
    "unique": lambda x: (np.unique(x), np.unique(x[x > 0]), np.unique(np.outer(x, x))),
    "unique with all": lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True),
    "unique of elements with all": lambda x: np.unique(x[x < 4], True, True, True),
    "sets": lambda x: (np.union1d(x, x + 3), np.intersect1d(x, x + 3), np.setdiff1d(x, x + 3), np.setxor1d(x, x + 3)),
    "sets of elements": lambda x: (
        np.union1d(x[x > 0], -x[x > 0]), np.intersect1d(x[x > 0], x[x < 4]), np.setdiff1d(x, x[x > 1]),
        np.setxor1d(x[x > 1], x[x < 3]), np.isin(x, x[x > 2]), np.isin(x[x > 1], [2, 3]),
        np.isin(x[x > 0], x[x > 3], invert=True),
    ),
    "trimmed": lambda x: (
        np.trim_zeros(np.maximum(x, 0)), np.trim_zeros(np.maximum(x, 0), "f"), np.trim_zeros(x[x < 3], "b"),
    ),
    "repeated": lambda x: (
        np.repeat(x, np.maximum(x, 0).astype(int)), np.repeat(x[x > 0], 2), np.repeat(x, abs(x[0]).astype(int)),
    ),
    "repeated elements": lambda x: np.repeat(x[x > 0], x[x > 0].astype(int)),
    "as many elements of one bound as numbers of another": lambda x: np.repeat(
        np.r_[0.5, x[x > 0]], np.diff(np.r_[0, np.flatnonzero(x > 0) + 1, len(x) + 1])
    ),
    "repeated rows": lambda x: np.repeat(np.outer(x, x), np.maximum(x, 0).astype(np.uint8), axis=0),
    "bincount": lambda x: (np.bincount(abs(x).astype(int)), np.bincount(x[x > 0].astype(np.uint8), minlength=3)),
    "bincount of known numbers": lambda x: [
        f"{one:.2f}" for one in np.bincount(np.arange(len(x)) // 2, weights=x, minlength=2)
    ],
    "bincount with weights": lambda x: (
        np.bincount(abs(x).astype(int), x), np.bincount(x[x > -9].astype(int) % 5, x[x > -9], 9),
    ),
    "joined": lambda x: (np.concatenate([x[x > 0], x, x[x < 0]]), np.append(x[x > 1], 3), np.hstack([x[x > 2], x[:2]])),
    "middle": lambda x: (np.median(x[x > -9]), np.median(np.sort(x[x > -9])[1:])),
    "differences": lambda x: (np.diff(x[x > -2]), np.flip(x[x > 0]), np.diff(np.sort(x[x > 0]), 2)),
    "rows and columns": lambda x: (x[x > 0][:, None] * x[x > 0], np.outer(x[x > 0], x[x < 3]), x[x > 0][None, :].T),
    "products": lambda x: (
        x[x > 0] @ x[x > 0], np.dot(x[x > 0], x[x > 0]), np.outer(x, x)[x > 0] @ x, np.linalg.norm(x[x > 0]),
    ),
    "products of matrices": lambda x: (
        np.outer(x, x)[:, x > 0] @ np.outer(x, x + 1)[x > 0], np.outer(x, x)[x > 0] @ np.outer(x, x)[:, x < 2],
    ),
    "new arrays": lambda x: (
        np.zeros_like(x, shape=2), phlox.numpy.zeros(x[x > 0].shape), phlox.numpy.full((x[x > 0].shape[0], 2), 3),
        phlox.numpy.ones(x[x > 0].shape[0] + 1, int), phlox.numpy.arange(x[x > 0].shape[0]) * x[x > 0],
        phlox.numpy.arange(2, abs(x[0]).astype(int) * 2, 3), phlox.numpy.arange(abs(x[0]).astype(int), -4, -2),
    ),
    "explicit names": lambda x: (
        phlox.numpy.sum(x[x > 0]), phlox.numpy.sqrt(x[x > 0]), phlox.numpy.add.reduce(x[x > 0]),
        phlox.numpy.concatenate([x[x > 0], x]),
    ),
    "copies": lambda x: (np.copy(x[x > 0]), x[x > 0].copy(), np.zeros_like(x[x > 0]), np.ones_like(x[x > 0], int)),
}  # fmt: skip


@pytest.mark.parametrize("name", one_in(5, FUNCTIONS, ci_step=2))
def test_functions_of_selected_elements(name):
    check(FUNCTIONS[name], *FIRST, again=OTHERS)


def test_arrays_without_elements():
    for function in (lambda x: x[x > 0], lambda x: np.nonzero(x), lambda x: x[x > 0].sum(), lambda x: np.sort(x[x > 0])):
        check(function, np.zeros(0))
    check(lambda x: (x[x[:, 0] > 0], x[x[:, 0] > 0].sum(0)), np.arange(12.0).reshape(4, 3) - 4)


def test_masks_beside_other_indices():
    x = np.arange(24.0).reshape(2, 3, 4) - 7
    mask = np.array([True, False, True])
    for function in (
        lambda x, m: x[:, m], lambda x, m: x[:, m, 0], lambda x, m: x[1, m], lambda x, m: x[..., m, :],
        lambda x, m: x[:, m, 1:3], lambda x, m: x[0][m], lambda x, m: x[x > 0], lambda x, m: x[:, m][:, :, 1],
        lambda x, m: x[0, m, 0].sum(),
        lambda x, m: x[:, m].sum(axis=1), lambda x, m: x[:, m].mean(axis=(0, 1)), lambda x, m: x[:, m].max(axis=0),
    ):  # fmt: skip
        check(function, x, mask, again=[(x, ~mask), (x, mask | True)])


def test_writing_to_selected_elements():
    x, mask = np.arange(12.0).reshape(3, 4), np.array([True, False, True, True])

    def columns(x, m):
        x[:, m] -= 1
        x[1, m] *= 2
        return x

    def elsewhere(x, m):
        y = np.zeros_like(x)
        y[0, m] = x[1, m] + x[2, m]
        y[1, np.flatnonzero(m)] = 7
        y[2, np.nonzero(m)[0]] = x[0, m][::-1]
        return y

    def wrong(x, m):
        x[0, m] = x[0, ~m]
        return x

    def by_what_was_selected(x, m):
        chosen = x[:, 0][m] > 3
        x[:, 0][: chosen.shape[0]][chosen] = -1
        return x

    for function in (columns, elsewhere, wrong, by_what_was_selected):
        check(function, x, mask, again=[(x, ~mask), (x, mask & False), (x, np.array([True, False, True, False]))])


def test_in_place_with_arrays_of_other_kinds():
    def of_known_size(x):
        y = x[x > 0][:3]
        y += np.arange(3.0)
        x[:3] += y
        part = x[2:5]
        part -= x[x > 4][:3]
        np.multiply(part, 2, out=part)
        return x, y

    check(of_known_size, *FIRST, again=OTHERS)


def test_writing_to_arrays_of_unknown_sizes():
    def change(x):
        y = x[x > 0]
        y += 1
        y[y > 3] = 0
        y[np.flatnonzero(y)] *= 2
        y[: y.shape[0] // 2] += 10
        y[::2] = y[::2] - 1
        z = y[1:]
        z[...] = z[::-1].copy()
        y *= y
        return y, z

    check(change, *FIRST, again=OTHERS)

    def first(x):
        y = x[x > 0]
        y[0] = 7
        y[-1] += 2
        return y

    check(first, *FIRST, again=OTHERS)


BOUNDS = [(np.arange(10.0), np.array(bounds)) for bounds in ((2, 5), (0, 10), (3, 3), (5, 2), (-4, -1), (-20, 30), (9, 10))]

SLICES = {
    "of one dimension": lambda x, b: (
        x[b[0] : b[1]], x[b[0] :], x[: b[1]], x[b[1] : b[0] : -1], x[::-1][b[0] : b[1] : 2], x[-b[0] :], x[b[0] : b[0] + 3],
    ),
    "reduced": lambda x, b: (x[b[0] : b[1]].sum(), x[b[0] - 1 : b[0] + 2].sum(), (x[b[0] :] > 3).any(), x[: b[1]].size),
    "rows and columns": lambda x, b: (
        x.reshape(5, 2)[b[0] : b[1]] @ np.ones(2), x.reshape(2, 5)[:, b[0] : b[1]].sum(0), x.reshape(2, 5)[:, : b[0]].sum(1),
        x.reshape(2, 5)[:, : b[0]] @ x.reshape(5, 2)[: b[0]], x.reshape(5, 2)[b[0] :, : b[1]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SLICES)
def test_slices_between_traced_bounds(name):
    check(SLICES[name], *BOUNDS[0], again=BOUNDS[1:])


def _shift(x, b):
    x[b[0] : b[1]] += x[b[0] : b[1]][::-1]


def _change_a_view(x, b):
    part = x[b[0] : b[1]]
    part += 1
    x[b[0] - 5] += 5
    part *= 2


def _fill(x, b):
    x[b[0] : b[1]] = 7
    x[b[1] :] *= 2
    x[b[0] :: 2] = -x[b[0] :: 2]


def _backwards(x, b):
    x[b[1] : b[0] : -1] = 3


def _from_elsewhere(x, b):
    x[b[0] : b[0] + 3] = x[b[1] : b[1] + 3]


def _of_known_size(x, b):
    x[b[0] : b[1]] = x[:3]


@pytest.mark.parametrize("change", [_shift, _change_a_view, _fill, _backwards, _from_elsewhere, _of_known_size])
def test_writing_to_slices_between_traced_bounds(change):
    def function(x, b):
        change(x, b)
        return x

    check(function, *BOUNDS[0], again=BOUNDS[1:])


def _read_by_step(x, b):
    whole, rows = x.reshape(5, 2), x.reshape(2, 5)
    return x[:: b[2]], x[b[0] : b[1] : b[2]], x[: b[1] : b[2]].sum(), x[-3 : 8 : b[2]], rows[:, :: b[2]], whole[b[0] :: b[2]]


def _write_by_step(x, b):
    x[b[0] : b[1] : b[2]] = 7
    x[:: b[2]] = -x[:: b[2]]
    x.reshape(2, 5)[:, b[0] :: b[2]] = 5


STEPS = [1, 2, -1, -3, 10, -11, 2**63 - 1, -(2**63), 0]


@pytest.mark.parametrize("function", [_read_by_step, _write_by_step])
def test_slices_by_traced_steps(function):
    cases = [(x, np.array([*bounds, step])) for x, bounds in BOUNDS for step in STEPS]
    check(function, *cases[0], again=cases[1:])


def _write_far_apart(x, y, b):
    x[b[0] :: b[1]] = 7
    x[b[0] :: 2] += x[b[0] :: 2]
    y[:, b[0] :: b[1]] = np.array([[1], [2]])
    y[0, :: b[1]] = x[:: b[1]]


def test_writing_to_more_places_than_are_written_at_once():
    steps = ((0, 1), (3, 2), (-1, -2), (2400, -1), (9, 700), (4, 0))
    cases = [(np.arange(2500.0), np.zeros((2, 2500)), np.array(one)) for one in steps]
    check(_write_far_apart, *cases[0], again=cases[1:])


def test_a_sieve_strikes_out_multiples():
    def sieve(flags, n):
        flags[:2] = False
        i = 2
        while i * i <= n:
            if flags[i]:
                flags[i * i :: i] = False
            i += 1
        return flags

    flags = jit(sieve)(np.ones(5001, bool), np.int64(5000))
    assert [int(number) for number in np.flatnonzero(flags)[-3:]] == [4987, 4993, 4999]  # OEIS A000040
    assert np.count_nonzero(flags) == 669  # OEIS A000720


def test_loops_over_growing_slices():
    """The factors of a matrix, row by row, with the sums as products of slices."""

    def row(i, a):
        def column(j, a):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
            return a

        a = fori_loop(0, i, column, a)
        a[i, i] = np.sqrt(a[i, i] - a[i, :i] @ a[i, :i])
        return a

    def eliminate(k, a):
        factors = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k:] -= factors[:, None] * a[k, k:]
        return a

    a = np.random.default_rng(0).random((6, 6))
    a = a @ a.T + np.eye(6)
    lower = np.linalg.cholesky(a)
    for backend in ("reference", "cpu"):
        found = jit(lambda a: fori_loop(0, 6, row, a), backend=backend)(a.copy())
        np.testing.assert_allclose(np.tril(found), lower, rtol=1e-12)
        upper = jit(lambda a: fori_loop(0, 5, eliminate, a), backend=backend)(a.copy())
        np.testing.assert_allclose(upper, lower.diagonal()[:, None] * lower.T, rtol=1e-10, atol=1e-12)


def test_sizes_are_bounds_of_loops():
    def function(x):
        y = x[x > 0]
        return fori_loop(0, y.shape[0], lambda i, total: total + y[i] * i, 0.0), while_loop(
            lambda i: i < y.shape[0], lambda i: i + 2, 0
        )

    for backend in ("reference", "cpu"):
        compiled = jit(function, backend=backend)
        for (x,) in LINES:
            y = x[x > 0]
            assert compiled(x) == ((y * np.arange(y.size)).sum(), -(-y.size // 2) * 2)


def test_slices_of_a_constant_extent():
    """Their bound is the extent; where they reach beyond the end there are fewer."""

    def windows(x, b):
        i = b[0]
        return x[i : i + 3], x[i * 2 : (i + 1) * 2], x[i - 1 : i + 2].sum(), x[i : i + 4 : 2]

    check(windows, *BOUNDS[0], again=[(BOUNDS[0][0], np.array([i, 0])) for i in (0, 8, 9, 11, -3, 4)])
    text = jit(windows).lower(*BOUNDS[0]).as_text()
    assert all(f"f64[<={bound}]" in text for bound in (2, 3)) and "f64[<=10]" not in text

    def spectrum(x, b):
        return np.fft.fft(x[b[0] : b[0] + 3])  # which is not written for unknown sizes

    check(spectrum, *BOUNDS[0])
    with pytest.raises(NotImplementedError, match="np.fft.fft of a slice between traced bounds"):
        jit(spectrum)(np.arange(10.0), np.array([8, 0]))


def test_windows_in_a_counted_loop_are_ordinary_arrays():
    def moving(x):
        def window(i, out):
            out[i] = np.linalg.det(np.outer(x[i : i + 3], x[i : i + 3]) + np.eye(3))
            return out

        return fori_loop(0, 8, window, np.zeros_like(x))

    x = np.arange(10.0)
    assert "<=" not in jit(moving).lower(x).as_text()
    expected = [np.linalg.det(np.outer(x[i : i + 3], x[i : i + 3]) + np.eye(3)) for i in range(8)] + [0, 0]
    for backend in ("reference", "cpu"):
        np.testing.assert_allclose(jit(moving, backend=backend)(x), expected, rtol=1e-12)


def test_states_of_loops_and_results_of_branches():
    """A state that becomes shorter in each round, which starts as an array of known size."""

    def sieve(x):
        def step(state):
            numbers, total = state
            return numbers[numbers % numbers[0] != 0], total + numbers[0]

        return while_loop(lambda state: state[0].shape[0] > 0, step, (x, 0))

    def either(x):
        return cond(x.sum() > 0, lambda x: x[x > 0], lambda x: x, x)

    for backend in ("reference", "cpu"):
        left, total = jit(sieve, backend=backend)(np.arange(2, 30))
        assert left.shape == (0,) and total == sum([2, 3, 5, 7, 11, 13, 17, 19, 23, 29])
        compiled = jit(either, backend=backend)
        for x in (np.array([1.0, -2, 3]), np.array([1.0, -4, 2])):
            np.testing.assert_array_equal(compiled(x), x[x > 0] if x.sum() > 0 else x)


def test_a_state_that_grows_in_each_round_is_refused():
    with pytest.raises(CarryTypeError, match="must stay the same"):
        jit(lambda x: fori_loop(0, 3, lambda i, y: np.concatenate([y, y[:1]]), x[x > 0]), backend="reference")(line())


def test_functions_that_are_called_take_and_return_them():
    inner = jit(lambda y: y * 2 + y.shape[0])
    check(lambda x: inner(x[x > 0]), *FIRST, again=OTHERS)


@pytest.mark.parametrize("dtype", [np.float64, np.uint8, np.complex128, np.bool_])
def test_repetitions_of_many_elements(dtype):
    """Where the first, the last, none or all have no repetitions, and where there are as many as the guess, and more."""
    rng = np.random.default_rng(3)
    x, counts = rng.integers(0, 9, 500).astype(dtype), rng.integers(0, 4, 500)
    rows = np.stack([x, x + x])
    repeated = jit(lambda x, rows, counts: (np.repeat(x, counts), np.repeat(rows, counts, axis=1)))
    for counts[:20], counts[-20:] in ((0, 0), (0, 3), (2, 0), (1, 1)):
        check_results(repeated(x, rows, counts), x, rows, counts)
    for one in (np.zeros(500, int), np.full(500, 4), np.full(500, 5), np.where(np.arange(500) == 7, 2000, 0)):
        check_results(repeated(x, rows, one), x, rows, one)


def check_results(results, x, rows, counts):
    for one, other in zip(results, (np.repeat(x, counts), np.repeat(rows, counts, axis=1)), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("place", [0, 100, 199])
def test_negative_numbers_are_not_counted(dtype, place):
    counts, repeated = jit(lambda x: np.bincount(x)), jit(lambda x: np.repeat(x, x))
    x = (np.arange(200) % 7).astype(dtype)
    np.testing.assert_array_equal(counts(x), np.bincount(x), strict=True)
    for least in (-1, np.iinfo(dtype).min):
        x[place] = least
        with pytest.raises(ValueError, match="must have no negative elements"):
            counts(x)
        with pytest.raises(ValueError, match="repeats may not contain negative values"):
            repeated(x)


def test_bounds_that_are_guessed_grow():
    @jit
    def counted(x):
        return np.bincount(x), np.repeat(x, x)

    for greatest in (3, 5000):
        x = np.array([0, greatest, 2])
        for one, other in zip(counted(x), (np.bincount(x), np.repeat(x, x)), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.diagflat(x[x > 0]), lambda x: np.polydiv(x[x > 0], x),
        lambda x: x[x > 0].view(np.complex128), lambda x: phlox.numpy.diagflat(x[x > 0]),
        lambda x: np.clip(x[x > 0], 1, 2, where=x[x > 0] > 1), lambda x: np.matmul(x[x > 0], x[x > 0], axes=[(0,), (0,), ()]),
    ],
)  # fmt: skip
def test_what_is_not_written_for_unknown_sizes_is_refused(function):
    with pytest.raises(NotImplementedError, match="known at run time only"):
        jit(function, backend="reference")(line())


def test_what_python_needs_is_refused():
    with pytest.raises(ConcretizationError):
        jit(lambda x: 1 if x[x > 0] else 0, backend="reference")(line())


def test_sizes_are_compared_in_few_steps(monkeypatch):
    compared = []
    attributes = dynamic_array._same_attributes
    monkeypatch.setattr(dynamic_array, "_same_attributes", lambda *both: compared.append(both) or attributes(*both))

    def doubled():
        size = hlo.constant(np.int32(1))
        for _ in range(15):
            size = hlo.add(size, size)
        return size

    def program(x):
        hlo.tuple(first := doubled(), second := doubled())
        assert dynamic_array.same_value(first, second)
        return x

    hlo.computation("sizes", [hlo.Shape(hlo.F32, (3,))], program)
    assert len(compared) == 16

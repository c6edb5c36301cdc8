"""np.linalg's solvers and decompositions inside traced functions."""

import numpy as np
import pytest
from phlox import fori_loop, jit

BACKENDS = ["cpu", "reference"]
by_backend = pytest.mark.parametrize("backend", BACKENDS)


def matrices(*shape, dtype=np.float64):
    random = np.random.default_rng(3)
    x = random.standard_normal(shape)
    return (x + 1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def symmetric(x):
    return x + np.conj(np.swapaxes(x, -1, -2))


CASES = {
    "inv": lambda x: np.linalg.inv(x),
    "det": lambda x: np.linalg.det(x),
    "slogdet": lambda x: tuple(np.linalg.slogdet(x)),
    "eigh": lambda x: np.linalg.eigh(symmetric(x)).eigenvalues,
    "eigvalsh": lambda x: np.linalg.eigvalsh(symmetric(x), UPLO="U"),
    "svd": lambda x: np.linalg.svd(x).S,
    "svdvals": lambda x: np.linalg.svdvals(x),
    "qr": lambda x: np.abs(np.linalg.qr(x, mode="r")),
    "pinv": lambda x: np.linalg.pinv(x, hermitian=False),
    "negative power": lambda x: np.linalg.matrix_power(x, -3),
    "norm 2": lambda x: np.linalg.norm(x, 2, axis=(-2, -1)),
    "norm nuc": lambda x: np.linalg.norm(x, "nuc", axis=(-1, -2), keepdims=True),
}


@by_backend
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name, dtype, backend):
    x = matrices(2, 3, 4, 4, dtype=dtype)
    found, expected = jit(CASES[name], backend=backend)(x), CASES[name](x)
    for one, other in zip(*(value if isinstance(value, tuple) else (value,) for value in (found, expected)), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=2e-3 if np.finfo(dtype).bits == 32 else 1e-9)


@by_backend
@pytest.mark.parametrize(
    ("a", "b"), [((4, 4), (4,)), ((4, 4), (4, 2)), ((5, 4, 4), (4, 2)), ((5, 4, 4), (5, 4, 2)), ((3, 3), (3, 0))]
)
def test_solve(a, b, backend):
    a, b = matrices(*a), matrices(*b)
    x = jit(lambda a, b: np.linalg.solve(a, b), backend=backend)(a, b)
    assert x.shape == np.linalg.solve(a, b).shape
    np.testing.assert_allclose(a @ x, np.broadcast_to(b, (a @ x).shape), atol=1e-9)


def test_integers_become_floats():
    x = np.array([[2, 1], [1, 3]])
    np.testing.assert_allclose(jit(np.linalg.inv)(x), np.linalg.inv(x))
    q, r = jit(lambda x: tuple(np.linalg.qr(x)))(x)
    np.testing.assert_allclose(q @ r, x)


def test_inside_a_loop():
    """Newton's iteration for the polar factor of a matrix."""
    x = matrices(4, 4)

    @jit
    def polar(x):
        return fori_loop(0, 30, lambda i, u: (u + np.linalg.inv(u).T) / 2, x)

    u = polar(x)
    np.testing.assert_allclose(u.T @ u, np.eye(4), atol=1e-12)


@pytest.mark.parametrize(
    ("function", "argument", "error", "message"),
    [
        (np.linalg.inv, np.ones((2, 3)), np.linalg.LinAlgError, "must be square"),
        (np.linalg.inv, np.ones(3), np.linalg.LinAlgError, "at least two-dimensional"),
        (np.linalg.det, np.ones((2, 2), np.float16), TypeError, "float16 is unsupported"),
        (np.linalg.inv, np.ones((2, 2)), np.linalg.LinAlgError, "Singular matrix"),
        (lambda x: np.linalg.qr(x, mode="x"), np.ones((2, 2)), ValueError, "Unrecognized mode"),
    ],
)
def test_errors_are_those_of_numpy(function, argument, error, message):
    with pytest.raises(error, match=message):
        jit(function)(argument)


def solved(a):
    return np.linalg.solve(a, np.ones(3))


@pytest.mark.parametrize("function", [solved, np.linalg.inv])
def test_failures_are_raised_in_order_and_can_be_caught(function):

    def unused(a):
        function(a)
        return a.sum()

    def behind_another(a, i):
        first = a[i]
        return first, function(a)

    def caught(a):
        total = 0.0
        for k in range(30):
            try:
                total += function(a + k)[0].sum()
            except np.linalg.LinAlgError:
                total -= 100.0
        return total

    singular, regular = np.ones((3, 3)), np.eye(3) * 2
    with pytest.raises(np.linalg.LinAlgError, match="^Singular matrix$"):
        jit(unused)(singular)
    with pytest.raises(IndexError):
        jit(behind_another)(singular, 7)
    with pytest.raises(np.linalg.LinAlgError, match="^Singular matrix$"):
        jit(behind_another)(singular, 1)
    jitted = jit(caught)
    for a in (regular, singular, regular):
        np.testing.assert_allclose(jitted(a), caught(a))


@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "svd", "pinv"])
def test_what_does_not_converge(name):
    def function(a):
        return getattr(np.linalg, name)(a)

    broken = np.full((3, 3), np.nan)
    try:
        expected = function(broken)
    except np.linalg.LinAlgError as error:
        with pytest.raises(np.linalg.LinAlgError, match=f"^{error}$"):
            jit(function)(broken)
    else:
        np.testing.assert_equal(jit(function)(broken), expected)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 17, 48, 49])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_small_and_large_systems(size, dtype):
    random = np.random.default_rng(size)
    a = random.normal(size=(size, size)).astype(dtype) + 3 * np.eye(size, dtype=dtype)
    solve, inverse = jit(np.linalg.solve), jit(np.linalg.inv)
    for shape in [(size,), (size, 1), (size, 5)]:
        b = random.normal(size=shape).astype(dtype)
        found = solve(a, b)
        assert found.shape == shape and found.dtype == dtype
        np.testing.assert_allclose(a @ found, b, atol=1e-3 if dtype == np.float32 else 1e-11)
    np.testing.assert_allclose(a @ inverse(a), np.eye(size), atol=1e-3 if dtype == np.float32 else 1e-11)


@pytest.mark.parametrize("size", [2, 3, 6])
def test_a_matrix_is_singular_where_numpy_says_so(size):
    random, inverse = np.random.default_rng(size), jit(np.linalg.inv)
    kinds = set()
    for _ in range(60):
        a = random.integers(-5, 6, (size, size)).astype(float)
        a[-1] = a[0] * 3 - a[-2] * random.integers(0, 2) * 0.1
        a = a.T.copy() if random.random() < 0.5 else a
        outcomes = []
        for function in (np.linalg.inv, inverse):
            try:
                outcomes.append(function(a).shape)
            except np.linalg.LinAlgError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        kinds.add(outcomes[0])
    assert len(kinds) == 2 or size == 2
    nan, infinite = np.full((size, size), np.nan), np.diag(np.full(size, np.inf))
    np.testing.assert_array_equal(inverse(nan), np.linalg.inv(nan))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(inverse(infinite).diagonal(), np.linalg.inv(infinite).diagonal())


LEADING = {
    "det": np.linalg.det,
    "slogdet": lambda x: tuple(np.linalg.slogdet(x)),
    "inv": np.linalg.inv,
    "eigh": lambda x: np.linalg.eigh(symmetric(x)).eigenvalues,
    "eigvalsh": lambda x: np.linalg.eigvalsh(symmetric(x)),
    "eigvals": lambda x: np.sort(np.linalg.eigvals(symmetric(x))),
    "svd": lambda x: tuple(map(np.abs, np.linalg.svd(x[:2]))),
    "svd, reduced": lambda x: tuple(map(np.abs, np.linalg.svd(x[:2], full_matrices=False))),
    "svdvals": lambda x: np.linalg.svd(x, compute_uv=False),
    "qr": lambda x: tuple(map(np.abs, np.linalg.qr(x[:, 1:]))),
    "qr, triangle": lambda x: np.abs(np.linalg.qr(x[1:], mode="r")),
    "lstsq": lambda x: np.linalg.lstsq(x[:, 1:], x[:, 0], rcond=None),
    "lstsq of matrices": lambda x: np.linalg.lstsq(x[:, 1:], x[:, :2], rcond=0.1),
    "solve": lambda x: np.linalg.solve(x, x[:, 0]),
    "pinv": lambda x: np.linalg.pinv(x[:, 1:]),
    "cond": np.linalg.cond,
}


@pytest.mark.parametrize("name", LEADING)
def test_leading_parts_whose_sizes_are_known_at_run_time(name):
    """No element behind the sizes counts, and no call goes to Python."""
    function = LEADING[name]
    leading = jit(lambda x, n: function(x[:n, :n]))
    x = matrices(7, 7)
    for size in (7, 3, 5, 4):
        found, expected = leading(x, size), function(x[:size, :size])
        for one, other in zip(*(value if isinstance(value, tuple) else (value,) for value in (found, expected)), strict=True):
            assert np.shape(one) == np.shape(other)
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.int64])
@pytest.mark.parametrize("name", LEADING)
def test_no_call_goes_to_python(name, dtype):
    x = (10 * matrices(4, 4, dtype=dtype if dtype is not np.int64 else np.float64)).astype(dtype)
    compiled = jit(LEADING[name]).lower(x).compile()
    assert not compiled.executable.program.host_calls
    expected, found = LEADING[name](x), compiled(x)
    for one, other in zip(*(value if isinstance(value, tuple) else (value,) for value in (found, expected)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-3 if np.dtype(one.dtype).itemsize in (4, 8) else 1e-8, atol=1e-4)


@by_backend
@pytest.mark.parametrize(("rows", "columns"), [(5, 3), (3, 5), (4, 4), (1, 3), (3, 1)])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
def test_every_form_of_qr(mode, rows, columns, backend):
    x = matrices(2, rows, columns)
    found, expected = (
        function(x) for function in (jit(lambda x: np.linalg.qr(x, mode), backend=backend), lambda x: np.linalg.qr(x, mode))
    )
    for one, other in zip(*(value if isinstance(value, tuple) else (value,) for value in (found, expected)), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_what_was_invalid_before_is_no_error_of_linear_algebra():
    @jit
    def inverse_behind(x, a):
        return np.linalg.inv(a), x * 0

    with np.errstate(all="ignore"):
        inverse, nothing = inverse_behind(np.array([np.inf, 1.0]), np.diag(np.arange(1.0, 51)))
    np.testing.assert_allclose(inverse, np.diag(1 / np.arange(1.0, 51)))
    assert np.isnan(nothing[0])


def test_failures_of_loops_are_those_of_numpy():
    regular, singular = matrices(60, 60), np.zeros((60, 60))
    inverse = jit(np.linalg.inv)
    for a in (regular, singular, regular, np.full((60, 60), np.nan)):
        try:
            expected = np.linalg.inv(a)
        except np.linalg.LinAlgError as error:
            with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                inverse(a)
        else:
            np.testing.assert_allclose(inverse(a), expected, rtol=1e-9, atol=1e-12)


def test_the_right_hand_side_may_be_one_for_all_matrices():
    a, b = matrices(6, 3, 3), matrices(3, 2)
    np.testing.assert_allclose(jit(lambda a, b: np.linalg.solve(a, b))(a, b), np.linalg.solve(a, b))
    np.testing.assert_allclose(jit(lambda a, b: np.linalg.solve(b, a))(a[..., :2], a[0]), np.linalg.solve(a[0], a[..., :2]))


OF_ONE_MATRIX = "det slogdet inv pinv eig eigh eigvals eigvalsh svd svdvals qr cholesky cond".split()


@pytest.mark.parametrize("name", OF_ONE_MATRIX)
def test_half_precision_is_refused_as_numpy_does(name):
    with pytest.raises(TypeError, match="array type float16 is unsupported in linalg"):
        jit(getattr(np.linalg, name))(np.eye(3, dtype=np.float16))


def test_cutoffs_for_other_matrices_than_there_are():
    with pytest.raises(ValueError, match="non-broadcastable output operand"):
        jit(np.linalg.pinv)(np.ones((2, 3)), np.ones((2, 3)))

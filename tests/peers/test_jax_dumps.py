"""Programs of JAX, as it lowers them and as XLA compiles them, run by phlox; JAX says what they give."""

import numpy as np
import pytest
from jax_dumps import assert_runs, dumped
from phlox import load_hlo
from thinning import one_in

jax = pytest.importorskip("jax")
jnp, lax, nn = jax.numpy, jax.lax, jax.nn

pytestmark = pytest.mark.peer

RANDOM = np.random.default_rng(7)


def normal(*dimensions):
    return RANDOM.standard_normal(dimensions).astype(np.float32)


X, Y, T, V, W = normal(4, 3), normal(4, 3), normal(4, 2), normal(3), normal(3, 5)
CUBE, IMAGES, FIELD = normal(2, 3, 4), normal(2, 6, 6, 3), normal(8, 8)
PARAMETERS = [(normal(3, 6), normal(6)), (normal(6, 2), normal(2))]
I, J = np.int32([[-7, 3, 100], [0, -20, 19]]), np.int32([[2, -3, 7], [5, 3, -4]])
ROWS, CLASSES, ONE, TWO, KEY = np.int32([0, 2, 1]), np.int32([0, 1, 4, 2]), np.int32(1), np.int32(2), np.uint32([1, 2])
Z = (X + 1j * Y).astype(np.complex64)
WINDOW = (1, 2, 2, 1)


def network(parameters, x):
    *hidden, (weights, bias) = parameters
    for w, b in hidden:
        x = jnp.tanh(x @ w + b)
    return x @ weights + bias


def loss(parameters, x, t):
    return jnp.mean((network(parameters, x) - t) ** 2)


def descend(parameters, x, t):
    return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, jax.grad(loss)(parameters, x, t))


def recurrence(w, x):
    return lax.scan(lambda c, row: (jnp.tanh(c @ w + row), None), jnp.zeros(3, jnp.float32), x)[0].sum()


def heat(u):
    return u + 0.1 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u)


def mandelbrot(c):
    def step(i, state):
        z, count = state
        inside = jnp.abs(z) < 2
        return jnp.where(inside, z * z + c, z), count + inside

    return lax.fori_loop(0, 12, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))


def maxima(x):
    return lax.reduce_window(x, -np.inf, lax.max, WINDOW, WINDOW, "VALID")


def cross_entropy(w, x, classes):
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(x @ w), classes[:, None], 1))


# Name: function, arguments.
PROGRAMS = {
    "arithmetic": (lambda x, y: (x + y) * x - y / (x * x + 1), (X, Y)),
    "exponentials": (lambda x: (jnp.exp(x), jnp.expm1(x), jnp.log1p(x * x), jnp.sinh(x), jnp.cosh(x)), (X,)),
    "circular functions": (lambda x: (jnp.sin(x), jnp.tan(x), jnp.arctan2(x, 1 + x * x), jnp.arcsin(jnp.tanh(x))), (X,)),
    "error functions": (lambda x: (jax.scipy.special.erf(x), jax.scipy.special.ndtr(x), lax.erf_inv(jnp.tanh(x))), (X,)),
    "activations": (lambda x: (nn.relu(x), nn.gelu(x), nn.sigmoid(x), nn.softplus(x), nn.elu(x)), (X,)),
    "softmax": (lambda x: (nn.softmax(x), nn.log_softmax(x, axis=0), nn.logsumexp(x)), (X,)),
    "layer norm": (lambda x, v: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * v, (X, V)),
    "reductions": (lambda x: (x.sum(), x.mean(1), x.max(), x.min(0), x.prod(1), x.std(0), jnp.any(x > 1, 1)), (X,)),
    "positions": (lambda x: (jnp.argmax(x), jnp.argmin(x, 0), jnp.count_nonzero(x > 0)), (X,)),
    "comparisons": (lambda x, y: (x < y, x == y, x != y, jnp.isnan(x), jnp.isfinite(x), jnp.sign(x)), (X, Y)),
    "integers": (lambda i, j: (i // j, i % j, i & j, i ^ j, ~i, i << 2, i >> 1, lax.population_count(i), lax.clz(i)), (I, J)),
    "powers": (lambda x, i: (x**2, x**-1, x**7, i**3, jnp.power(jnp.abs(x), 1.7), jnp.hypot(x, 2.0), jnp.cbrt(x)), (X, I)),
    "rounding": (lambda x: (jnp.round(4 * x), jnp.floor(x), jnp.trunc(x), jnp.fmod(x, 0.7), jnp.mod(x, 0.7)), (X,)),
    "casts": (lambda x, i: (x.astype(int), i.astype(float), x.astype(jnp.float16), i.astype(jnp.int8), x.view(int)), (X, I)),
    "movement": (lambda x: (x.T, x.reshape(2, 6), x[::-1], jnp.concatenate([x, 2 * x], 1), jnp.tile(x, (2, 1))), (X,)),
    "more movement": (lambda x: (jnp.roll(x, 1, 0), jnp.repeat(x, 2, 1), x[1:3, ::2], jnp.stack([x, x], 1)), (X,)),
    "padding": (lambda x: (jnp.pad(x, 1), jnp.pad(x, 1, mode="wrap"), jnp.pad(x, 1, mode="reflect")), (X,)),
    "selection": (lambda x, y: (jnp.where(x > y, x, y), jnp.clip(x, -0.5, 0.5), jnp.maximum(x, y)), (X, Y)),
    "creation": (
        lambda x: (jnp.eye(3) @ x.T, jnp.tri(3) * x[0], jnp.triu(x), jnp.arange(3) + x, jnp.linspace(0, x[0, 0], 5)),
        (X,),
    ),
    "products": (lambda x, w: (x @ w, x.T @ x, jnp.outer(x[0], x[1]), jnp.vdot(x, x), x @ w[:, 0]), (X, W)),
    "einsum": (lambda x, w: (jnp.einsum("ij,jk->ki", x, w), jnp.einsum("ij,ij->i", x, x), jnp.einsum("ij,kj->", x, x)), (X, W)),
    "batched product": (lambda a: a @ a.transpose(0, 2, 1), (CUBE,)),
    "complex": (lambda z: (z * z, jnp.abs(z), jnp.exp(z), jnp.conj(z), jnp.angle(z), jnp.sqrt(z), z / (1 + z)), (Z,)),
    "indexing": (lambda x, i: (x[1], x[-1], x[0, 1], x[i], x[:, i], x[..., None]), (X, TWO)),
    "gather": (lambda x, rows: (x[rows], jnp.take(x, rows, axis=1), x[rows, rows]), (X, ROWS)),
    "scatter": (lambda x, rows: (x.at[1].set(0), x.at[0, 1].add(5), x.at[rows].add(x[:3]), x.at[:, 0].max(0.2)), (X, ROWS)),
    "dynamic slices": (
        lambda x, i: (lax.dynamic_slice(x, (i, i), (2, 2)), lax.dynamic_update_slice(x, x[:2, :2], (i, i))),
        (X, ONE),
    ),
    "sort": (lambda x: (jnp.sort(x), jnp.argsort(x, 0), jnp.sort(x, 0, descending=True), jnp.median(x)), (X,)),
    "cumulative": (lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x, 0)), (X,)),
    "associative scan": (lambda x: lax.associative_scan(jnp.multiply, x), (X,)),
    "pooling": (lambda x: (maxima(x), lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")), (IMAGES,)),
    "gradient of pooling": (jax.grad(lambda x: (maxima(x) ** 2).sum()), (IMAGES,)),
    "cond": (lambda x, i: lax.cond(i > 1, jnp.sin, jnp.negative, x), (X, TWO)),
    "switch": (lambda x, i: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x.T.reshape(x.shape)], x), (X, TWO)),
    "fori, counted": (lambda x: lax.fori_loop(0, 6, lambda i, x: x.at[i % 4].mul(2), x), (X,)),
    "fori, not counted": (lambda x, n: lax.fori_loop(0, n, lambda i, x: jnp.sin(x) + i, x), (X, TWO)),
    "fori in fori": (
        lambda n: lax.fori_loop(0, n, lambda i, a: a + lax.fori_loop(0, i, lambda j, b: b + i * j, 0), 0),
        (np.int32(6),),
    ),
    "while": (lambda x: lax.while_loop(lambda s: jnp.abs(s[0]).sum() > 1, lambda s: (s[0] / 2, s[1] + 1), (x, 0)), (X,)),
    "scan": (lambda x: lax.scan(lambda c, r: (c * 0.9 + r, (c.sum(), r * 2)), jnp.zeros(3, jnp.float32), x), (X,)),
    "scan, reversed": (
        lambda x: lax.scan(lambda c, r: (jnp.tanh(c + r), c), jnp.zeros(3, jnp.float32), x, reverse=True, unroll=2),
        (X,),
    ),
    "gradient of scan": (jax.grad(recurrence), (W[:, :3].copy(), X)),
    "map": (lambda x: lax.map(lambda row: jnp.exp(row).sum(), x), (X,)),
    "vmap": (jax.vmap(lambda row, v: jnp.dot(row, v) * row, (0, None)), (X, V)),
    "vmap of cond": (jax.vmap(lambda row: lax.cond(row.sum() > 0, jnp.sin, jnp.cos, row)), (X,)),
    "network": (network, (PARAMETERS, X)),
    "gradient of network": (jax.value_and_grad(loss), (PARAMETERS, X, T)),
    "training": (lambda p, x, t: lax.fori_loop(0, 10, lambda i, p: descend(p, x, t), p), (PARAMETERS, X, T)),
    "classification": (jax.grad(cross_entropy), (W, X, CLASSES)),
    "attention": (lambda q, k, v: nn.softmax(q @ k.T / np.float32(3) ** 0.5) @ v, (X, Y, X)),
    "jvp": (lambda x, y: jax.jvp(lambda x: jnp.sin(x) * jnp.exp(x), (x,), (y,)), (X, Y)),
    "hessian": (jax.hessian(lambda v: jnp.sum(jnp.sin(v) * v[0] ** 2)), (V,)),
    "checkpoint": (jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())), (X,)),
    "jit in jit": (lambda x: jax.jit(jnp.sin)(x) + jax.jit(lambda y: y * 2)(x), (X,)),
    "random bits": (lambda key: jax.random.normal(jax.random.wrap_key_data(key), (3, 3)), (KEY,)),
    "one hot": (lambda classes: nn.one_hot(classes, 5), (CLASSES,)),
    "heat": (lambda u: lax.fori_loop(0, 10, lambda i, u: heat(u), u), (FIELD,)),
    "mandelbrot": (mandelbrot, (Z,)),
    "barrier": (lambda x: lax.optimization_barrier((x, x + 1)), (X,)),
    "reduce precision": (lambda x: lax.reduce_precision(x, 5, 10), (X,)),
}


@pytest.fixture(scope="module", params=one_in(2, PROGRAMS))
def program(request):
    """The arguments of one program, its two dumps, and its results. They are made once for all tests of the program."""
    return dumped(*PROGRAMS[request.param])


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("stage", ["lowered", "compiled"])
def test_program(program, stage, backend):
    arguments, texts, expected = program
    assert_runs(texts[stage], backend, arguments, expected)


def test_double_precision():
    x = np.random.default_rng(7).standard_normal((5, 4))
    with jax.enable_x64(True):
        lowered = jax.jit(lambda x: (jnp.exp(x), x.sum(0), x @ x.T, jnp.sin(x), jnp.cumsum(x, 1))).lower(x)
        compiled = lowered.compile()
        expected = [np.asarray(result) for result in compiled(x)]
    for text in (lowered.as_text(dialect="hlo"), compiled.as_text()):
        for backend in ("reference", "cpu"):
            for result, wanted in zip(load_hlo(text, backend)(x), expected, strict=True):
                assert result.dtype == wanted.dtype == np.float64
                np.testing.assert_allclose(result, wanted, rtol=1e-12, atol=1e-12)


def test_what_cannot_run_is_named():
    lowered = jax.jit(lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)).lower(X)
    for backend in ("reference", "cpu"):
        with pytest.raises(NotImplementedError, match="custom-call"):
            load_hlo(lowered.as_text(dialect="hlo"), backend)

"""More programs of JAX, run by phlox: convolutions, transforms, sorting, random numbers, narrow types, special functions."""

import numpy as np
import pytest
from jax_dumps import assert_runs, dumped
from phlox.hlo import parse_module
from thinning import one_in

jax = pytest.importorskip("jax")
jnp, lax, nn, special = jax.numpy, jax.lax, jax.nn, jax.scipy.special

pytestmark = pytest.mark.peer

RANDOM = np.random.default_rng(11)


def normal(*dimensions):
    return RANDOM.standard_normal(dimensions).astype(np.float32)


X, IMAGES, KERNEL, KEY = normal(8, 8), normal(2, 10, 10, 3), normal(3, 3, 3, 4), np.uint32([1, 2])
INDICES, SEGMENTS = np.int32([1, 3, 3]), np.int32([0, 1, 1, 3, 0, 2, 2, 1])
I8, J8 = (RANDOM.integers(-50, 50, (8, 8)).astype(np.int8) for _ in range(2))
Z = (X + 1j * X.T).astype(np.complex64)
SIGNED = np.float32([[-np.nan, -0.0, 0.0, -1, np.nan], [0.0, -0.0, 0.0, -np.inf, -np.nan]])
NHWC = ("NHWC", "HWIO", "NHWC")


def convolution(images, kernel, strides=(1, 1), padding="SAME", **options):
    return lax.conv_general_dilated(images, kernel, strides, padding, dimension_numbers=NHWC, **options)


def key(data):
    return jax.random.wrap_key_data(data)


def layer_norm_gradient(x):
    return jax.grad(lambda x: (((x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)) ** 3).sum())(x)


def rematerialized(w):
    step = jax.checkpoint(lambda c, _: (jnp.tanh(c @ w), None))
    return jax.grad(lambda w: lax.scan(lambda c, a: (jnp.tanh(c @ w), step(c, a)[1]), jnp.ones((4, 8)), None, 5)[0].sum())(w)


# Name: function, arguments.
PROGRAMS = {
    "convolution": (convolution, (IMAGES, KERNEL)),
    "dilated convolution": (lambda x, k: convolution(x, k, (2, 2), "VALID", rhs_dilation=(2, 2)), (IMAGES, KERNEL)),
    "convolution's gradient": (jax.grad(lambda k, x: (convolution(x, k, (2, 2)) ** 2).sum()), (KERNEL, IMAGES)),
    "transposed convolution": (lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), (IMAGES, KERNEL)),
    "depthwise convolution": (lambda x, k: convolution(x, k, feature_group_count=3), (IMAGES, normal(3, 3, 1, 3))),
    "convolution of vectors": (jnp.convolve, (normal(30), normal(5))),
    "fourier": (lambda x: (jnp.fft.fft(x), jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x)), jnp.fft.fft2(x)), (X,)),
    "sort by keys": (lambda x: lax.sort((x, -x), num_keys=1), (X,)),
    "positions": (lambda x: (jnp.nanargmin(x), jnp.searchsorted(jnp.sort(x[0]), x[1]), jnp.histogram(x, bins=5)[0]), (X,)),
    "unique": (lambda i: jnp.unique(i, size=3), (INDICES,)),
    "segments": (lambda x, i: jax.ops.segment_sum(x, i, 4), (X, SEGMENTS)),
    "scatters": (lambda x, i: (x.at[i, i].multiply(2), x.at[:, i].min(0.0), jnp.take_along_axis(x, i[None], 1)), (X, INDICES)),
    "log cumulative": (lambda x: (lax.cumlogsumexp(x, 0), lax.cummin(x, 1, reverse=True)), (X,)),
    "uniform and integers": (lambda k: (jax.random.uniform(key(k), (16,)), jax.random.randint(key(k), (9,), 0, 100)), (KEY,)),
    "permutation": (lambda k: jax.random.permutation(key(k), 10), (KEY,)),
    "categorical": (lambda k, x: jax.random.categorical(key(k), x), (KEY, X)),
    "bit generator": (lambda k: lax.rng_bit_generator(k, (5, 7)), (np.uint32([1, 2, 3, 4]),)),
    "bfloat16": (lambda x: (x @ x, jnp.exp(x), x.sum(0)), (X.astype(jnp.bfloat16),)),
    "half precision": (lambda x: (x @ x, jnp.tanh(x)), (X.astype(np.float16),)),
    "int8": (lambda i, j: (lax.dot(i, j, preferred_element_type=jnp.int32), i + j, i * j, i // (j | 1)), (I8, J8)),
    # Small enough: XLA's compiler leaves sums beyond 4 bits as they are.
    "int4": (lambda i: (i.astype(jnp.int4) + i.astype(jnp.int4)).astype(jnp.int8), (I8 // 16,)),
    "float8": (lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32) * 2, (X,)),
    "largest of NaN and zeros with signs": (lambda x: lax.top_k(x, 4), (SIGNED,)),
    "complex": (lambda z: (z @ z, jnp.log(z), z**2, jnp.sin(z), jnp.fft.ifft(z)), (Z,)),
    "gamma functions": (lambda x: (special.gammaln(jnp.abs(x) + 1), special.digamma(jnp.abs(x) + 1)), (X,)),
    "attention": (lambda q: nn.dot_product_attention(q, q, q), (normal(2, 6, 2, 8),)),
    "gradient of layer norm": (layer_norm_gradient, (X,)),
    "rematerialized scan": (rematerialized, (X,)),
    "ragged product": (lax.ragged_dot, (normal(8, 4), normal(3, 4, 5), np.int32([2, 3, 3]))),
    "resizing": (lambda x: jax.image.resize(x, (16, 12), "bilinear"), (X,)),
    "composite": (lambda x: lax.composite(lambda y: y * y + 1, "my.op")(x), (X,)),
    "vmap of while": (jax.vmap(lambda v: lax.while_loop(lambda a: a < 10.0, lambda a: a * 2 + 1, jnp.abs(v))), (X[0],)),
}


@pytest.fixture(scope="module", params=one_in(2, PROGRAMS))
def program(request):
    """The arguments of one program, its two dumps, and its results. They are made once for all tests of the program."""
    return dumped(*PROGRAMS[request.param])


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("stage", ["lowered", "compiled"])
def test_program(program, stage, backend):
    arguments, texts, expected = program
    assert_runs(texts[stage], backend, arguments, expected, tolerance=1e-4)


@pytest.mark.parametrize("stage", ["lowered", "compiled"])
def test_dump_is_printed_back(program, stage):
    xla = pytest.importorskip("jaxlib._hlo")
    _, texts, _ = program
    module = parse_module(texts[stage])
    for options in ({}, {"metadata": True}, {"names": "canonical"}):
        printed = module.as_text(**options)
        assert parse_module(printed) == module
        xla.hlo_module_from_text(printed)
    # The numbers of stack frames stand in for what the tables say, which are printed with them.
    text = module.as_text(metadata=True)
    assert text.count("metadata={") == texts[stage].count("metadata={")
    assert ("\nStackFrames\n" in text) == ("\nStackFrames\n" in texts[stage])


def test_print_options_of_xla():
    """One module, however XLA spells it."""
    xla = pytest.importorskip("jaxlib._hlo")

    def function(x):
        return lax.scan(lambda c, row: (lax.cond(c.sum() > 0, jnp.sin, jnp.cos, c + row), nn.softmax(row)), x[0], x)

    lowered = jax.jit(function).lower(X)
    modules = [lowered.compiler_ir("hlo").get_hlo_module(), *lowered.compile().runtime_executable().hlo_modules()]
    changes = {"print_operand_shape": True, "print_percent": False, "print_program_shape": False, "print_metadata": False}
    changes |= {"include_layout_in_shapes": False, "indent_amount": 3}
    for module in modules:
        plain = xla.HloPrintOptions()
        plain.print_large_constants = True
        expected = parse_module(module.to_string(plain))
        for name, value in changes.items():
            options = xla.HloPrintOptions()
            options.print_large_constants = True
            setattr(options, name, value)
            assert parse_module(module.to_string(options)) == expected, name
        # Computations inside of their callers, every name a number, and only what determines the results.
        canonical = xla.HloPrintOptions.canonical()
        canonical.print_large_constants = True
        for backend in ("reference", "cpu"):
            assert_runs(module.to_string(canonical), backend, [X], jax.tree.leaves(jax.jit(function)(X)), tolerance=1e-5)

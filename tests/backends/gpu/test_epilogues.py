"""Products whose kernels compute what follows: the same as in loops of their own, bit by bit, and what NumPy gives."""

import ml_dtypes
import numpy as np
import pytest
from gpu_backends import DEVICES, backend_or_skip
from phlox import jit
from phlox.backends.gpu import backend as gpu_backend
from phlox.backends.gpu.epilogue_fusion import FUSE_EPILOGUES
from phlox.backends.gpu.pipeline import PIPELINE
from phlox.backends.gpu.plan import Launch, inside

WITHOUT = tuple([step for step in PIPELINE if step is not FUSE_EPILOGUES])
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "c64": np.complex64, "s32": np.int32}


def numbers(dtype, *sizes, seed=0):
    generator = np.random.default_rng([seed, *sizes])
    dtype = np.dtype(DTYPES[dtype])
    if dtype.kind in "iu":
        return generator.integers(-9, 9, sizes).astype(dtype)
    values = generator.standard_normal(sizes)
    return (values + 1j * generator.standard_normal(sizes) if dtype.kind == "c" else values).astype(dtype)


def kernels_of(executable):
    return [step.kernel.rstrip("0123456789_") for step in inside(executable.program.plan.steps) if isinstance(step, Launch)]


def run(function, arguments, kernels, monkeypatch, backend="opencl"):
    """Its results, which are those of a program without epilogues."""
    place = backend_or_skip(backend)
    module = jit(function).lower(*arguments).module
    executable = place.compile(module)
    assert kernels_of(executable) == list(kernels)
    found = executable(*arguments)
    with monkeypatch.context() as patch:
        patch.setattr(gpu_backend, "PIPELINE", WITHOUT)
        plain = place.compile(module)
    assert len(kernels_of(plain)) > len(kernels)
    for one, other in zip(found, plain(*arguments), strict=True):
        np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))
    return found


def bias_and_relu(x, w, bias):
    return np.maximum(x @ w + bias, 0)


@pytest.mark.parametrize("backend", DEVICES)
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "s32"])
@pytest.mark.parametrize("sizes", [(64, 64, 64), (33, 21, 70), (257, 130, 40)])
def test_bias_and_activation(dtype, sizes, backend, monkeypatch):
    rows, terms, columns = sizes
    x, w, bias = numbers(dtype, rows, terms), numbers(dtype, terms, columns), numbers(dtype, columns)
    (found,) = run(bias_and_relu, (x, w, bias), ["product"], monkeypatch, backend)
    wide = np.int64 if dtype == "s32" else np.float64
    expected = bias_and_relu(*(one.astype(wide) for one in (x, w, bias)))
    scale = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-5, "f64": 1e-13, "s32": 0}[dtype] * np.abs(expected).max()
    np.testing.assert_allclose(found.astype(wide), expected, rtol=0, atol=scale)


EPILOGUES = {
    "gelu": lambda x, w, y: 0.5 * (x @ w) * (1 + np.tanh(0.79788 * (x @ w + 0.044715 * (x @ w) ** 3))),
    "residual": lambda x, w, y: y + 2 * (x @ w),
    "bias of rows": lambda x, w, y: x @ w + y[:, :1],
    "narrowed": lambda x, w, y: (x @ w).astype(np.float16),
    "compared": lambda x, w, y: x @ w > y,
    "selected": lambda x, w, y: np.where(y > 0, x @ w, -1),
    "transposed": lambda x, w, y: np.ascontiguousarray(np.tanh(x @ w + y).T),
    "reversed besides": lambda x, w, y: (x @ w) * y[::-1],
    "two results": lambda x, w, y: (np.exp(x @ w), np.sin(x @ w) * y),
    "in columns": lambda x, w, y: (x @ w + y)[:, :, None] * np.ones((1, 1, 1), np.float32),
}


@pytest.mark.parametrize("name", EPILOGUES)
def test_epilogues(name, monkeypatch):
    x, w, y = numbers("f32", 45, 20), numbers("f32", 20, 68), numbers("f32", 45, 68)
    found = run(EPILOGUES[name], (x, w, y), ["product"], monkeypatch)
    expected = EPILOGUES[name](*(one.astype(np.float64) for one in (x, w, y)))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=5e-4 * max(1, np.abs(other).max()))


def test_complex_numbers(monkeypatch):
    x, w, y = numbers("c64", 40, 20), numbers("c64", 20, 30), numbers("c64", 40, 30)
    found = run(lambda x, w, y: (np.conj(x @ w) + y).real, (x, w, y), ["product"], monkeypatch)
    np.testing.assert_allclose(found[0], (np.conj(x @ w) + y).real, rtol=0, atol=1e-4)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_batches_in_any_order_of_dimensions(order, monkeypatch):
    x, w = numbers("f32", 5, 33, 20), numbers("f32", 5, 20, 36)

    def function(x, w):
        return np.ascontiguousarray(np.abs(x @ w).transpose(order))

    (found,) = run(function, (x, w), ["product"], monkeypatch)
    np.testing.assert_allclose(found, function(x, w), rtol=0, atol=1e-4)


def test_heads_that_are_split_and_transposed(monkeypatch):
    x, w, bias = numbers("f32", 2, 24, 32), numbers("f32", 32, 48), numbers("f32", 4, 24, 12)

    def heads(x, w, bias):
        return (x @ w).reshape(2, 24, 4, 12).transpose(0, 2, 1, 3) * bias

    (found,) = run(heads, (x, w, bias), ["product"], monkeypatch)
    np.testing.assert_allclose(found, heads(x, w, bias), rtol=0, atol=1e-4)


def test_the_product_is_kept_where_it_is_needed(monkeypatch):
    x, w, bias = numbers("f32", 40, 20), numbers("f32", 20, 30), numbers("f32", 30)

    def function(x, w, bias):
        h = x @ w
        return np.tanh(h + bias), h, h.sum(axis=0)

    found = run(function, (x, w, bias), ["product", "reduce_columns"], monkeypatch)
    for one, other in zip(found, function(x, w, bias), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)


def test_products_that_others_are_added_to(monkeypatch):
    x, w, v = numbers("f32", 40, 40), numbers("f32", 40, 40), numbers("f32", 40, 40)
    (found,) = run(lambda x, w, v: (x @ w) * (w @ v) + x @ v, (x, w, v), ["product"] * 3, monkeypatch)
    np.testing.assert_allclose(found, (x @ w) * (w @ v) + x @ v, rtol=0, atol=2e-4)


def test_nothing_that_comes_of_the_product_otherwise_joins_it():
    x, w = numbers("f32", 40, 20), numbers("f32", 20, 600)
    function = jit(lambda x, w: x @ w / (x @ w)[:1], backend="opencl")
    backend_or_skip("opencl")
    np.testing.assert_allclose(function(x, w), x @ w / (x @ w)[:1], rtol=2e-3)


@pytest.mark.parametrize("sizes", [(1, 300, 50), (50, 300, 1), (3, 64, 70), (70, 64, 3)])
def test_products_with_vectors(sizes, monkeypatch):
    rows, terms, columns = sizes
    x, w, bias = numbers("f32", rows, terms), numbers("f32", terms, columns), numbers("f32", columns)
    (found,) = run(bias_and_relu, (x, w, bias), ["vector_product"], monkeypatch)
    np.testing.assert_allclose(found, bias_and_relu(x, w, bias), rtol=0, atol=1e-4)


@pytest.mark.parametrize("sizes", [(40, 3000, 24), (2, 1 << 20, 1)])
def test_the_kernel_that_adds_parts_has_the_epilogue(sizes, monkeypatch):
    rows, terms, columns = sizes
    x, w, bias = numbers("f32", rows, terms), numbers("f32", terms, columns), numbers("f32", columns)
    names = ["product" if columns > 4 else "vector_product", "product_parts"]
    (found,) = run(lambda x, w, bias: np.tanh(x @ w / 2000 + bias).T.copy(), (x, w, bias), names, monkeypatch)
    np.testing.assert_allclose(found, np.tanh(x @ w / 2000 + bias).T, rtol=0, atol=1e-4)


def convolution_text(labels, sizes, kernel, result, groups):
    shapes = [",".join(map(str, one)) for one in (sizes, kernel, result)]
    (order,) = [labels.partition("->")[2].index("f")]
    return f"""HloModule m
ENTRY e {{
  x = f32[{shapes[0]}] parameter(0)
  k = f32[{shapes[1]}] parameter(1)
  b = f32[{result[order]}] parameter(2)
  c = f32[{shapes[2]}] convolution(x, k), window={{size=3x3}}, dim_labels={labels}, feature_group_count={groups}
  s = f32[{shapes[2]}] broadcast(b), dimensions={{{order}}}
  a = f32[{shapes[2]}] add(c, s)
  ROOT r = f32[{shapes[2]}] tanh(a)
}}"""


@pytest.mark.parametrize(
    ("labels", "sizes", "kernel", "result", "groups"),
    [
        ("b01f_01io->b01f", (2, 12, 11, 5), (3, 3, 5, 24), (2, 10, 9, 24), 1),
        ("bf01_oi01->bf01", (2, 5, 12, 11), (24, 5, 3, 3), (2, 24, 10, 9), 1),
        ("b01f_01io->b01f", (2, 12, 11, 6), (3, 3, 2, 24), (2, 10, 9, 24), 3),
        ("b01f_01io->fb01", (2, 12, 11, 5), (3, 3, 5, 24), (24, 2, 10, 9), 1),
    ],
)
def test_convolutions(labels, sizes, kernel, result, groups, monkeypatch):
    from phlox.hlo import parse_module

    module = parse_module(convolution_text(labels, sizes, kernel, result, groups))
    place = backend_or_skip("opencl")
    arguments = [numbers("f32", *sizes), numbers("f32", *kernel), numbers("f32", max(kernel[0], kernel[-1]))]
    executable = place.compile(module)
    assert kernels_of(executable) == ["product"]
    with monkeypatch.context() as patch:
        patch.setattr(gpu_backend, "PIPELINE", WITHOUT)
        plain = place.compile(module)
    assert len(kernels_of(plain)) > 1
    np.testing.assert_array_equal(executable(*arguments)[0], plain(*arguments)[0])


def test_loops_keep_their_state_in_place(monkeypatch):
    def function(x, w, bias):
        for _ in range(3):
            x = np.tanh(x @ w + bias)
        return x

    backend_or_skip("opencl")
    x, w, bias = numbers("f32", 24, 24), numbers("f32", 24, 24), numbers("f32", 24)
    np.testing.assert_allclose(jit(function, backend="opencl")(x, w, bias), function(x, w, bias), rtol=0, atol=1e-5)


def test_an_argument_is_changed_in_place():
    def function(x, y, w):
        y += x @ w

    backend_or_skip("opencl")
    x, y, w = numbers("f32", 24, 20), numbers("f32", 24, 32), numbers("f32", 20, 32)
    expected = y.astype(np.float64) + x.astype(np.float64) @ w
    jit(function, backend="opencl")(x, y, w)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-5)

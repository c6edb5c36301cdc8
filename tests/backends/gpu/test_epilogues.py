"""Products and reductions whose kernels compute what follows: as in loops of their own, bit by bit, and what NumPy gives.

To compile a program for SPIR-V takes long, so that each has several cases.
"""

import ml_dtypes
import numpy as np
import pytest
from gpu_backends import backend_or_skip
from phlox import jit
from phlox.backends.gpu import backend as gpu_backend
from phlox.backends.gpu.alike_fusion import GROUP_ALIKE
from phlox.backends.gpu.epilogue_form import epilogue_form
from phlox.backends.gpu.epilogue_fusion import FUSE_EPILOGUES, FUSE_EPILOGUES_OF_REDUCTIONS
from phlox.backends.gpu.loop_groups import GROUP_LOOPS
from phlox.backends.gpu.pipeline import PIPELINE
from phlox.backends.gpu.plan import Launch, inside
from phlox.backends.gpu.targets.nvptx import nvptx_target
from phlox.hlo import parse_module

pytestmark = pytest.mark.of_gpus

JOINING = (FUSE_EPILOGUES, FUSE_EPILOGUES_OF_REDUCTIONS, GROUP_ALIKE)
# Cases that are one program have kernels of their own.
APART = tuple([step for step in PIPELINE if step is not GROUP_LOOPS])
WITHOUT = tuple([step for step in APART if step not in JOINING])
BF16 = ml_dtypes.bfloat16
TOLERANCES = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-13}


def numbers(*sizes, dtype=np.float32):
    generator = np.random.default_rng(sizes)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return generator.integers(-9, 9, sizes).astype(dtype)
    values = generator.standard_normal(sizes)
    return (values + 1j * generator.standard_normal(sizes) if dtype.kind == "c" else values).astype(dtype)


def kernels_of(plan):
    return [step.kernel.rstrip("0123456789_") for step in inside(plan.steps) if isinstance(step, Launch)]


def plan_of(function, *arguments):
    return gpu_backend.program_of(jit(function).lower(*arguments).module, nvptx_target("sm_90a")).plan


def run(module, arguments, kernels, monkeypatch):
    """What a program gives of these kernels alone, which is bit by bit what it does without epilogues."""
    place = backend_or_skip("opencl")
    with monkeypatch.context() as patch:
        patch.setattr(gpu_backend, "PIPELINE", APART)
        executable = place.compile(module)
        assert sorted(kernels_of(executable.program.plan)) == sorted(kernels)
        found = executable(*arguments)
        patch.setattr(gpu_backend, "PIPELINE", WITHOUT)
        plain = place.compile(module)
    assert len(kernels_of(plain.program.plan)) > len(kernels)
    for one, other in zip(found, plain(*arguments), strict=True):
        np.testing.assert_array_equal(np.atleast_1d(one).view(np.uint8), np.atleast_1d(other).view(np.uint8))
    return found


def check(cases, kernels, monkeypatch, exact=False):
    """Run cases, functions with their arguments, as one program, and compare with NumPy."""
    counts = [len(arguments) for _, arguments in cases]

    def program(*arguments):
        given = iter(arguments)
        results = [function(*[next(given) for _ in range(count)]) for (function, _), count in zip(cases, counts)]
        return [one for result in results for one in (result if isinstance(result, tuple) else (result,))]

    arguments = [argument for _, given in cases for argument in given]
    found = run(jit(program).lower(*arguments).module, arguments, kernels, monkeypatch)
    expected = program(*[one.astype(np.float64) if one.dtype.kind in "fV" else one for one in arguments])
    for one, other in zip(found, expected, strict=True):
        tolerance = TOLERANCES.get(one.dtype.name, 0) * max(1, np.abs(other).max())
        np.testing.assert_allclose(one.astype(other.dtype), other, rtol=0, atol=tolerance)


def bias_and_relu(x, w, bias):
    return np.maximum(x @ w + bias, 0)


def test_types_and_sizes(monkeypatch):
    cases = []
    for dtype, rows, terms, columns in (
        (np.float16, 33, 21, 70), (BF16, 33, 21, 70), (np.float32, 33, 21, 70), (np.float32, 64, 64, 64),
        (np.float64, 33, 21, 70), (np.int32, 64, 20, 72),
    ):  # fmt: skip
        given = numbers(rows, terms, dtype=dtype), numbers(terms, columns, dtype=dtype), numbers(columns, dtype=dtype)
        cases.append((bias_and_relu, given))
    # Large tiles: one of them is in part behind the last row.
    cases.append((lambda x, w, bias: (x @ w + bias)[:, :, None], (numbers(160, 8), numbers(8, 8192), numbers(8192))))
    flags = [numbers(*sizes) > 1 for sizes in ((48, 20), (20, 32), (48, 32))]
    cases.append((lambda x, w, y: x @ w | y, flags))
    x, w, y = (numbers(40, 40, dtype=np.complex64) for _ in range(3))
    cases.append((lambda x, w, y: (np.conj(x @ w) + y).real, (x, w, y)))
    check(cases, ["product"] * len(cases), monkeypatch)


EPILOGUES = {
    "gelu": lambda x, w, y: 0.5 * (x @ w) * (1 + np.tanh(0.79788 * (x @ w + 0.044715 * (x @ w) ** 3))),
    "residual": lambda x, w, y: y + 2 * (x @ w),
    "bias of rows": lambda x, w, y: x @ w + y[:, :1],
    "narrowed": lambda x, w, y: (x @ w).astype(np.float16),
    "selected": lambda x, w, y: np.where(y > 0, x @ w, -1),
    "compared": lambda x, w, y: x @ w > y + 100,
    "transposed": lambda x, w, y: np.ascontiguousarray(np.tanh(x @ w + y).T),
    "reversed besides": lambda x, w, y: (x @ w) * y[::-1],
    "two results": lambda x, w, y: (np.cos(x @ w), np.sin(x @ w) * y),
    "with ones": lambda x, w, y: (x @ w + y)[:, None, :, None] * 2,
}


def test_epilogues(monkeypatch):
    # Each has rows of its own, as nothing that two have in common shall be computed once.
    cases = [
        (function, (numbers(45 + number, 20), numbers(20, 68), numbers(45 + number, 68)))
        for number, function in enumerate(EPILOGUES.values())
    ]
    check(cases, ["product"] * len(cases), monkeypatch)


def test_dimensions_in_any_order(monkeypatch):
    def ordered(order):
        return lambda x, w: np.ascontiguousarray(np.abs(x @ w).transpose(order))

    orders = [(1, 0, 2), (0, 2, 1), (1, 2, 0), (2, 0, 1)]
    cases = [(ordered(order), (numbers(5, 33 + number, 20), numbers(5, 20, 36))) for number, order in enumerate(orders)]
    heads = numbers(2, 24, 32), numbers(32, 48), numbers(2, 4, 24, 12)
    cases.append((lambda x, w, y: (x @ w).reshape(2, 24, 4, 12).transpose(0, 2, 1, 3) * y, heads))
    check(cases, ["product"] * len(cases), monkeypatch)


def test_products_of_vectors_and_those_in_parts(monkeypatch):
    cases = [
        (bias_and_relu, (numbers(rows, terms), numbers(terms, columns), numbers(columns)))
        for rows, terms, columns in ((1, 60, 50), (50, 60, 1), (3, 64, 70), (70, 64, 3))
    ]
    kernels = ["vector_product"] * 4 + ["product", "product_parts", "vector_product", "product_parts"]
    for rows, terms, columns in ((40, 3000, 24), (2, 1 << 16, 1)):
        given = numbers(rows, terms), numbers(terms, columns), numbers(columns)
        cases.append((lambda x, w, bias: np.tanh(x @ w / 2000 + bias).T.copy(), given))
    check(cases, kernels, monkeypatch)


def test_the_product_is_kept_where_it_is_needed(monkeypatch):
    def kept(x, w, bias):
        h = x @ w
        return np.tanh(h + bias), h, h.sum(axis=0)

    def two(x, w, v):
        return (x @ w) * (w @ v) + x @ v

    cases = [(kept, (numbers(40, 20), numbers(20, 30), numbers(30))), (two, [numbers(41, 41) for _ in range(3)])]
    # Two of those that are multiplied by others do the same, and run together.
    check(cases, ["product"] * 3 + ["reduce_columns"], monkeypatch)


def convolution_text(number, labels, sizes, kernel, result, groups):
    shapes = [",".join(map(str, one)) for one in (sizes, kernel, result)]
    order = labels.partition("->")[2].index("f")
    return f"""
  x{number} = f32[{shapes[0]}] parameter({3 * number})
  k{number} = f32[{shapes[1]}] parameter({3 * number + 1})
  b{number} = f32[{result[order]}] parameter({3 * number + 2})
  c{number} = f32[{shapes[2]}] convolution(x{number}, k{number}), window={{size=3x3}}, dim_labels={labels},
    feature_group_count={groups}
  s{number} = f32[{shapes[2]}] broadcast(b{number}), dimensions={{{order}}}
  a{number} = f32[{shapes[2]}] add(c{number}, s{number})
  r{number} = f32[{shapes[2]}] tanh(a{number})"""


def test_convolutions(monkeypatch):
    cases = [
        ("b01f_01io->b01f", (2, 12, 11, 5), (3, 3, 5, 24), (2, 10, 9, 24), 1),
        ("bf01_oi01->bf01", (2, 5, 12, 11), (24, 5, 3, 3), (2, 24, 10, 9), 1),
        ("b01f_01io->b01f", (2, 12, 11, 6), (3, 3, 2, 24), (2, 10, 9, 24), 3),
        ("b01f_01io->fb01", (2, 12, 11, 5), (3, 3, 5, 24), (24, 2, 10, 9), 1),
    ]
    text = "".join(convolution_text(number, *case) for number, case in enumerate(cases))
    shapes = ", ".join(f"f32[{','.join(map(str, case[3]))}]" for case in cases)
    text = f"HloModule m\nENTRY e {{{text}\n  ROOT t = ({shapes}) tuple(r0, r1, r2, r3)\n}}"
    arguments = [numbers(*one) for _, sizes, kernel, *_ in cases for one in (sizes, kernel, (24,))]
    run(parse_module(text), arguments, ["product"] * 4, monkeypatch)


def test_loops_and_arguments_in_place():
    def rounds(x, w, bias):
        for _ in range(3):
            x = np.tanh(x @ w + bias)
        return x

    def summed(x, w, total):
        for _ in range(3):
            total = total + x @ w
            x = np.sin(x)
        return total

    def added(x, y, w):
        y += x @ w

    backend_or_skip("opencl")
    x, w, bias, y = numbers(24, 24), numbers(24, 24), numbers(24), numbers(24, 24)
    np.testing.assert_allclose(jit(rounds, backend="opencl")(x, w, bias), rounds(x, w, bias), rtol=0, atol=1e-5)
    np.testing.assert_allclose(jit(summed, backend="opencl")(x, w, y), summed(x, w, y), rtol=0, atol=1e-5)
    expected = y.astype(np.float64) + x.astype(np.float64) @ w
    jit(added, backend="opencl")(x, y, w)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-5)


# --- which loops join a product ---


def test_nothing_that_comes_of_the_product_otherwise_joins_it():
    x, w = numbers(40, 20), numbers(20, 24)
    assert kernels_of(plan_of(lambda x, w: x @ w / (x @ w)[:1], x, w)) == ["product", "divide"]
    assert kernels_of(plan_of(lambda x, w: (x @ w)[::-1] + 1, x, w)) == ["product", "add"]


def test_what_several_kernels_need_is_stored_instead_of_the_product():
    def function(x, w, y, v):
        h = y + x @ w
        return np.tanh(h) @ v, h.sum(axis=0), (h * h).sum(axis=1)

    plan = plan_of(function, numbers(40, 20), numbers(20, 24), numbers(40, 24), numbers(24, 30))
    first, *others = [step for step in plan.steps if kernels_of(plan)[0] == "product"]
    (residual,) = [place for place in first.arguments if str(place) == "argument 2"]
    assert not any(residual in step.arguments for step in others)


def test_a_layer_has_no_kernels_but_those_of_rows_and_products():
    def layer(x, w, up, bias, down):
        centred = x - x.mean(axis=-1, keepdims=True)
        y = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-5))
        q, k, v = ((y @ w[n]).reshape(4, 128, 4, 64).transpose(0, 2, 1, 3) for n in range(3))
        e = np.exp(q @ k.transpose(0, 1, 3, 2))
        x = x + ((e / e.sum(axis=-1, keepdims=True)) @ v).transpose(0, 2, 1, 3).reshape(4, 128, 256) @ w[3]
        return x + np.tanh(x @ up + bias) @ down

    w = tuple([numbers(256, 256) for _ in range(4)])
    plan = plan_of(layer, numbers(4, 128, 256), w, numbers(256, 1024), numbers(1024), numbers(1024, 256))
    assert set(kernels_of(plan)) == {"rows", "product", "product_parts"} and len(plan.steps) <= 12


def test_factors_are_read_as_they_were_before_they_were_widened():
    x, w, bias = numbers(256, 512, dtype=BF16), numbers(512, 256, dtype=BF16), numbers(256)
    plan = plan_of(lambda x, w, bias: (x @ w + bias).astype(BF16), x, w, bias)
    assert set(kernels_of(plan)) <= {"matrix_product", "product_parts"}
    q, s = numbers(4096, 512, dtype=np.int8), numbers(4096)
    plan = plan_of(lambda q, v, s: (q.astype(np.float32) @ v) * s, q, numbers(512), s)
    assert set(kernels_of(plan)) <= {"vector_product", "product_parts"}


def test_a_computation_with_an_epilogue():
    text = """HloModule m
    f {
      x = f32[4,6] parameter(0)
      y = f32[6,8] parameter(1)
      d = f32[4,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      r = f32[4,2,4] reshape(d)
      n = f32[4,2,4] negate(r)
      ROOT t = f32[2,4,4] transpose(n), dimensions={1,0,2}
    }
    ENTRY e {
      x = f32[4,6] parameter(0)
      y = f32[6,8] parameter(1)
      ROOT r = f32[2,4,4] fusion(x, y), kind=kOutput, calls=f
    }"""
    form = epilogue_form(parse_module(text).entry.root.attributes["calls"])
    assert (form.hero.opcode, form.seen.opcode, form.walk) == ("dot", "reshape", (1, 0, 2))
    assert form.steps == [(4, 1, 1), (2, 4, 16), (4, 8, 4)]


# --- reductions ---


def test_reductions(monkeypatch):
    """Of all elements and of columns, in parts and not, in vectors and not, of types that are rounded, or wrap."""
    in_parts = [
        (lambda x: np.sqrt(x.mean()), (abs(numbers(90_000)),)),
        (lambda x: -np.log(np.exp(x).sum(axis=0)), (numbers(4000, 33, dtype=np.float64),)),
    ]
    at_once = [
        (lambda x, y: y + 0.5 * x.sum(axis=0), (numbers(30, 68), numbers(68))),
        (lambda x, y: y[:, None] * x.max(axis=(0, 2), keepdims=True)[0], (numbers(5, 9, 12), numbers(9))),
        (lambda x: x.mean(axis=0), (numbers(21, 40, dtype=np.float16),)),
        (lambda x: (x.sum(axis=0) * 3 + 1).astype(np.int8), (numbers(12, 33, dtype=np.int32),)),
        (lambda x: (x > 1).any(axis=0) ^ True, (numbers(12, 35),)),
        (lambda x: x.sum(axis=1) / 7, (numbers(33, 5),)),
    ]
    check(in_parts, ["reduce_rows", "reduce_parts", "reduce_columns", "reduce_parts"], monkeypatch)
    check(at_once, ["reduce_columns"] * 4 + ["reduce_rows"] * 2, monkeypatch)


def test_reductions_of_several_arrays(monkeypatch):
    """Of which the places of largest elements are needed, or these themselves, in one part and several."""
    cases = [
        (lambda x: x.argmax(axis=1) * 2 + 1, (numbers(9, 40),)),
        (lambda x: x.argmin(axis=0), (numbers(12, 33),)),
        (lambda x: np.float32(0.5) * x.argmax(), (numbers(90_000),)),
    ]
    check(cases, ["reduce_rows", "reduce_columns", "reduce_rows", "reduce_parts"], monkeypatch)


def test_several_results_of_a_reduction_are_stored():
    module = parse_module("""HloModule m
later {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  c = pred[] compare(b, a), direction=GT
  x = f32[] select(c, b, a)
  k = s32[] select(c, j, i)
  ROOT t = (f32[], s32[]) tuple(x, k)
}
ENTRY e {
  a = f32[30,50] parameter(0)
  i = s32[30,50] iota(), iota_dimension=0
  m = f32[] constant(-inf)
  z = s32[] constant(0)
  r = (f32[50], s32[50]) reduce(a, i, m, z), dimensions={0}, to_apply=later
  x = f32[50] get-tuple-element(r), index=0
  k = s32[50] get-tuple-element(r), index=1
  y = f32[50] exponential(x)
  ROOT t = (s32[50], f32[50]) tuple(k, y)
}""")
    a = numbers(30, 50)
    place = backend_or_skip("opencl")
    executable = place.compile(module)
    assert kernels_of(executable.program.plan) == ["reduce_columns", "exponential"]
    places, largest = executable(a)
    np.testing.assert_array_equal(places, a.argmax(axis=0))
    np.testing.assert_allclose(largest, np.exp(a.max(axis=0)), rtol=1e-6)


def test_reductions_that_are_needed_themselves(monkeypatch):
    def as_it_is(x):
        total = x.sum(axis=0)
        return total, np.exp(total)

    def elsewhere(x):
        total = x.sum(axis=0)
        return total / 3, np.outer(total, total)

    cases = [(as_it_is, (numbers(12, 36),)), (elsewhere, (numbers(13, 37),))]
    check(cases, ["reduce_columns", "reduce_columns", "multiply"], monkeypatch)


def test_nothing_is_read_after_it_has_changed():
    """A sum that would be computed behind an update of what it reads stays where it is, or the array would be copied."""

    def changed(x, i):
        x = x * 2
        total = x.sum(axis=0)
        x[i] = 1
        return x, total * x[0, 0]

    kernels = kernels_of(plan_of(changed, np.ones((40, 30), np.float32), np.int32(3)))
    assert kernels.index("reduce_columns") < kernels.index("broadcast") and kernels[-1] == "multiply"


def test_how_many_kernels():
    x = np.empty((3000, 2000), np.float32)
    programs = {
        (lambda x: x.mean()): ["reduce_rows", "reduce_parts"],
        (lambda x: x.std(axis=0)): ["reduce_columns"] * 4,
        (lambda x: x / np.sqrt((x * x).sum())): ["reduce_rows", "reduce_parts", "divide"],
        (lambda x: x - x.mean(axis=0)): ["reduce_columns", "reduce_parts", "subtract"],
    }
    for function, kernels in programs.items():
        assert kernels_of(plan_of(function, x)) == kernels

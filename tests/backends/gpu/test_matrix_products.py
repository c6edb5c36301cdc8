"""Products on NVIDIA's matrix units: their kernels, interpreted as the PTX ISA says, against NumPy in f64."""

import ml_dtypes
import numpy as np
import pytest
from phlox.backends.gpu.emitter_table import scratch_bytes
from phlox.backends.gpu.frame import ALIGNMENT, Frame
from phlox.backends.gpu.kernels import matrix_product
from phlox.backends.gpu.kernels.matrix_product import Division
from phlox.backends.gpu.pipeline import PIPELINE
from phlox.backends.gpu.targets.nvptx import nvptx_target
from phlox.compile.buffer_assignment import assign_buffers
from phlox.compile.pass_manager import run_steps
from phlox.hlo import parse_module
from thinning import one_in, one_in_all
from warp_interpreter import run_program

DTYPES = {
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "s8": np.int8, "u8": np.uint8,
    "s32": np.int32,
}  # fmt: skip
TOLERANCES = {"bf16": 4e-3, "f16": 5e-4, "f32": 1e-6, "f64": 1e-14, "s32": 0, "s8": 0}
# How operands are stored, by the formula of np.einsum, and which dimensions are contracted.
LAYOUTS = {"ij,jk->ik": (1, 0), "ij,kj->ik": (1, 1), "ji,jk->ik": (0, 0), "ji,kj->ik": (0, 1)}


def compiled(text, architecture):
    prepared = dict(run_steps(parse_module(text), PIPELINE))["insert-copies"]
    frame = Frame(prepared, assign_buffers(prepared, scratch_bytes, ALIGNMENT), nvptx_target(architecture))
    return frame.emit(), frame.kernels.llvm


def random_array(dtype, sizes, generator):
    if np.dtype(DTYPES[dtype]).kind in "iu":
        return generator.integers(-100 if dtype == "s8" else 0, 100, sizes).astype(DTYPES[dtype])
    return generator.standard_normal(sizes).astype(DTYPES[dtype])


def check(
    architecture, formula, attributes, types, left_sizes, right_sizes, sizes, fast_math=False, kernels=("matrix_product",)
):
    left_type, right_type, result = types
    header = ', frontend_attributes={fastmath="true"}' if fast_math else ""
    text = f"""HloModule m{header}
ENTRY e {{
  a = {left_type}[{",".join(map(str, left_sizes))}] parameter(0)
  b = {right_type}[{",".join(map(str, right_sizes))}] parameter(1)
  ROOT c = {result}[{",".join(map(str, sizes))}] dot(a, b), {attributes}
}}"""
    plan, module = compiled(text, architecture)
    assert [step.kernel.rpartition("_")[0] for step in plan.steps] == list(kernels)
    generator = np.random.default_rng(0)
    left, right = random_array(left_type, left_sizes, generator), random_array(right_type, right_sizes, generator)
    (found,) = run_program(plan, module, [left, right], [(sizes, np.dtype(DTYPES[result]))])
    is_integer = np.dtype(DTYPES[result]).kind in "iu"
    wide = np.int64 if is_integer else np.float64
    expected = np.einsum(formula, left.astype(wide), right.astype(wide))
    expected = expected.astype(DTYPES[result]) if is_integer else expected
    tolerance = 2e-3 if fast_math else TOLERANCES[result]
    np.testing.assert_allclose(found.astype(wide), expected.astype(wide), rtol=0, atol=tolerance * np.abs(expected).max())


def check_with_epilogue(architecture, types, rows, columns, terms, transposed=False, kernels=("matrix_product",)):
    """0.5 * (a @ b) + bias + c, and the product besides; the first may be transposed."""
    left, right, result = types
    order = (columns, rows) if transposed else (rows, columns)
    shape, kept = f"f32[{rows},{columns}]", "" if transposed else f", {result}[{rows},{columns}]"
    last = "transpose(x), dimensions={1,0}" if transposed else "copy(x)"
    text = f"""HloModule m
ENTRY e {{
  a = {left}[{rows},{terms}] parameter(0)
  b = {right}[{terms},{columns}] parameter(1)
  bias = f32[{columns}] parameter(2)
  c = f32[{rows},{columns}] parameter(3)
  d = {result}[{rows},{columns}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  w = {shape} convert(d)
  half = f32[] constant(0.5)
  halves = {shape} broadcast(half), dimensions={{}}
  s = {shape} broadcast(bias), dimensions={{1}}
  h = {shape} multiply(w, halves)
  y = {shape} add(h, s)
  x = {shape} add(y, c)
  r = f32[{order[0]},{order[1]}] {last}
  ROOT t = (f32[{order[0]},{order[1]}]{kept}) tuple(r{"" if transposed else ", d"})
}}"""
    plan, module = compiled(text, architecture)
    assert [step.kernel.rpartition("_")[0] for step in plan.steps] == list(kernels)
    generator = np.random.default_rng(0)
    a, b = random_array(left, (rows, terms), generator), random_array(right, (terms, columns), generator)
    bias, c = random_array("f32", (columns,), generator), random_array("f32", (rows, columns), generator)
    results = [(order, np.dtype(np.float32)), ((rows, columns), np.dtype(DTYPES[result]))][: 1 if transposed else 2]
    found = run_program(plan, module, [a, b, bias, c], results)
    product = np.einsum("ij,jk->ik", a.astype(np.float64), b.astype(np.float64))
    expected = product.astype(DTYPES[result]).astype(np.float64) * 0.5 + bias + c
    tolerance = TOLERANCES[result] * np.abs(product).max() + 1e-6 * np.abs(expected).max()
    for one, other in zip(found, (expected.T if transposed else expected, product)):
        np.testing.assert_allclose(one.astype(np.float64), other, rtol=0, atol=tolerance)


def check_matrices(architecture, formula, types, rows, columns, terms, **options):
    left, right = LAYOUTS[formula]
    left_sizes = (rows, terms) if left == 1 else (terms, rows)
    right_sizes = (terms, columns) if right == 0 else (columns, terms)
    attributes = f"lhs_contracting_dims={{{left}}}, rhs_contracting_dims={{{right}}}"
    check(architecture, formula, attributes, types, left_sizes, right_sizes, (rows, columns), **options)


TYPES = [("bf16", "bf16", "bf16"), ("f16", "f16", "f32"), ("s8", "u8", "s32"), ("s8", "s8", "s8"), ("f64", "f64", "f64")]


@pytest.mark.parametrize(("types", "formula"), one_in_all(7, TYPES, LAYOUTS))
def test_layouts_that_can_be_copied_and_ones_that_cannot(types, formula):
    check_matrices("sm_80", formula, types, 72, 40, 80)
    check_matrices("sm_80", formula, types, 33, 67, 35)


@pytest.mark.parametrize("formula", LAYOUTS)
def test_sixteen_rows_of_f64_at_once(formula):
    check_matrices("sm_90", formula, ("f64", "f64", "f64"), 72, 40, 24)


@pytest.mark.parametrize("formula", LAYOUTS)
def test_products_of_f32_lose_bits_only_where_that_is_allowed(formula):
    types = ("f32", "f32", "f32")
    check_matrices("sm_80", formula, types, 40, 72, 48, fast_math=True)
    left, right = LAYOUTS[formula]
    text = f"""HloModule mHEADER
ENTRY e {{
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  ROOT c = f32[64,64] dot(a, b), lhs_contracting_dims={{{left}}}, rhs_contracting_dims={{{right}}}PRECISION
}}"""
    header = ', frontend_attributes={fastmath="true"}'
    precise = ", operand_precision={highest,highest}"
    for plain in (
        text.replace("HEADER", "").replace("PRECISION", ""),
        text.replace("HEADER", header).replace("PRECISION", precise),
    ):
        assert not compiled(plain, "sm_80")[0].steps[0].kernel.startswith("matrix_product")


# Those that have an instruction for groups of warps.
OF_GROUPS = [types for types in TYPES[:3] if types[0] == types[1]]


@pytest.mark.parametrize(("types", "formula", "columns"), one_in_all(7, OF_GROUPS, LAYOUTS, [128, 256]))
def test_groups_of_warps(monkeypatch, types, formula, columns):
    division = next(one for one in matrix_product._GROUPED_DIVISIONS if one.columns == columns)
    monkeypatch.setattr(matrix_product, "_division", lambda *arguments: division if arguments[-1] else None)
    check_matrices("sm_90a", formula, types, 136, columns + 8, 144 if types[0] == "s8" else 200)


def test_groups_of_warps_multiply_f32_whose_terms_lie_side_by_side(monkeypatch):
    monkeypatch.setattr(matrix_product, "_division", lambda *arguments: matrix_product._GROUPED_DIVISIONS[1])
    check_matrices("sm_90a", "ij,kj->ik", ("f32", "f32", "f32"), 136, 72, 72, fast_math=True)


@pytest.mark.parametrize("division", one_in(3, matrix_product._DIVISIONS))
def test_divisions(monkeypatch, division: Division):
    monkeypatch.setattr(matrix_product, "_division", lambda *arguments: division)
    check_matrices("sm_90", "ij,jk->ik", ("bf16", "bf16", "f32"), division.rows + 8, division.columns + 8, 136)


def test_batches_several_terms_and_parts():
    batched = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
    types = ("bf16", "bf16", "bf16")
    check("sm_80", "bij,bjk->bik", batched, types, (3, 40, 24), (3, 24, 16), (3, 40, 16))
    several = "lhs_contracting_dims={0,2}, rhs_contracting_dims={0,1}"
    check("sm_80", "aib,abk->ik", several, types, (4, 40, 24), (4, 24, 16), (40, 16))
    kernels = ("matrix_product", "product_parts")
    check_matrices("sm_80", "ij,jk->ik", types, 40, 24, 1030, kernels=kernels)


@pytest.mark.parametrize(("types", "transposed"), one_in_all(3, [*TYPES[:3], TYPES[4]], [False, True]))
def test_epilogues(types, transposed):
    check_with_epilogue("sm_80", types, 72, 40, 80, transposed)
    check_with_epilogue("sm_80", types, 33, 67, 35, transposed)


def test_epilogues_of_parts():
    kernels = ("matrix_product", "product_parts")
    check_with_epilogue("sm_80", ("bf16", "bf16", "bf16"), 40, 24, 1030, kernels=kernels)


@pytest.mark.parametrize("division", one_in(3, matrix_product._DIVISIONS))
def test_epilogues_of_divisions(monkeypatch, division: Division):
    monkeypatch.setattr(matrix_product, "_division", lambda *arguments: division)
    check_with_epilogue("sm_90", ("bf16", "bf16", "f32"), division.rows + 8, division.columns + 8, 72)


@pytest.mark.parametrize("columns", [128, 256])
def test_epilogues_of_groups_of_warps(monkeypatch, columns):
    division = next(one for one in matrix_product._GROUPED_DIVISIONS if one.columns == columns)
    monkeypatch.setattr(matrix_product, "_division", lambda *arguments: division if arguments[-1] else None)
    check_with_epilogue("sm_90a", ("f16", "f16", "f32"), 136, columns + 8, 72)


def test_products_that_do_the_same_run_together():
    text = """HloModule m
ENTRY e {
  x = bf16[40,24] parameter(0)
  v = bf16[24,40] parameter(1)
  w = bf16[24,40] parameter(2)
  y = f32[40,40] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[40,40] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[40,40], f32[40,40]) tuple(z, y)
}"""
    plan, module = compiled(text, "sm_80")
    (launch,) = plan.steps
    assert launch.grid[2] == 2
    generator = np.random.default_rng(0)
    x, v, w = (random_array("bf16", sizes, generator) for sizes in ((40, 24), (24, 40), (24, 40)))
    found = run_program(plan, module, [x, v, w], [((40, 40), np.dtype(np.float32))] * 2)
    for one, other in zip(found, (w, v)):
        np.testing.assert_allclose(one, x.astype(np.float64) @ other.astype(np.float64), rtol=0, atol=1e-5)

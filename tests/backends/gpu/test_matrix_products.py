"""Products on matrix units: their kernels, interpreted as the documents of NVIDIA and AMD say, against NumPy in f64."""

import ml_dtypes
import numpy as np
import pytest
from gpu_backends import target
from phlox.backends.gpu.backend import pipeline_of
from phlox.backends.gpu.emitter_table import scratch_bytes
from phlox.backends.gpu.frame import ALIGNMENT, Frame
from phlox.backends.gpu.kernels import matrix_divisions, warp_product, wave_product
from phlox.backends.gpu.kernels.matrix_divisions import Division
from phlox.backends.gpu.narrow_factors import MULTIPLY_NARROW_FACTORS
from phlox.backends.gpu.pipeline import PIPELINE
from phlox.compile.buffer_assignment import assign_buffers
from phlox.compile.pass_manager import run_steps
from phlox.hlo import parse_module, verify
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
    frame = Frame(prepared, assign_buffers(prepared, scratch_bytes, ALIGNMENT), target(architecture))
    return frame.emit(), frame.kernels.llvm


def random_array(dtype, sizes, generator):
    if np.dtype(DTYPES[dtype]).kind in "iu":
        return generator.integers(-100 if dtype == "s8" else 0, 100, sizes).astype(DTYPES[dtype])
    return generator.standard_normal(sizes).astype(DTYPES[dtype])


def check(
    architecture, formula, attributes, types, left_sizes, right_sizes, sizes, fast_math=False, kernels=("matrix_product",),
    blocks=None,
):  # fmt: skip
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
    results, lanes = [(sizes, np.dtype(DTYPES[result]))], target(architecture).sub_group
    (found,) = run_program(plan, module, [left, right], results, blocks, lanes)
    is_integer = np.dtype(DTYPES[result]).kind in "iu"
    wide = np.int64 if is_integer else np.float64
    expected = np.einsum(formula, left.astype(wide), right.astype(wide))
    expected = expected.astype(DTYPES[result]) if is_integer else expected
    tolerance = 2e-3 if fast_math and result == "f32" else TOLERANCES[result]
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
    found = run_program(plan, module, [a, b, bias, c], results, lanes=target(architecture).sub_group)
    exact = np.int64 if np.dtype(DTYPES[left]).kind in "iu" else np.float64  # sums of small integers wrap
    product = np.einsum("ij,jk->ik", a.astype(exact), b.astype(exact)).astype(DTYPES[result]).astype(np.float64)
    expected = product * 0.5 + bias + c
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
    division = next(one for one in matrix_divisions.GROUPED_WARP_DIVISIONS if one.columns == columns)
    monkeypatch.setattr(warp_product, "division_for", lambda *arguments: division)
    check_matrices("sm_90a", formula, types, 136, columns + 8, 144 if types[0] == "s8" else 200)


def test_groups_of_warps_multiply_f32_whose_terms_lie_side_by_side(monkeypatch):
    monkeypatch.setattr(warp_product, "division_for", lambda *arguments: matrix_divisions.GROUPED_WARP_DIVISIONS[1])
    check_matrices("sm_90a", "ij,kj->ik", ("f32", "f32", "f32"), 136, 72, 72, fast_math=True)


@pytest.mark.parametrize("division", one_in(3, matrix_divisions.WARP_DIVISIONS))
def test_divisions(monkeypatch, division: Division):
    monkeypatch.setattr(warp_product, "division_for", lambda *arguments: division)
    check_matrices("sm_90", "ij,jk->ik", ("bf16", "bf16", "f32"), division.rows + 8, division.columns + 8, 136)


def test_batches_several_terms_and_parts():
    batched = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
    types = ("bf16", "bf16", "bf16")
    check("sm_80", "bij,bjk->bik", batched, types, (3, 40, 24), (3, 24, 16), (3, 40, 16))
    several = "lhs_contracting_dims={0,2}, rhs_contracting_dims={0,1}"
    check("sm_80", "aib,abk->ik", several, types, (4, 40, 24), (4, 24, 16), (40, 16))
    kernels = ("matrix_product", "product_parts")
    check_matrices("sm_80", "ij,jk->ik", types, 40, 24, 1030, kernels=kernels)


# --- AMD's ---

AMD_TYPES = [
    (architecture, types)
    for architecture, of_architecture in {
        "gfx90a": [
            ("bf16", "bf16", "f32"),
            ("f16", "f16", "f16"),
            ("s8", "s8", "s32"),
            ("u8", "u8", "s32"),
            ("f32",) * 3,
            ("f64",) * 3,
        ],
        "gfx942": [
            ("bf16", "bf16", "bf16"),
            ("f16", "f16", "f32"),
            ("s8", "s8", "s8"),
            ("u8", "s8", "s32"),
            ("s8", "u8", "s32"),
            ("f32",) * 3,
            ("f64",) * 3,
        ],
        "gfx1100": [("bf16", "bf16", "bf16"), ("f16", "f16", "f32"), ("s8", "u8", "s32"), ("u8", "u8", "s32")],
    }.items()
    for types in of_architecture
]


@pytest.mark.parametrize(("case", "formula"), one_in_all(13, AMD_TYPES, LAYOUTS))
def test_layouts_on_waves(case, formula):
    """Which threads may read and write what is checked, too; and that tiles lie in all banks of the block's memory."""
    blocks = []
    check_matrices(case[0], formula, case[1], 72, 40, 80, blocks=blocks)
    assert max(block.most_conflicts for block in blocks) == 1
    check_matrices(case[0], formula, case[1], 33, 67, 35)


@pytest.mark.parametrize("formula", one_in(3, LAYOUTS))
@pytest.mark.parametrize("architecture, types", [("gfx942", "f32"), ("gfx90a", "f16")])
def test_instructions_that_lose_bits_are_taken_where_that_is_allowed(architecture, types, formula):
    check_matrices(architecture, formula, (types,) * 3, 64, 72, 64, fast_math=True)


@pytest.mark.parametrize(
    ("architecture", "element_type", "precise", "fast"),
    [
        ("gfx942", "f32", "mfma.f32.32x32x2f32", "mfma.f32.32x32x4.xf32"),
        ("gfx90a", "f32", "mfma.f32.32x32x2f32", "mfma.f32.32x32x2f32"),
        # Those of gfx90a for 16 bits take subnormal numbers for zero.
        ("gfx90a", "f16", "mfma.f32.32x32x2f32", "mfma.f32.32x32x8f16"),
        ("gfx90a", "bf16", "mfma.f32.32x32x2f32", "mfma.f32.32x32x8bf16.1k"),
        ("gfx942", "f16", "mfma.f32.32x32x8f16", "mfma.f32.32x32x8f16"),
    ],
)
def test_which_instruction(architecture, element_type, precise, fast):
    for header, name in (("", precise), (', frontend_attributes={fastmath="true"}', fast)):
        text = f"""HloModule m{header}
ENTRY e {{
  a = {element_type}[64,64] parameter(0)
  b = {element_type}[64,64] parameter(1)
  ROOT c = {element_type}[64,64] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""
        found = {one for one in compiled(text, architecture)[1].globals if "mfma" in one}
        assert found == {f"llvm.amdgcn.{name}"}


WAVE_DIVISIONS = [("gfx942", one) for one in matrix_divisions.WAVES_OF_64] + [
    ("gfx1100", one) for one in matrix_divisions.WAVES_OF_32
]


@pytest.mark.parametrize("case", one_in(4, WAVE_DIVISIONS))
def test_divisions_of_waves(monkeypatch, case):
    architecture, division = case
    monkeypatch.setattr(wave_product, "division_for", lambda *arguments: division)
    blocks = []
    types = ("bf16", "bf16", "f32")
    check_matrices(architecture, "ij,jk->ik", types, division.rows + 8, division.columns, 136, blocks=blocks)
    assert max(block.most_conflicts for block in blocks) == 1


def test_batches_several_terms_and_parts_on_waves():
    batched = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
    types = ("bf16", "bf16", "bf16")
    check("gfx942", "bij,bjk->bik", batched, types, (3, 40, 24), (3, 24, 16), (3, 40, 16))
    several = "lhs_contracting_dims={0,2}, rhs_contracting_dims={0,1}"
    check("gfx1100", "aib,abk->ik", several, types, (4, 40, 24), (4, 24, 16), (40, 16))
    kernels = ("matrix_product", "product_parts")
    check_matrices("gfx942", "ij,jk->ik", types, 40, 24, 1030, kernels=kernels)


# --- halves that were converted ---


@pytest.mark.parametrize(
    ("left", "right", "precision", "expected"),
    [
        ("bf16", "bf16", "", "parameter"),
        ("f16", "f16", "", "parameter"),
        ("bf16", "f16", "", "parameter"),
        ("bf16", "bf16", ", operand_precision={highest,highest}", "convert"),
    ],
)
def test_products_of_halves_in_f32_are_those_of_the_halves(left, right, precision, expected):
    module = parse_module(f"""HloModule m
ENTRY e {{
  a = {left}[8,8] parameter(0)
  b = {right}[8,8] parameter(1)
  x = f32[8,8] convert(a)
  y = f32[8,8] convert(b)
  ROOT c = f32[8,8] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}{precision}
}}""")
    narrowed = MULTIPLY_NARROW_FACTORS.run(module)
    verify(narrowed)
    assert [operand.opcode for operand in narrowed.entry.root.operands] == [expected] * 2


def test_factors_that_were_transposed_and_widened_are_read_as_they_lie():
    module = parse_module("""HloModule m
ENTRY e {
  a = bf16[2,8,4] parameter(0)
  b = bf16[2,6,4] parameter(1)
  t = bf16[2,4,6] transpose(b), dimensions={0,2,1}
  x = f32[2,8,4] convert(a)
  y = f32[2,4,6] convert(t)
  ROOT c = f32[2,8,6] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
}""")
    narrowed = MULTIPLY_NARROW_FACTORS.run(module)
    verify(narrowed)
    product = narrowed.entry.root
    assert product.operands == narrowed.entry.parameters
    assert product.attributes["rhs_contracting_dimensions"] == (2,)


@pytest.mark.parametrize(
    ("architecture", "rows", "result", "fast_math", "expected"),
    [
        ("gfx942", 64, "f32", False, "convert"),  # there are instructions for f32
        ("gfx942", 2, "f32", False, "parameter"),  # what is read counts
        ("gfx942", 64, "s32", False, "parameter"),
        ("gfx1100", 64, "f32", False, "parameter"),
        ("sm_90a", 64, "f32", False, "parameter"),
        ("sm_90a", 64, "f32", True, "convert"),
    ],
)
def test_factors_stay_wide_for_units_that_take_them_so(architecture, rows, result, fast_math, expected):
    header = ', frontend_attributes={fastmath="true"}' if fast_math else ""
    module = parse_module(f"""HloModule m{header}
ENTRY e {{
  a = {result}[{rows},64] parameter(0)
  b = s8[64,64] parameter(1)
  y = {result}[64,64] convert(b)
  ROOT c = {result}[{rows},64] dot(a, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}""")
    (narrow_factors,) = [
        one for one in pipeline_of(target(architecture)) if getattr(one, "name", "") == MULTIPLY_NARROW_FACTORS.name
    ]
    narrowed = narrow_factors.run(module)
    verify(narrowed)
    assert narrowed.entry.root.operands[1].opcode == expected


# --- epilogues and groups ---


@pytest.mark.parametrize(("types", "transposed"), one_in_all(3, [*TYPES[:3], TYPES[4]], [False, True]))
def test_epilogues(types, transposed):
    check_with_epilogue("sm_80", types, 72, 40, 80, transposed)
    check_with_epilogue("sm_80", types, 33, 67, 35, transposed)


def test_epilogues_of_parts():
    kernels = ("matrix_product", "product_parts")
    check_with_epilogue("sm_80", ("bf16", "bf16", "bf16"), 40, 24, 1030, kernels=kernels)


@pytest.mark.parametrize("division", one_in(3, matrix_divisions.WARP_DIVISIONS))
def test_epilogues_of_divisions(monkeypatch, division):
    monkeypatch.setattr(warp_product, "division_for", lambda *arguments: division)
    check_with_epilogue("sm_90", ("bf16", "bf16", "f32"), division.rows + 8, division.columns + 8, 72)


@pytest.mark.parametrize("division", matrix_divisions.GROUPED_WARP_DIVISIONS, ids=lambda one: one.columns)
def test_epilogues_of_groups_of_warps(monkeypatch, division):
    monkeypatch.setattr(warp_product, "division_for", lambda *arguments: division if arguments[-1] else None)
    check_with_epilogue("sm_90a", ("f16", "f16", "f32"), 136, division.columns + 8, 72)


@pytest.mark.parametrize(("case", "transposed"), one_in_all(5, AMD_TYPES, [False, True]))
def test_epilogues_on_waves(case, transposed):
    architecture, types = case
    check_with_epilogue(architecture, types, 72, 40, 80, transposed)
    check_with_epilogue(architecture, types, 33, 67, 35, transposed)


@pytest.mark.parametrize("case", one_in(5, WAVE_DIVISIONS))
def test_epilogues_of_divisions_of_waves(monkeypatch, case):
    architecture, division = case
    monkeypatch.setattr(wave_product, "division_for", lambda *arguments: division)
    check_with_epilogue(architecture, ("bf16", "bf16", "f32"), division.rows + 8, division.columns, 72)


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

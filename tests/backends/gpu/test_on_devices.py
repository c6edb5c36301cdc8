"""Large arrays on devices: the functions of the benchmark, and products of all types and layouts, against NumPy.

Sizes are several times what a block computes, and no multiples of it.
"""

import ml_dtypes
import numpy as np
import pytest
from bench.devices.bench import Bench
from bench.devices.cases import Sizes
from bench.devices.chapters import rows_of
from gpu_backends import backend_or_skip
from phlox.hlo import parse_module
from thinning import LEFT_TO_CI

SIZES = Sizes(elements=1_000_003, side=1030, products=(1030,), records=(200_003,))
# Networks have sizes of their own, and compilation has no results.
ROWS = [
    (chapter, row.name)
    for chapter in ("memory", "products", "orders")
    for _, row in rows_of([chapter], [], SIZES)
    if row.target is not None
]


def on_devices(step, cases):
    """The cases on NVIDIA's devices; on OpenCL's `.ci/run` runs one in so many, and the rest is slow."""
    marks = [LEFT_TO_CI if place % step == 0 else pytest.mark.slow for place in range(len(cases))]
    named = [(case, "-".join(case).replace(" ", "_")) for case in cases]
    return [pytest.param("opencl", case, marks=mark, id=f"{name}-opencl") for (case, name), mark in zip(named, marks)] + [
        pytest.param("cuda", case, marks=pytest.mark.gpu, id=f"{name}-cuda") for case, name in named
    ]


class Checked(Bench):
    """Results are compared, and nothing is timed."""

    def __init__(self, name):
        super().__init__(name, SIZES)
        self.peers, self.missing, self.turns = {}, {}, 1
        self.copy_bandwidth = 1.0


@pytest.mark.parametrize(("name", "row"), on_devices(12, ROWS))
def test_row_of_the_benchmark(name, row):
    backend_or_skip(name)
    chapter, wanted = row
    (found,) = [one for _, one in rows_of([chapter], [], SIZES) if one.name == wanted]
    record = Checked(name).measured(found)
    assert "error" not in record, record["error"]


DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "s8": np.int8, "s32": np.int32}
TOLERANCES = {"bf16": 8e-3, "f16": 1e-3, "f32": 2e-6, "f64": 1e-13, "s32": 0, "s8": 0}
# How operands are stored: which of their dimensions are contracted.
LAYOUTS = {"ij,jk->ik": (1, 0), "ij,kj->ik": (1, 1), "ji,jk->ik": (0, 0), "ji,kj->ik": (0, 1)}
TYPES = ["bf16 bf16", "bf16 f32", "f16 f16", "f32 f32", "f32 f32 fast", "f64 f64", "s8 s32", "s8 s8"]
SHAPES = ["512 512 512", "1000 777 333", "130 4096 70", "64 20000 64", "2048 1024 2048"]
PRODUCTS = [(types, layout, shape) for types in TYPES for layout in LAYOUTS for shape in SHAPES]


@pytest.mark.parametrize(("name", "product"), on_devices(41, PRODUCTS))
def test_product(name, product):
    """Rows, terms and columns."""
    backend = backend_or_skip(name)
    types, formula, shape = product
    operand, result, *fast = types.split()
    rows, terms, columns = map(int, shape.split())
    left, right = LAYOUTS[formula]
    sizes = [(rows, terms) if left else (terms, rows), (columns, terms) if right else (terms, columns)]
    given = [f"{operand}[{','.join(map(str, one))}]" for one in sizes]
    text = f"""HloModule m{', frontend_attributes={fastmath="true"}' if fast else ""}
ENTRY e {{
  a = {given[0]} parameter(0)
  b = {given[1]} parameter(1)
  ROOT c = {result}[{rows},{columns}] dot(a, b), lhs_contracting_dims={{{left}}}, rhs_contracting_dims={{{right}}}
}}"""
    generator = np.random.default_rng(0)
    is_integer = operand == "s8"
    arrays = [generator.integers(-100, 100, one) if is_integer else generator.standard_normal(one) for one in sizes]
    arrays = [one.astype(DTYPES[operand]) for one in arrays]
    wide = np.float64  # sums of products of bytes are exact
    expected = np.einsum(formula, *[one.astype(wide) for one in arrays], optimize=True)
    if is_integer:
        expected = expected.astype(np.int64).astype(DTYPES[result]).astype(wide)
    (found,) = backend.compile(parse_module(text))(*arrays)
    tolerance = 3e-3 if fast else TOLERANCES[result]
    np.testing.assert_allclose(found.astype(wide), expected, rtol=0, atol=tolerance * np.abs(expected).max())

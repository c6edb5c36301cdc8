"""Kernels over arrays of more than 2**31 elements compute with indices that are wide enough: some of their blocks are run."""

import numpy as np
import pytest
from gpu_backends import target
from huge_arrays import indices_and_results
from phlox.backends.gpu.backend import program_of
from phlox.hlo import parse_module
from thinning import one_in_all

HUGE = (1 << 31) + 12_345
COMPUTATIONS = """
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
lower { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = pred[] compare(a, b), direction=LT }
"""


def f(indices):
    """Small whole numbers, which sums of some products of are exact."""
    return (indices.astype(np.int64) * 2654435761 >> 12) % 127


def far(indices):
    return (indices.astype(np.int64) + 3) * 1_234_577_777 % HUGE


def of_rows(size):
    """The elements of the rows in which elements lie."""
    return lambda at: f(at[:, None] // size * size + np.arange(size))


def products(rows, terms, columns):
    def function(at):
        row, column, term = at[:, None] // columns, at[:, None] % columns, np.arange(terms)
        return (f(row * terms + term) * f(term * columns + column)).sum(axis=1)

    return function


BATCH, ROWS, COLUMNS, LINES = (1 << 27) + 3, 70_001, 40_003, (1 << 25) + 7
# The program, what its arguments hold, and what the result does, by index.
CASES = {
    "map": (f"x = u8[{HUGE}] parameter(0)\n ROOT y = u8[{HUGE}] add(x, x)", [f], lambda at: 2 * f(at)),
    "reverse": (f"x = f32[{HUGE}] parameter(0)\n ROOT y = f32[{HUGE}] reverse(x), dimensions={{0}}", [f],
                lambda at: f(HUGE - 1 - at)),
    "transpose": (f"x = u8[{ROWS},{COLUMNS}] parameter(0)\n ROOT y = u8[{COLUMNS},{ROWS}] transpose(x), dimensions={{1,0}}",
                  [f], lambda at: f(at % ROWS * COLUMNS + at // ROWS)),
    "rows": (f"x = f32[{1 << 30},3] parameter(0)\n c = f32[] constant(0)\n "
             f"ROOT y = f32[{1 << 30}] reduce(x, c), dimensions={{1}}, to_apply=add", [f],
             lambda at: f(3 * at[:, None] + np.arange(3)).sum(axis=1)),
    "long rows": (f"x = f32[{LINES},64] parameter(0)\n c = f32[] constant(0)\n "
                  f"s = f32[{LINES}] reduce(x, c), dimensions={{1}}, to_apply=add\n "
                  f"b = f32[{LINES},64] broadcast(s), dimensions={{0}}\n ROOT y = f32[{LINES},64] subtract(x, b)", [f],
                  lambda at: f(at) - of_rows(64)(at).sum(axis=1)),
    "columns": (f"x = f32[3,{(1 << 30) + 77}] parameter(0)\n c = f32[] constant(0)\n "
                f"ROOT y = f32[{(1 << 30) + 77}] reduce(x, c), dimensions={{0}}, to_apply=add", [f],
                lambda at: f(at[:, None] + np.arange(3) * ((1 << 30) + 77)).sum(axis=1)),
    "broadcast": (f"x = f32[{COLUMNS}] parameter(0)\n ROOT y = f32[{ROWS},{COLUMNS}] broadcast(x), dimensions={{1}}", [f],
                  lambda at: f(at % COLUMNS)),
    "slice": (f"x = f32[{HUGE}] parameter(0)\n ROOT y = f32[{HUGE // 2}] slice(x), slice={{[1:{HUGE // 2 * 2}:2]}}", [f],
              lambda at: f(2 * at + 1)),
    "concatenate": (f"x = u8[{1 << 30}] parameter(0)\n z = u8[{(1 << 30) + 99}] parameter(1)\n "
                    f"ROOT y = u8[{(1 << 31) + 99}] concatenate(x, z), dimensions={{0}}", [f, lambda at: f(at + 5)],
                    lambda at: np.where(at < 1 << 30, f(at), f(at - (1 << 30) + 5))),
    "pad": (f"x = u8[{HUGE}] parameter(0)\n c = u8[] constant(7)\n ROOT y = u8[{HUGE + 20}] pad(x, c), padding=10_10", [f],
            lambda at: np.where((at < 10) | (at >= HUGE + 10), 7, f(at - 10))),
    "iota": (f"ROOT y = s64[{HUGE}] iota(), iota_dimension=0", [], lambda at: at),
    "a block at a place": (f"x = f32[{HUGE}] parameter(0)\n s = s64[] parameter(1)\n "
                           "ROOT y = f32[5000] dynamic-slice(x, s), dynamic_slice_sizes={5000}",
                           [f, lambda at: np.full_like(at, HUGE - 6000)], lambda at: f(at + HUGE - 6000)),
    "gather": (f"x = f32[127] parameter(0)\n i = s32[{HUGE}] parameter(1)\n ROOT y = f32[{HUGE}] gather(x, i), "
               "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}", [f, f],
               lambda at: f(f(at))),
    "gather from far": (f"x = f32[{HUGE}] parameter(0)\n i = s64[5000] parameter(1)\n ROOT y = f32[5000] gather(x, i), "
                        "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
                        [f, far], lambda at: f(far(at))),
    "windows": (f"x = f32[{HUGE}] parameter(0)\n c = f32[] constant(0)\n "
                f"ROOT y = f32[{HUGE - 2}] reduce-window(x, c), window={{size=3}}, to_apply=add", [f],
                lambda at: f(at[:, None] + np.arange(3)).sum(axis=1)),
    "sort": (f"x = f32[{LINES},64] parameter(0)\n ROOT y = f32[{LINES},64] sort(x), dimensions={{1}}, to_apply=lower", [f],
             lambda at: np.sort(of_rows(64)(at), axis=1)[np.arange(at.size), at % 64]),
    "product": (f"x = f32[{BATCH},16] parameter(0)\n w = f32[16,16] parameter(1)\n ROOT y = f32[{BATCH},16] dot(x, w), "
                "lhs_contracting_dims={1}, rhs_contracting_dims={0}", [f, f], products(BATCH, 16, 16)),
    "product of halves": (f"x = bf16[{LINES},32] parameter(0)\n w = bf16[32,128] parameter(1)\n "
                          f"ROOT y = f32[{LINES},128] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
                          [f, f], products(LINES, 32, 128)),
    "products of a batch": (f"x = f32[{BATCH},4,4] parameter(0)\n w = f32[{BATCH},4,4] parameter(1)\n "
                            f"ROOT y = f32[{BATCH},4,4] dot(x, w), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, "
                            "lhs_contracting_dims={2}, rhs_contracting_dims={1}", [f, f],
                            lambda at: (f(at[:, None] // 4 * 4 + np.arange(4))
                                        * f(at[:, None] // 16 * 16 + 4 * np.arange(4) + at[:, None] % 4)).sum(axis=1)),
    "convolution": (f"x = f32[{BATCH * 2},10,1] parameter(0)\n k = f32[3,1,1] parameter(1)\n "
                    f"ROOT y = f32[{BATCH * 2},8,1] convolution(x, k), window={{size=3}}, dim_labels=b0f_0io->b0f", [f, f],
                    lambda at: (f(at[:, None] // 8 * 10 + at[:, None] % 8 + np.arange(3)) * f(np.arange(3))).sum(axis=1)),
}  # fmt: skip


@pytest.mark.parametrize("name, architecture", one_in_all(9, CASES, ("sm_80", "sm_90a")))
def test_huge_arrays(name, architecture):
    lines, arguments, expected = CASES[name]
    indices, results = indices_and_results(f"{COMPUTATIONS}ENTRY e {{\n {lines}\n}}", arguments, architecture)
    np.testing.assert_array_equal(results, expected(indices).astype(results.dtype))
    assert indices.min() == 0 and np.unique(indices).size == indices.size


@pytest.mark.parametrize("architecture", ["sm_80", "gfx942"])
def test_grids_that_no_launch_has_are_refused(architecture):
    """AMD's have fewer than 2**32 threads; NVIDIA's fewer than 2**31 blocks."""

    def launch_of(size):
        lines = f"x = f64[{size}] parameter(0)\n ROOT y = f64[{size}] reverse(x), dimensions={{0}}"
        (launch,) = program_of(parse_module(f"HloModule m\nENTRY e {{\n {lines}\n}}"), target(architecture)).plan.steps
        return launch

    size = 1 << 31
    threads = launch_of(size).grid[0] * launch_of(size).block[0]
    too_many = size * (1 << 32) // threads
    if architecture == "sm_80":
        assert launch_of(too_many).grid[0] < 1 << 31
    else:
        with pytest.raises(NotImplementedError, match="reverse by .* a grid of rocm has fewer than 4,294,967,296 threads"):
            launch_of(too_many)

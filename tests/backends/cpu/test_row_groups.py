"""Regions that run together for a few rows at a time compute what they compute one after another."""

import numpy as np
import pytest
from comparisons import check_compiled
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox.backends.cpu import row_groups
from phlox.hlo import F64, Shape, scalar_computation
from phlox.xla_builder import XlaBuilder


@pytest.fixture(autouse=True)
def _group_small_arrays_too(monkeypatch):
    monkeypatch.setattr(row_groups, "_SMALLEST_ARRAY_BYTES", 0)
    monkeypatch.setattr(row_groups, "_BLOCK_BYTES", 256)


def softmax(rows, columns):
    b = XlaBuilder("softmax")
    x = b.parameter(Shape(F64, (rows, columns)))
    highest = b.Reduce(x, b.constant(-np.inf), scalar_computation("maximum", F64), (1,))
    shifted = b.Exp(b.Sub(x, b.BroadcastInDim(highest, (rows, columns), (0,))))
    total = b.Reduce(shifted, b.constant(0.0), scalar_computation("add", F64), (1,))
    return b.build_module(b.Div(shifted, b.BroadcastInDim(total, (rows, columns), (0,))))


@pytest.mark.parametrize("rows", [1, 2, 7, 12, 30])
def test_softmax(rows):
    executable = check_compiled(softmax(rows, 20), np.random.default_rng(0).random((rows, 20)), atol=1e-12)
    if rows > 2:
        assert executable.llvm_ir().count('br label %"rows"') == 1


def test_what_is_small_joins(monkeypatch):
    """The division of a sum of each row is not large enough to stand in a group of its own."""
    monkeypatch.setattr(row_groups, "_SMALLEST_ARRAY_BYTES", 12 * 20 * 8)
    b = XlaBuilder("main")
    x = b.parameter(Shape(F64, (12, 20)))
    first = b.Slice(x, (0, 3), (12, 9), (1, 1))
    means = b.Div(b.Reduce(x, b.constant(0.0), scalar_computation("add", F64), (1,)), b.Broadcast(b.constant(20.0), (12,)))
    others = b.Reduce(first, b.constant(0.0), scalar_computation("add", F64), (1,))
    moved = b.Sub(x, b.BroadcastInDim(b.Add(means, b.Exp(others)), (12, 20), (0,)))
    executable = check_compiled(b.build_module(moved), np.random.default_rng(0).random((12, 20)), atol=1e-12)
    assert executable.llvm_ir().count('br label %"rows"') == 1


def test_a_whole_operand_written_in_the_group_is_not_read_early():
    b = XlaBuilder("main")
    x = b.parameter(Shape(F64, (12, 20)))
    doubled = b.Add(x, x)
    means = b.Reduce(doubled, b.constant(0.0), scalar_computation("add", F64), (0,))
    again = b.Mul(doubled, b.BroadcastInDim(means, (12, 20), (1,)))
    check_compiled(b.build_module(b.Tuple([doubled, again])), np.random.default_rng(0).random((12, 20)), atol=1e-12)


STEPS = (
    "negate",
    "sine",
    "add",
    "reverse rows",
    "reverse columns",
    "transpose",
    "row sums",
    "column sums",
    "row means",
    "slice",
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 5)), min_size=3, max_size=14), st.sampled_from([6, 8, 9]))
def test_random_pipelines(steps, size):
    b = XlaBuilder("pipeline")
    shape = (size, size)
    values = [b.parameter(Shape(F64, shape)), b.parameter(Shape(F64, shape))]
    add = scalar_computation("add", F64)
    for step, choice in steps:
        x, y = values[choice % len(values)], values[-1]
        if step in ("negate", "sine"):
            new = b.emit(step, x)
        elif step == "add":
            new = b.Add(x, y)
        elif step == "reverse rows":
            new = b.Add(b.Rev(x, dimensions=(0,)), y)
        elif step == "reverse columns":
            new = b.Rev(x, dimensions=(1,))
        elif step == "transpose":
            new = b.Add(b.Transpose(x, dimensions=(1, 0)), y)
        elif step == "row sums":
            new = b.Mul(y, b.BroadcastInDim(b.Sin(b.Reduce(x, b.constant(0.0), add, (1,))), shape, (0,)))
        elif step == "column sums":
            new = b.Sub(y, b.BroadcastInDim(b.Cos(b.Reduce(x, b.constant(0.0), add, (0,))), shape, (1,)))
        elif step == "row means":
            new = b.Sub(x, b.BroadcastInDim(b.Tanh(b.Reduce(y, b.constant(0.0), add, (1,))), shape, (1,)))
        else:
            part = b.Slice(x, (1, 0), (size, size))
            new = b.Add(b.ConcatInDim([part, b.Slice(y, (0, 0), (1, size))], 0), y)
        values.append(new)
    module = b.build_module(b.Tuple([values[-1], values[len(values) // 2]]))
    rng = np.random.default_rng(1)
    check_compiled(module, rng.normal(size=shape), rng.normal(size=shape), atol=1e-12)

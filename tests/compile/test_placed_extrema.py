"""What is recognized as the search for the largest or smallest element and its place."""

from __future__ import annotations

import numpy as np
import pytest
from phlox import jit
from phlox.compile.placed_extrema import finds_largest
from phlox.hlo import parse_module

HEAD = """HloModule m
ENTRY e {
  x = f32[] parameter(0)
  i = s32[] parameter(1)
  y = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(x, y), direction=GT
  earlier = pred[] compare(i, j), direction=LT
"""


def applied(function, dtype):
    module = jit(function).lower(np.zeros(1000, dtype)).module
    (reduce,) = (one for one in module.entry.instructions if one.opcode == "reduce")
    return reduce.attributes["to_apply"]


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_numpys_functions(dtype):
    assert finds_largest(applied(np.argmax, dtype)) is True
    assert finds_largest(applied(np.argmin, dtype)) is False


@pytest.mark.parametrize(
    "better",
    [
        "better = pred[] copy(more)",  # neither NaN nor ties
        "t = f32[] constant(1)\n  better = pred[] compare(x, t), direction=GT",
        # no NaN
        "same = pred[] compare(x, y), direction=EQ\n  tie = pred[] and(same, earlier)\n  better = pred[] or(more, tie)",
    ],
)
def test_what_chooses_otherwise(better):
    text = f"{HEAD}  {better}\n  z = f32[] select(better, x, y)\n  k = s32[] select(better, i, j)\n"
    assert finds_largest(parse_module(text + "  ROOT r = (f32[], s32[]) tuple(z, k)\n}").entry) is None

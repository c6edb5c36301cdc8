"""What is known of a loop's counter spares the code that moves indices into their arrays."""

import re

import numpy as np
import pytest
from phlox.backends.cpu.backend import CpuBackend
from phlox.backends.cpu.target import host_target
from phlox.backends.registry import get_backend
from phlox.hlo import parse_module

LOOP = """
HloModule sums

condition {{
  state = (TYPE[], f32[], f32[SIZE]) parameter(0)
  i = TYPE[] get-tuple-element(state), index=0
  limit = TYPE[] constant(LIMIT)
  ROOT goes_on = pred[] compare(i, limit), direction=DIRECTION
}}

body {{
  state = (TYPE[], f32[], f32[SIZE]) parameter(0)
  i = TYPE[] get-tuple-element(state), index=0
  sum = f32[] get-tuple-element(state), index=1
  x = f32[SIZE] get-tuple-element(state), index=2
  factor = TYPE[] constant(FACTOR)
  offset = TYPE[] constant(OFFSET)
  scaled = TYPE[] multiply(i, factor)
  place = TYPE[] add(scaled, offset)
  element = f32[1] dynamic-slice(x, place), dynamic_slice_sizes={{1}}
  scalar = f32[] reshape(element)
  weight = f32[] convert(i)
  product = f32[] multiply(scalar, weight)
  more = f32[] add(sum, product)
  step = TYPE[] constant(STEP)
  next = TYPE[] add(i, step)
  ROOT result = (TYPE[], f32[], f32[SIZE]) tuple(next, more, x)
}}

ENTRY main {{
  x = f32[SIZE] parameter(0)
  start = TYPE[] constant(START)
  zero = f32[] constant(0)
  state = (TYPE[], f32[], f32[SIZE]) tuple(start, zero, x)
  ROOT loop = (TYPE[], f32[], f32[SIZE]) while(state), condition=condition, body=body
}}
"""

CASES = [  # type, start, limit, direction, step, factor, offset, size, whether all places lie inside
    ("s64", 0, 100, "LT", 1, 1, 0, 100, True),
    ("s32", 0, 100, "LT", 1, 1, 0, 99, False),
    ("s64", 0, 100, "LT", 1, 1, -1, 100, False),
    ("s32", 3, 100, "LE", 2, 1, -3, 97, True),
    ("s64", 99, 0, "GE", -1, 1, 0, 100, True),
    ("s64", 99, -9, "GE", -1, 1, 0, 100, False),
    ("s32", 0, 100, "LT", 1, -1, 99, 100, True),
    ("u32", 0, 100, "LT", 1, 3, 1, 299, True),
    ("u64", 0, 100, "LT", 1, 3, 1, 298, False),
    ("u64", 1, 100, "LT", 1, 1, 2**64 - 1, 99, False),  # i - 1, that wraps
    ("s8", 0, 100, "LT", 1, 3, 0, 300, False),  # wraps
    ("u8", 0, 80, "LT", 1, 3, 0, 300, True),
]


@pytest.mark.parametrize("case", CASES)
def test_places_in_counting_loops(case):
    names = ("TYPE", "START", "LIMIT", "DIRECTION", "STEP", "FACTOR", "OFFSET", "SIZE")
    values = dict(zip(names, map(str, case)))
    text = re.sub("|".join(names), lambda found: values[found[0]], LOOP.format())
    module, backend, x = parse_module(text), CpuBackend(host_target()), np.random.default_rng(0).random(case[-2], np.float32)
    found, expected = (list(map(np.asarray, one.compile(module)(x))) for one in (backend, get_backend("reference")))
    assert [value.tolist() for value in found] == [value.tolist() for value in expected]
    assert ("select" not in backend._written(module).llvm_ir) == case[-1]

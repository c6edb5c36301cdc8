"""bitcast, whose meaning is its layouts': on each backend, and as layout normalization writes it."""

import numpy as np
import pytest
from cpu_passes import optimize
from phlox import load_hlo
from phlox.backends.loading import read_module

SHAPES = [
    ("f32[2,3]{1,0}", "f32[3,2]{1,0}"),
    ("f32[2,3]{0,1}", "f32[3,2]{1,0}"),
    ("f32[2,3]{0,1}", "f32[2,3]{1,0}"),
    ("f32[2,3]{0,1}", "f32[6]{0}"),
    ("f32[6]{0}", "f32[2,3]{0,1}"),
    ("f32[2,3,4]{1,0,2}", "f32[6,4]{0,1}"),
    ("f32[2,3,4]{0,2,1}", "s32[4,1,6]{2,0,1}"),
    ("f32[]", "s32[1]{0}"),
]
each = pytest.mark.parametrize(("operand", "result"), SHAPES)


def text(operand, result):
    return f"""
    HloModule bits
    ENTRY main {{
      x = {operand} parameter(0)
      before = {operand} add(x, x)
      moved = {result} bitcast(before)
      ROOT after = {result} negate(moved)
    }}"""


def in_memory(array, layout):
    """The elements in the order in which an array of this layout holds them."""
    return array.transpose(layout[::-1]).reshape(-1)


def expected_value(module, x):
    """Written into flat memory by the operand's layout, read from there by the result's."""
    old, new = module.entry.parameter_shapes[0], module.entry.shape
    memory = in_memory(x + x, old.minor_to_major).view(new.dtype)
    result = np.empty(new.dimensions, new.dtype)
    for index in np.ndindex(*new.dimensions):
        place, step = 0, 1
        for dimension in new.minor_to_major:
            place += index[dimension] * step
            step *= new.dimensions[dimension]
        result[index] = -memory[place]
    return result


@each
@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_bytes_stay_where_they_are(operand, result, backend):
    loaded = load_hlo(text(operand, result), backend)
    dimensions = loaded.module.entry.parameter_shapes[0].dimensions
    x = np.arange(1, 1 + np.prod(dimensions), dtype=np.float32).reshape(dimensions)
    np.testing.assert_array_equal(loaded(x), expected_value(loaded.module, x))


@each
def test_none_is_left_but_of_parameters(operand, result):
    normalized = optimize(read_module(text(operand, result)), [])
    bitcasts = [instruction for instruction in normalized.entry.instructions if instruction.opcode == "bitcast"]
    assert all(bitcast.operands[0].opcode == "parameter" for bitcast in bitcasts)
    assert len(bitcasts) == (not normalized.entry.parameters[0].shape.is_row_major)


def test_in_a_loop():
    """The arrays of a loop's state lose their layouts; the bitcast in its body has meant them."""
    loop = """
    HloModule loop
    body {
      s = (s32[], f32[2,3]{0,1}) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      one = s32[] constant(1)
      j = s32[] add(i, one)
      x = f32[2,3]{0,1} get-tuple-element(s), index=1
      t = f32[3,2]{1,0} bitcast(x)
      back = f32[2,3]{0,1} bitcast(t)
      flat = f32[6]{0} bitcast(x)
      twice = f32[6]{0} add(flat, flat)
      y = f32[2,3]{0,1} bitcast(twice)
      z = f32[2,3]{0,1} add(y, back)
      ROOT r = (s32[], f32[2,3]{0,1}) tuple(j, z)
    }
    condition {
      s = (s32[], f32[2,3]{0,1}) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(2)
      ROOT more = pred[] compare(i, n), direction=LT
    }
    ENTRY main {
      x = f32[2,3]{0,1} parameter(0)
      zero = s32[] constant(0)
      start = (s32[], f32[2,3]{0,1}) tuple(zero, x)
      end = (s32[], f32[2,3]{0,1}) while(start), condition=condition, body=body
      ROOT out = f32[2,3]{0,1} get-tuple-element(end), index=1
    }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for backend in ("reference", "cpu"):
        np.testing.assert_array_equal(load_hlo(loop, backend)(x), 9 * x)


def test_fusions_from_elsewhere_are_cut_anew():
    """XLA puts reductions into loop fusions; the CPU backend's fusions have their own form."""
    dump = """
    HloModule fused
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
    inner { q = f32[4,3]{1,0} parameter(0)  ROOT e = f32[4,3]{1,0} multiply(q, q) }
    computation {
      p = f32[4,3]{1,0} parameter(0)
      m = f32[4,3]{1,0} fusion(p), kind=kLoop, calls=inner
      zero = f32[] constant(0)
      s = f32[4]{0} reduce(m, zero), dimensions={1}, to_apply=add
      ROOT n = f32[4]{0} negate(s)
    }
    ENTRY main {
      x = f32[4,3]{1,0} parameter(0)
      ROOT f = f32[4]{0} fusion(x), kind=kLoop, calls=computation
    }"""
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for backend in ("reference", "cpu"):
        np.testing.assert_array_equal(load_hlo(dump, backend)(x), -(x * x).sum(axis=1))

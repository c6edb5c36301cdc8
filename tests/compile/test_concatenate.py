"""Concatenates of very many operands: joined in groups, each of a bounded size."""

import numpy as np
import pytest
from cpu_passes import expand, optimize
from phlox import jit
from phlox.hlo import F32, Shape
from phlox.xla_builder import XlaBuilder

MOST_CONCATENATED = 128


def concatenates(module):
    return [instruction for instruction in module.entry.instructions if instruction.opcode == "concatenate"]


@pytest.mark.parametrize("count", [MOST_CONCATENATED, MOST_CONCATENATED + 1, 1000, MOST_CONCATENATED**2 + 1])
def test_no_concatenate_has_very_many_operands(count):
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32, (2,)))
    module = b.build_module(b.ConcatInDim([x] * count, 0))
    found = concatenates(optimize(expand(module)))
    assert max((len(one.operands) for one in found), default=0) <= MOST_CONCATENATED
    assert len(found) <= 2 + 2 * count // MOST_CONCATENATED


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("count", [127, 128, 129, 700])
def test_stack_of_many(count, axis):
    parts = [np.arange(6, dtype=np.int32).reshape(2, 3) + 10 * number for number in range(count)]
    stacked = jit(lambda *arrays: np.stack([2 * array for array in arrays], axis=axis))(*parts)
    np.testing.assert_array_equal(stacked, 2 * np.stack(parts, axis=axis))


def test_appended_one_by_one():
    def grown(x):
        whole = np.zeros(0, x.dtype)
        for number in range(300):
            whole = np.append(whole, x[number % 5] + number)
        return whole

    x = np.arange(5.0)
    np.testing.assert_array_equal(jit(grown)(x), x[np.arange(300) % 5] + np.arange(300))


@pytest.mark.parametrize("axis", [0, 1])
def test_rounds_whose_results_are_joined_are_collected_where_they_are_wanted(axis):
    def stacked(x):
        return np.stack([np.sin(x) * k for k in range(400)], axis=axis)

    x = np.arange(5.0)
    compiled = jit(stacked).compile(x)
    np.testing.assert_allclose(compiled(x), stacked(x), rtol=1e-12)
    if axis == 0:
        assert compiled.executable.optimized.instruction_count() < 100

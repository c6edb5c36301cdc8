"""Loops with transposes, by tiles: one kernel with what is before and behind, right at the edges."""

import numpy as np
import phlox
import pytest
from gpu_backends import compiled, launched

pytestmark = pytest.mark.of_gpus

TYPES = {"f32": "f4", "f64": "f8", "s8": "i1", "c128": "c16", "f16": "f2", "pred": "?"}


def kernels(executable, expected, *arguments):
    """The names of what is launched, where the result is right."""
    np.testing.assert_array_equal(executable(*arguments)[0], expected)
    return launched(executable)


def traced(backend, function, *arguments):
    return kernels(backend.compile(phlox.jit(function).lower(*arguments)._recording.module), function(*arguments), *arguments)


def transposed(backend, x, permutation, element_type):
    given, result = (f"{element_type}[{','.join(map(str, sizes))}]" for sizes in (x.shape, np.transpose(x, permutation).shape))
    dimensions = ",".join(map(str, permutation))
    text = f"x = {given} parameter(0)\nROOT y = {result} transpose(x), dimensions={{{dimensions}}}"
    return kernels(compiled(backend, text), np.transpose(x, permutation), x)


@pytest.mark.parametrize(
    ("sizes", "permutation"),
    [
        ((64, 32), (1, 0)),
        ((33, 65), (1, 0)),
        ((17, 16, 19, 18), (3, 1, 0, 2)),
        ((3, 40, 50), (0, 2, 1)),
        ((9, 1, 33), (2, 1, 0)),
    ],
)
@pytest.mark.parametrize("element_type", TYPES)
def test_permutations(backend, sizes, permutation, element_type):
    x = (np.random.default_rng(0).standard_normal(sizes) * 10).astype(TYPES[element_type])
    assert transposed(backend, x, permutation, element_type) == ["transpose_0"]


def test_producers_and_consumers_are_in_the_kernel(backend):
    x, y = (np.random.default_rng(n).standard_normal(size) for n, size in enumerate([(70, 90), (90, 70)]))
    assert traced(backend, lambda x, y: (x * 2 + 1).T * y + x.T, x, y) == ["transpose_0"]


def test_what_is_needed_at_other_places(backend):
    x, y = (np.random.default_rng(n).standard_normal(size) for n, size in enumerate([(70, 90), (90, 70)]))
    traced(backend, lambda x, y: x.T[::-1] + x.T * y, x, y)
    traced(backend, lambda x, y: (x.T + y)[3:, ::2] * y[3:, ::2], x, y)

"""Programs on several devices, for tests of what they make of their arrays."""

import numpy as np
import pytest
from phlox import load_hlo
from phlox.hlo import Module
from phlox.xla_builder import XlaBuilder

BACKENDS = ["reference", "cpu"]
ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"
both = pytest.mark.parametrize("backend", BACKENDS)


def load(body, backend, replicas=1, partitions=1, functions=ADD):
    """The module whose entry computation is the body."""
    return load_hlo(
        f"HloModule test, replica_count={replicas}, num_partitions={partitions}\n{functions}\nENTRY main {{\n{body}\n}}",
        backend,
    )


def built(build, shapes, count):
    """The module of a function of a builder and its parameters, on this many replicas."""
    b = XlaBuilder("built")
    root = build(b, *(b.parameter(shape) for shape in shapes))
    return Module("built", b.build(root), {"replica_count": str(count)})


def run(module, backend, *per_parameter):
    """The devices' results; the arguments are arrays whose first dimension is the device."""
    loaded = load_hlo(module.as_text(), backend)
    return loaded.run_replicas(list(zip(*per_parameter)))


def assert_all(results, expected):
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted)


def values(*sizes, seed=0):
    """Integers as floats, so that sums are exact."""
    return np.random.default_rng(seed).integers(-9, 10, sizes).astype(np.float32)

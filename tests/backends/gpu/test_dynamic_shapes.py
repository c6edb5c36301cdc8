"""Programs with dynamic dimensions on devices: results have their sizes, and errors of sizes are raised."""

import numpy as np
import phlox
import pytest
from dynamic_programs import CASES, check, load, numbers, sizes_of
from gpu_backends import DEVICES, backend_or_skip
from phlox import jit
from phlox.backends.device_memory import to_device
from phlox.backends.gpu import dynamic_shapes
from phlox.hlo import parse_module
from thinning import one_in


@pytest.fixture(params=DEVICES)
def name(request):
    backend_or_skip(request.param)
    return request.param


@pytest.mark.parametrize("case", one_in(4, list(CASES)))
def test_operations(name, case):
    entry, arguments, meaning = CASES[case]
    run = load(entry, name)
    for n, m in ((4, 3), (10, 6), (0, 5)):
        arrays = [numbers(*sizes_of(text, n, m), seed=number) for number, text in enumerate(arguments)]
        with np.errstate(all="ignore"):
            check(run(*arrays), meaning(*arrays))


def selections(x, table):
    return x[x > 0], table[table[:, 0] > 0], table[:, x[:3] > 0], np.unique(np.sign(x)), [2 * value for value in x if value > 1]


def test_sizes_that_depend_on_values(name):
    random = np.random.default_rng(0)
    function = jit(selections, backend=name)
    for seed in range(3):
        x, table = random.standard_normal(40), random.standard_normal((6, 3))
        x[0] = seed
        for expected, found in zip(selections(x, table), function(x, table), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)
        on_device = function(phlox.device_put(x, name), phlox.device_put(table, name))
        for expected, found in zip(selections(x, table), on_device, strict=True):
            np.testing.assert_array_equal(np.asarray(found), expected, strict=True)


def test_errors_of_sizes(name):
    entry = "x = f32[<=10] parameter(0)  n = s32[] parameter(1)  ROOT r = f32[<=10] set-dimension-size(x, n), dimensions={0}"
    run = load(entry, name)
    for size in (-1, 11):
        with pytest.raises(ValueError, match=r"dimension 0 of f32\[<=10\]: the size must be in \[0, 10\]"):
            run(numbers(6), np.int32(size))
    check(run(numbers(6), np.int32(3)), numbers(6)[:3])


def test_arguments_on_the_device_are_padded(name):
    executable = backend_or_skip(name).compile(
        parse_module("""
HloModule twice
ENTRY e {
  x = f32[<=4,<=3] parameter(0)
  ROOT y = f32[<=4,<=3] add(x, x)
}""")
    )
    memory = backend_or_skip(name).memory
    for sizes in ((4, 3), (2, 3), (2, 1), (0, 3)):
        x = numbers(*sizes)
        (result,) = executable.execute([to_device(memory, x)])
        np.testing.assert_array_equal(memory.read(result), 2 * x, strict=True)
    with pytest.raises(ValueError, match="dimension 0 at most 4"):
        executable.execute([to_device(memory, numbers(5, 3))])
    with pytest.raises(TypeError, match="takes 1 array"):
        executable.execute([])


CUT = ["f32[<=40,<=50]", "s8[5,<=60,<=7]", "f64[<=6,3,<=9,2]", "c64[<=30,<=3]", "pred[20,<=30]"]


@pytest.mark.parametrize("shape", one_in(3, CUT))
def test_results_are_cut_and_arguments_padded_on_the_device(name, shape, monkeypatch):
    """What is copied to the host is sizes, and what is there of the results."""
    monkeypatch.setattr(dynamic_shapes, "_MOST_AT_ONCE", 0)
    backend = backend_or_skip(name)
    executable = backend.compile(parse_module(f"HloModule m\nENTRY e {{ x = {shape} parameter(0)  ROOT y = {shape} copy(x) }}"))
    executable = getattr(executable, "on_device", executable)  # where the host computes on its arrays
    random, bounds = np.random.default_rng(0), executable.padding.results[0]
    executable(np.zeros(bounds.dimensions, bounds.dtype))
    for part in (0.3, 0.6, 1, 0):
        sizes = [int(part * n) if dynamic else n for n, dynamic in zip(bounds.dimensions, bounds.dynamic_dimensions)]
        x = random.integers(0, 2, sizes).astype(bounds.dtype)
        buffer = to_device(backend.memory, x)
        read, written = [], []
        with monkeypatch.context() as patch:
            patch.setattr(backend.device, "read", noting(backend.device.read, read))
            patch.setattr(backend.device, "write", noting(backend.device.write, written))
            (result,) = executable.execute([buffer])
        assert max(read) <= 4 and max(written, default=0) <= 4
        np.testing.assert_array_equal(backend.memory.read(result), x, strict=True)
        np.testing.assert_array_equal(executable(x)[0], x, strict=True)
    monkeypatch.setattr(dynamic_shapes, "_MOST_ELEMENTS", 0)  # by way of the host, with the same result
    x = np.ones([n // 2 if dynamic else n for n, dynamic in zip(bounds.dimensions, bounds.dynamic_dimensions)], bounds.dtype)
    np.testing.assert_array_equal(backend.memory.read(executable.execute([to_device(backend.memory, x)])[0]), x, strict=True)


def noting(function, sizes):
    """A driver's copy, which notes how many bytes there are."""

    def copy(target, source, size):
        sizes.append(size)
        return function(target, source, size)

    return copy

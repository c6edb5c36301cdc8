"""The interpreter looks for garbage less often while something is compiled, and as before when that is over."""

import gc
import threading

import numpy as np
import pytest
from phlox import jit
from phlox.backends.cpu.backend import CpuBackend
from phlox.runtime.garbage import rare_collections
from thinning import left_to_ci
from typical_programs import layer_norm, mlp_training_step, module_of


@pytest.fixture(autouse=True)
def usual_pace():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_a_first_call_slows_it_down_and_takes_that_back():
    seen = []

    @jit
    def f(x):
        seen.append(gc.get_threshold()[0])
        return x + 1

    f(np.ones(3))
    assert min(seen) > 700
    assert gc.get_threshold() == (700, 10, 10)


def test_errors_take_it_back():
    @jit
    def f(x):
        raise KeyError(x.shape)

    with pytest.raises(KeyError):
        f(np.ones(3))
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("pace", [(0, 10, 10), (100_000, 10, 10)])
def test_a_slower_pace_stays(pace):
    gc.set_threshold(*pace)
    with rare_collections():
        assert gc.get_threshold() == pace
    assert gc.get_threshold() == pace


def test_what_is_set_meanwhile_stays():
    with rare_collections():
        gc.set_threshold(800, 10, 10)
    assert gc.get_threshold() == (800, 10, 10)


def test_the_last_of_several_threads_takes_it_back():
    begun, may_end = threading.Event(), threading.Event()

    def other():
        with rare_collections():
            begun.set()
            may_end.wait(10)

    thread = threading.Thread(target=other)
    with rare_collections():
        thread.start()
        assert begun.wait(10)
    assert gc.get_threshold()[0] > 700
    may_end.set()
    thread.join()
    assert gc.get_threshold() == (700, 10, 10)


@left_to_ci
@pytest.mark.parametrize("program", [layer_norm, mlp_training_step])
def test_what_is_made_meanwhile_is_dropped_without_a_search(program):
    """All but some objects for each instruction: there are as many of LLVM alone, which refer to one another in circles."""
    module, backend = module_of(program), CpuBackend()
    backend.compile(module)  # what is loaded once
    gc.collect()
    gc.disable()
    try:
        executable = backend.compile(module)
        found = gc.collect()
    finally:
        gc.enable()
    assert found < 30 * module.instruction_count()
    assert executable.module is module

"""Functions that each round of a loop makes anew, and that outlive it: the rounds are recorded one by one."""

import functools

import numpy as np
import pytest
from phlox import jit
from phlox.tracer.capture.loops.captured_loop import CapturedLoop
from thinning import one_in

X = np.random.default_rng(0).random(24)


def scaled(factor, x):
    return np.exp(-factor * x)


def made(factor):
    return lambda x: np.exp(-factor * x)


class Kernel:
    def __init__(self, function):
        self.function = function


def best_function(make, x):
    best = None
    for factor in x:
        kernel = Kernel(make(factor))
        value = np.sum(kernel.function(x))
        if best is None or value > best[0]:
            best = value, kernel
    return best[0], best[1].function(0.5)


@pytest.mark.parametrize("make", one_in(2, [made, lambda factor: functools.partial(scaled, factor)]))
def test_functions_that_rounds_make_are_found_out_at_once(make, monkeypatch):
    recorded = []
    record = CapturedLoop._record
    monkeypatch.setattr(CapturedLoop, "_record", lambda loop: [recorded.append(loop), record(loop)][1])
    function = jit(functools.partial(best_function, make))
    np.testing.assert_allclose(function(X), best_function(make, X), rtol=1e-12)
    assert len(recorded) < 8

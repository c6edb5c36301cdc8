"""Random programs of 3 to 50 steps in text, after every pass, and in native code.

``pytest -m slow`` runs many more.
"""

import numpy as np
import pytest
from comparisons import assert_identical
from cpu_passes import SINGLE_PASSES, optimize
from hypothesis import HealthCheck, given, settings
from phlox import hlo
from phlox.backends.registry import get_backend
from random_control_flow_modules import control_flow_module, control_flow_modules, module_arguments
from random_windows_and_casts import windows_and_casts_module, windows_and_casts_modules

PROPERTY = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


def nested(shape, arrays):
    """The arrays, in the tuples of the shape."""
    return tuple(nested(element, arrays) for element in shape.elements) if shape.is_tuple else next(arrays)


def results(module, seed=0):
    """What the program means."""
    arrays = iter(module_arguments(module, seed))
    with np.errstate(all="ignore"):
        return hlo.evaluate(module.entry, *(nested(p.shape, arrays) for p in module.entry.parameters))


def check_text(module):
    text = module.as_text()
    again = hlo.parse_module(text)
    assert again == module and again.as_text() == text


def check_passes(module):
    expected = results(module)
    for step in SINGLE_PASSES:
        before, module = module, optimize(module, [step])
        if module is not before:
            hlo.verify(module)
            assert_identical(results(module), expected, f"after {step}")


def check_native_code(module):
    actual = get_backend("cpu").compile(module)(*module_arguments(module, 0))
    assert_identical(actual, results(module), "native code")


@settings(max_examples=60, **PROPERTY)
@given(windows_and_casts_modules())
def test_text(module):
    hlo.verify(module)
    check_text(module)


@settings(max_examples=20, **PROPERTY)
@given(windows_and_casts_modules())
def test_every_pass(module):
    check_passes(module)


@settings(max_examples=50, **PROPERTY)
@given(windows_and_casts_modules())
def test_native_code(module):
    check_native_code(module)


@settings(max_examples=40, **PROPERTY)
@given(control_flow_modules())
def test_native_code_of_control_flow(module):
    check_native_code(module)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [5, 12, 25, 50])
@pytest.mark.parametrize("make", [control_flow_module, windows_and_casts_module])
def test_many_programs(make, steps):
    for seed in range(400):
        module = make(1000 * steps + seed, steps)
        check_native_code(module)
        if seed % 10 == 0:
            check_text(module)
            check_passes(module)

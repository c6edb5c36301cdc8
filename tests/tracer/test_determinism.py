"""`jit(deterministic=...)` and the setting of the process: what programs say of them, and what is refused."""

import numpy as np
import phlox
import pytest
from phlox.hlo.determinism import determinism_of
from phlox.runtime.determinism import determinism

X = np.ones(3)


def f(x):
    return x + 1


def asked(**options):
    return determinism_of(phlox.jit(f, **options).lower(X).module)


def test_the_text_of_a_program_says_it():
    assert (asked(), asked(deterministic=True), asked(deterministic=False)) == (None, True, False)
    with phlox.config(deterministic=True) as config:
        assert config.deterministic
        assert (asked(), asked(deterministic=False)) == (True, False)
    assert not phlox.config().deterministic
    text = phlox.jit(f, deterministic=True, fastmath=True).lower(X).as_text()
    assert 'frontend_attributes={fastmath="true",deterministic="true"}' in text


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_where_it_means_nothing(backend):
    function = phlox.jit(f, backend=backend)
    for is_asked in (False, True, False):
        with phlox.config(deterministic=is_asked):
            assert function(X).tolist() == [2, 2, 2]
    assert function.cache_info().misses == 1
    assert phlox.jit(f, backend=backend, deterministic=True)(X).tolist() == [2, 2, 2]


@pytest.mark.parametrize("given", [1, "yes", np.True_])
def test_what_is_no_truth(given):
    with pytest.raises(TypeError, match="deterministic requires True or False"):
        phlox.jit(f, deterministic=given)
    with pytest.raises(TypeError, match="deterministic requires True or False"):
        phlox.config(deterministic=given)


@pytest.mark.parametrize("text, expected", [("1", True), ("0", False), (None, False)])
def test_the_environment_variable(monkeypatch, text, expected):
    monkeypatch.setattr(determinism, "is_asked_for", None)  # as at the beginning of a process
    monkeypatch.delenv("PHLOX_DETERMINISTIC", raising=False)
    if text is not None:
        monkeypatch.setenv("PHLOX_DETERMINISTIC", text)
    assert phlox.config().deterministic is expected
    assert asked() is (expected or None)


def test_an_environment_variable_that_says_neither(monkeypatch):
    monkeypatch.setattr(determinism, "is_asked_for", None)
    monkeypatch.setenv("PHLOX_DETERMINISTIC", "yes")
    with pytest.raises(ValueError, match="PHLOX_DETERMINISTIC must be 0 or 1, 'yes' given"):
        asked()


def test_settings_are_made_by_calls():
    with pytest.raises(AttributeError, match=r"to set one, call it: phlox.config\(deterministic=True\)$"):
        phlox.config.deterministic = True
    assert phlox.config().deterministic is False

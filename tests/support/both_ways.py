"""Programs that hand functions to a library, run with the functions as they are, and with the functions jitted."""

import functools
import inspect
import warnings

import numpy as np
import phlox


def both_ways(**tolerance):
    """Makes a test of a program: it takes ``jit``, and what it returns is the same whether ``jit`` compiles or does nothing.

    Results are compared as trees of arrays, with ``tolerance`` for those that go on from rounded values. A function may be
    compiled for several forms of its arguments, but not again and again.
    """

    def decorate(program):
        @functools.wraps(program)
        def test(**fixtures):
            with warnings.catch_warnings():
                warnings.simplefilter("error", phlox.RecompilationWarning)
                expected = program(lambda f: f, **fixtures)
                assert_alike(program(phlox.jit, **fixtures), expected, **tolerance)

        signature = inspect.signature(program)
        test.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
        return test

    return decorate


def assert_alike(found, expected, rtol=1e-9, atol=1e-12):
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_alike(one, other, rtol, atol)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_alike(list(found.values()), list(expected.values()), rtol, atol)
    elif isinstance(expected, (str, type(None))):
        assert found == expected
    else:
        assert type(found) is type(expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)

"""Functions under jit beside themselves, undecorated: equal in all that a caller can see."""

import copy

import numpy as np
from phlox import jit


def compiled(function=None, **options):
    return jit(function, backend="reference", **options) if function else jit(backend="reference", **options)


def assert_same(actual, expected):
    """Equal in type, dtype, shape, value and structure."""
    if isinstance(expected, dict):
        assert type(actual) is type(expected) and list(actual) == list(expected)
        for key in expected:
            assert_same(actual[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert type(actual) is type(expected) and len(actual) == len(expected)
        for mine, theirs in zip(actual, expected):
            assert_same(mine, theirs)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert type(actual) is type(expected) and actual.dtype == expected.dtype and actual.shape == expected.shape
        np.testing.assert_array_equal(actual, expected)
    else:
        assert type(actual) is type(expected) and actual == expected


def check(function, *args, **kwargs):
    """The jitted function does what the function does, twice, to its arguments too; returns it."""
    jitted = compiled(function)
    for _ in range(2):
        theirs, ours = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
        assert_same(jitted(*ours[0], **ours[1]), function(*theirs[0], **theirs[1]))
        assert_same(list(ours[0]), list(theirs[0]))
    return jitted

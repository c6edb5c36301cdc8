"""Programs with lists whose length the program decides, compared with themselves undecorated."""

import copy

import numpy as np
from phlox import jit

RISING, FALLING = np.arange(6.0), np.arange(6.0)[::-1] - 2
VALUES = [(RISING,), (FALLING,), (np.array([3.0, -1.0, 3.0, 0.5, 7.0, -2.0]),), (np.full(6, -9.0),)]


def alike(expected, found):
    """Whether two values are equal, of the same types, in all their parts; elements of one list may be NumPy's scalars all."""
    if isinstance(expected, (bool, int, float, np.generic)):
        return np.asarray(expected).dtype == np.asarray(found).dtype and expected == found
    if type(expected) is not type(found):
        return False
    if isinstance(expected, (list, tuple)):
        return len(expected) == len(found) and all(map(alike, expected, found))
    if isinstance(expected, dict):
        return list(expected) == list(found) and all(alike(expected[key], found[key]) for key in expected)
    if isinstance(expected, np.ndarray):
        return expected.dtype == found.dtype and np.array_equal(expected, found)
    return expected == found


def check(function, calls=VALUES):
    decorated = jit(function)
    for arguments in [*calls, calls[0]]:
        outcomes = []
        for run in (function, decorated):
            try:
                outcomes.append(run(*copy.deepcopy(arguments)))
            except Exception as error:
                outcomes.append(error)
        expected, found = outcomes
        if isinstance(expected, Exception):
            assert type(found) is type(expected), found
            assert str(expected) in str(found) or str(found).rstrip(")") in str(expected)
        elif isinstance(found, Exception):
            raise found
        else:
            assert alike(expected, found), (expected, found)

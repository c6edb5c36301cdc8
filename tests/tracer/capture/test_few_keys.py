"""Dicts of a few keys that are all known: as many rows as keys, and more where others are put there."""

import numpy as np
import pytest
from phlox import jit

from tests.programs.comparison import differences


def then_more(x):
    d = {}
    for v in x:
        d["a" if v > 0 else "b"] = d.get("a" if v > 0 else "b", 0) + 1
    for k in ("c", "d", "e", "f"):
        d[k] = d.get(k, 0) + 2
    for v in x:
        d["g" if v > 0.5 else "a"] = 4
    return d


def then_numbers(x):
    d = {}
    for v in x:
        d["a" if v > 0 else "b"] = d.get("a" if v > 0 else "b", 0) + 1
    for k in range(len(x)):
        d[k] = k
    return d, len(d)


def merged(x):
    d, e = {}, {}
    for v in x:
        d["a" if v > 0 else "b"] = v
        e["c" if v > 0 else "b"] = v
    d.update(e)
    d |= {"z": 1.0}
    return d, {**d, **e}


@pytest.mark.parametrize("function", [then_more, then_numbers, merged])
def test_as_undecorated(function):
    jitted = jit(function)
    for x in np.random.default_rng(0).normal(size=(3, 20)):
        assert list(differences(function(x), jitted(x))) == []

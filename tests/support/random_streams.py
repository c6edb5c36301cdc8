"""Generators of random numbers: what they draw, and how far they have gone."""

import random

import numpy as np

GENERATOR, RANDOM_STATE = np.random.default_rng, np.random.RandomState


def state(generator):
    if isinstance(generator, np.random.Generator):
        return repr(generator.bit_generator.state)
    if generator is random or isinstance(generator, random.Random):
        return repr(generator.getstate())
    return repr(generator.get_state(legacy=False))


def assert_same(found, expected):
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_same(one, other)
        return
    np.testing.assert_array_equal(found, expected, strict=True)
    assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)

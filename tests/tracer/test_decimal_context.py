"""The context of `decimal` decides about the results of Decimals from outside, and of arguments, as it is at each call."""

import decimal
from decimal import Decimal

import numpy as np
from phlox import jit

RATE = Decimal(2)
PRICES = {"bread": Decimal("2.345678901"), "salt": Decimal("0.5")}


def a_global(x):
    return str(RATE / 3), x


def items(x):
    total = PRICES["bread"] * PRICES["salt"]
    return total, float(total) * x


def an_attribute_of_a_function(x):
    return RATE.sqrt(), x + 1


def test_another_context_is_seen():
    for function in (a_global, items, an_attribute_of_a_function):
        traced = jit(function)
        x = 1.5
        for precision in (28, 5, 5, 28, 9):
            with decimal.localcontext() as context:
                context.prec = precision
                expected = function(x)
                assert traced(x) == expected and str(traced(x)[0]) == str(expected[0])


def an_argument(price, x):
    return price * price, price / 3, x


def test_another_context_is_seen_by_arguments():
    traced, price = jit(an_argument), Decimal("1.23456789012345678901")
    for precision in (28, 28, 5, 5, 28):
        with decimal.localcontext() as context:
            context.prec = precision
            assert traced(price, 1.5) == an_argument(price, 1.5)


def test_rounding_and_traps_are_seen_and_flags_are_not():
    traced = jit(a_global)
    with decimal.localcontext() as context:
        context.prec = 3
        for rounding in (decimal.ROUND_UP, decimal.ROUND_DOWN, decimal.ROUND_UP):
            context.rounding = rounding
            assert traced(1.0) == a_global(1.0)
        misses = traced.cache_info().misses
        context.clear_flags()
        assert traced(1.0) == a_global(1.0)
        decimal.Decimal(1) / 7
        assert traced(1.0) == a_global(1.0)
        assert traced.cache_info().misses == misses == 2


def test_contexts_cost_no_further_traces_where_they_stay():
    traced = jit(items)
    for x in (np.ones(2), np.zeros(2), np.ones(2)):
        total, result = traced(x)
        expected, wanted = items(x)
        assert total == expected
        np.testing.assert_array_equal(result, wanted)
    assert traced.cache_info().misses == 1

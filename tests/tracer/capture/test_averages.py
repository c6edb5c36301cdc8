"""``math.fsum`` and ``statistics`` of what the program computes: equal to the last bit."""

import heapq
import math
import statistics

import numpy as np
import pytest
from phlox import jit
from thinning import LEFT_TO_CI, left_to_ci


def sums(x):
    return math.fsum(x), math.fsum([v for v in x.tolist() if v > 0]), math.fsum(v * v for v in x)


def averages(x):
    values = [v for v in x.tolist() if v > -1e300]
    return statistics.mean(values), statistics.fmean(x), statistics.median(values), statistics.mean(x), statistics.median_low(x)


def spreads(x):
    values = x.tolist()
    return statistics.stdev(values), statistics.pvariance(values), statistics.pstdev(values, 0.5)


def of_integers(x):
    numbers = [int(v) % 1000 for v in x if v > 0.5]
    return statistics.mean(numbers), statistics.variance(numbers), statistics.median(numbers), statistics.mode(numbers)


def of_two(x):
    y = [float(v) for v in x if v < 1e10]
    line = statistics.linear_regression(x, x[::-1])
    return statistics.correlation(x, x[::-1]), statistics.covariance(y, y), line.slope, line.intercept


def other_means(x):
    y = [abs(float(v)) for v in x]
    return (
        statistics.geometric_mean(y),
        statistics.harmonic_mean(y),
        statistics.harmonic_mean(np.abs(x)),
        statistics.multimode(y),
    )


def parts(x):
    y = x.tolist()
    return statistics.quantiles(x), statistics.quantiles(y, n=10, method="inclusive"), statistics.median_grouped(y, 0.5)


FUNCTIONS = [
    sums,
    averages,
    spreads,
    of_integers,
    *[pytest.param(one, marks=LEFT_TO_CI) for one in (of_two, other_means, parts)],
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_sums_are_rounded_once(function):
    jitted = jit(function)
    random = np.random.default_rng(1)
    for x in (np.array([0.1, 0.2, 0.3, 1e-17, 7, 7]), random.normal(size=6), 10.0 ** random.integers(-16, 16, 6)):
        x[-1] = 3.0
        x[-2] = 2.0
        assert repr(jitted(x)) == repr(function(x))


def test_what_has_no_sum_or_mean_is_an_error():
    fsum, mean = jit(lambda x: math.fsum(x)), jit(lambda x: statistics.mean([v for v in x.tolist() if v > 0]))
    assert fsum(np.array([np.inf, 1.0])) == np.inf and math.isnan(fsum(np.array([np.nan, 1.0])))
    with pytest.raises(ValueError, match=r"-inf \+ inf in fsum"):
        fsum(np.array([np.inf, -np.inf]))
    with pytest.raises(OverflowError, match="intermediate overflow in fsum"):
        fsum(np.array([1e308, 1e308]))
    with pytest.raises(statistics.StatisticsError, match="mean requires at least one data point"):
        mean(np.array([-1.0, -2.0]))


@left_to_ci
@pytest.mark.parametrize("is_in_order", [True, False])
def test_merged(is_in_order):
    def merged(x, y):
        first, second = (sorted(x), sorted(y)) if is_in_order else (x, y[y > 0.2])
        pairs = [(v, k) for k, v in enumerate(first)]
        total = 0.0
        for value in heapq.merge(first, second, [0.5, 0.25], key=lambda v: -v):
            total = total / 2 + value
        down = list(heapq.merge(first[::-1], second[::-1], reverse=True))
        return list(heapq.merge(first, second)), list(heapq.merge(pairs, [(v, -1) for v in second])), total, down

    x, y = np.random.default_rng(3).random((2, 7)).round(1)
    assert repr(jit(merged)(x, y)) == repr(merged(x, y))

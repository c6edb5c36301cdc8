"""What a program says: printed lines, strings, exceptions raised and caught, assertions, floating-point errors."""

import math
import sys
import warnings

import numpy as np

from .registry import program


def symmetric(rng, n=6):
    a = rng.normal(size=(n, n))
    return a + a.T


@program(
    lambda rng: (symmetric(rng) + 10 * np.eye(6), 1e-10),
    lambda found, a, tolerance: np.isclose(found[0], np.linalg.eigvalsh(a)[-1]),
)
def power_iteration(a, tolerance):
    """Prints how it goes, every 20 iterations and at the end."""
    v = np.ones(len(a)) / np.sqrt(len(a))
    value = 0.0
    for iteration in range(1, 2001):
        w = a @ v
        new = v @ w
        v = w / np.linalg.norm(w)
        change = abs(new - value)
        value = new
        if iteration % 20 == 0:
            print(f"iteration {iteration:4d}: {value:.4f} (change {change:.0e})")
        if change < tolerance:
            print("converged after", iteration, "iterations")
            break
    else:
        print("no convergence")
    return value, v


@program(lambda rng: (rng.integers(0, 50, (4, 3)), ["north", "south", "east", "west"]))
def print_report(sales, regions):
    """A table, with sums, and a bar for each row."""
    print("region".ljust(8), *[f"{'Q' + str(q + 1):>6}" for q in range(sales.shape[1])], sep="|")
    for region, row in zip(regions, sales):
        print(region.ljust(8), *[f"{value:6d}" for value in row], sep="|", end=" ")
        print("#" * int(row.sum() // 10))
    total = sales.sum()
    print(f"{total=} mean={sales.mean():.2f} best={regions[np.argmax(sales.sum(axis=1))]!r}")
    print(sales.max(axis=0), sales[0] / 2, file=sys.stdout)


@program(lambda rng: (rng.dirichlet(np.ones(4)) * [1, 1, 1, rng.integers(-1, 2)],))
def entropy(p):
    """Raises for what is no distribution, with the numbers in the message."""
    if (p < 0).any():
        raise ValueError(f"probabilities must not be negative, p[{p.argmin()}] is {p.min():.3f}")
    total = p.sum()
    if not np.isclose(total, 1):
        raise ValueError("probabilities must add up to 1, not to %.4f" % total)  # noqa: UP031
    result = 0.0
    for value in p:
        if value > 0:
            result -= value * np.log2(value)
    return result


@program(lambda rng: (rng.permutation(6) if rng.random() < 0.6 else rng.integers(0, 6, 6), rng.normal(size=6)))
def invert_permutation(order, x):
    assert sorted(order.tolist()) == list(range(len(order))), f"{order} is no permutation"
    inverse = np.empty_like(order)
    for i, place in enumerate(order):
        assert 0 <= place < len(order)
        inverse[place] = i
    y = x[order]
    assert np.array_equal(y[inverse], x), "inverted wrongly"
    return inverse


def maybe_positive(rng):
    a = symmetric(rng)
    return (a @ a if rng.random() < 0.5 else a,)


@program(
    maybe_positive,
    lambda found, a: np.allclose(found[0] @ found[0].T, a + found[1] * np.eye(6)),
)
def cholesky_with_jitter(a):
    """Adds to the diagonal until the factorization works."""
    jitter = 0.0
    for attempt in range(30):  # noqa: B007
        try:
            factor = np.linalg.cholesky(a + jitter * np.eye(len(a)))
        except np.linalg.LinAlgError:
            jitter = max(1e-6, 4 * jitter)
        else:
            break
    else:
        raise RuntimeError(f"not positive definite, even with {jitter:g}")
    return factor, jitter, attempt


def maybe_singular(rng):
    a = rng.integers(-3, 4, (4, 4)).astype(float)
    if rng.random() < 0.6:
        a[3] = a[0]
    return a, rng.normal(size=4)


@program(maybe_singular)
def solve_or_fit(a, b):
    """Falls back to least squares, says so, and cleans up in any case."""
    note = []
    try:
        x = np.linalg.solve(a, b)
        note.append("solved")
    except np.linalg.LinAlgError as error:
        print("falling back:", error)
        x = np.linalg.lstsq(a, b, rcond=None)[0]
        note.append("fitted")
    finally:
        note.append("done")
    residual = np.linalg.norm(a @ x - b)
    if residual > 1e-6:
        print("the residual is large")
    return round(float(residual), 6), note


@program(lambda rng: (rng.integers(0, 3, 8).astype(float), rng.integers(0, 3, 8).astype(float)))
def safe_ratios(a, b):
    """What errstate raises is caught, what it ignores becomes infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quiet = a / b
    try:
        with np.errstate(all="raise"):
            strict = a / b
    except FloatingPointError as error:
        kind = str(error)
        strict = np.zeros_like(a)
    else:
        kind = "none"
    quiet[np.isnan(quiet)] = -1
    return quiet, strict, kind


class OutOfStockError(Exception):
    def __init__(self, item, missing):
        super().__init__(f"item {item} lacks {missing}")
        self.item = item
        self.missing = missing


def take(stock, item, count):
    if stock[item] < count:
        raise OutOfStockError(item, count - stock[item])
    stock[item] -= count


@program(lambda rng: (rng.integers(2, 12, 5), rng.integers(0, 5, 9), rng.integers(1, 5, 9)))
def serve_orders(stock, items, counts):
    """Exceptions of its own; the stock that is given is changed up to the order that fails."""
    refused = []
    for item, count in zip(items, counts):
        try:
            take(stock, item, count)
        except OutOfStockError as error:
            refused.append(error.missing)
            print(f"{type(error).__name__}: {error}")
            if sum(refused) > 8:
                raise RuntimeError(f"too much is missing after {len(refused)} orders") from error
    return np.array(refused, dtype=int)


@program(lambda rng: (rng.uniform(0, 10, 6), int(rng.integers(-9, 9))))
def element_or_default(x, place):
    """Places that are not there: caught for one, and a negative one counts from the end."""
    try:
        value = x[place]
    except IndexError as error:
        print(error)
        value = -1.0
    names = {0: "first", 5: "last", -1: "last"}
    try:
        name = names[place]
    except KeyError as error:
        name = f"unknown {error}"
    return value, name


@program(lambda rng: (float(rng.integers(0, 2)), float(rng.integers(-2, 3)), int(rng.integers(0, 3))))
def python_errors(numerator, denominator, count):
    """Division by zero and the math module raise for Python numbers."""
    found = []
    try:
        found.append(numerator / denominator)
    except ZeroDivisionError as error:
        found.append(str(error))
    try:
        found.append(math.sqrt(denominator))
    except ValueError:
        found.append("no root")
    try:
        found.append(10 // count + 10 % count)
    except ZeroDivisionError as error:
        found.append(str(error))
    try:
        found.append(math.exp(400.0 * (denominator + 1)))
    except OverflowError as error:
        found.append(str(error))
    return found


@program(lambda rng: (rng.normal(size=5), rng.normal(size=5), rng.uniform(0.5, 2.5)))
def fixed_point(x, target, factor):
    """Warns when it does not converge; the caller gets a text."""
    for count in range(1, 41):
        step = factor * (target - x)
        x = x + step
        size = np.max(np.abs(step))
        if size < 1e-3:
            return f"{count} steps, x = {np.array2string(x, precision=1, suppress_small=True)}"
        if size > 1e6 or not np.isfinite(size):
            raise ArithmeticError(f"diverged at step {count}")
    warnings.warn(f"no convergence, the last step was {size:.2f}")
    return ", ".join(f"{value:+.1f}" for value in x)

"""The coefficients of erf-inv, lgamma and digamma: the functions that are approximated, where, and by how many terms.

Polynomials, and quotients of them, interpolate at Chebyshev nodes, which gives a linear system for the coefficients. Prints all
tables as they stand in ``backends/llvm/elementary/``, each with its largest error after rounding to f64
(``python tests/bench/special_coefficients.py``).
"""

from __future__ import annotations

from functools import cache

import mpmath
from mpmath import mpf

PRECISION = 260


@cache
def inverse_of_complement(v: mpf) -> mpf:
    """The y with erfc(y) = exp(-v), by Halley's method."""
    q = mpmath.exp(-v)
    y = mpf("0.93") * mpmath.sqrt(v) - mpf("0.2")
    while True:
        u = (q - mpmath.erfc(y)) * mpmath.exp(y * y) * mpmath.sqrt(mpmath.pi) / 2
        step = u / (1 + y * u)
        y -= step
        if abs(step) < mpf(2) ** -150:
            return y


def erf_inv_central(w: mpf) -> mpf:
    """erfinv(x) / x, where w = -log(1 - x**2)."""
    if w < mpf(2) ** -70:
        return mpmath.sqrt(mpmath.pi) / 2
    x = mpmath.sqrt(-mpmath.expm1(-w))
    return inverse_of_complement(-mpmath.log(mpmath.exp(-w) / (1 + x))) / x


def erf_inv_tail(s: mpf) -> mpf:
    """erfinv(x) - s, where s = sqrt(-log(1 - x))."""
    return inverse_of_complement(s * s) - s


def lgamma_from_one(d: mpf) -> mpf:
    """(lgamma(1 + d) / d + gamma) / d."""
    if abs(d) < mpf(2) ** -50:
        return mpmath.zeta(2) / 2 - mpmath.zeta(3) / 3 * d
    return (mpmath.loggamma(1 + d) / d + mpmath.euler) / d


def lgamma_from_two(d: mpf) -> mpf:
    """(lgamma(2 + d) / d - (1 - gamma)) / d."""
    if abs(d) < mpf(2) ** -50:
        return (mpmath.zeta(2) - 1) / 2 - (mpmath.zeta(3) - 1) / 3 * d
    return (mpmath.loggamma(2 + d) / d - 1 + mpmath.euler) / d


def stirling(v: mpf) -> mpf:
    """x (lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)), where v = 1 / x**2."""
    if v < mpf(10) ** -20:
        return mpf(1) / 12 - v / 360
    x = 1 / mpmath.sqrt(v)
    return x * (mpmath.loggamma(x) - ((x - mpf(1) / 2) * mpmath.log(x) - x + mpmath.log(2 * mpmath.pi) / 2))


def sine_of_half_turns(v: mpf) -> mpf:
    """sin(pi r) / (pi r), where v = r**2."""
    r = mpmath.sqrt(v)
    return mpmath.sin(mpmath.pi * r) / (mpmath.pi * r) if v else mpf(1)


def digamma_root() -> mpf:
    """The positive root of digamma."""
    return mpmath.findroot(mpmath.digamma, 1.4616)


def digamma_from_root(e: mpf) -> mpf:
    """digamma(root + e) / e."""
    root = digamma_root()
    if abs(e) < mpf(2) ** -50:
        return mpmath.psi(1, root) + mpmath.psi(2, root) / 2 * e
    return mpmath.digamma(root + e) / e


def digamma_asymptotic(v: mpf) -> mpf:
    """x**2 (digamma(x) - log x + 1 / (2 x)), where v = 1 / x**2."""
    if v < mpf(10) ** -20:
        return -mpf(1) / 12 + v / 120
    x = 1 / mpmath.sqrt(v)
    return (mpmath.digamma(x) - mpmath.log(x) + 1 / (2 * x)) * x * x


def cotangent_of_half_turns(v: mpf) -> mpf:
    """(1 - pi r cot(pi r)) / r**2, where v = r**2."""
    if v < mpf(10) ** -30:
        return 2 * mpmath.zeta(2)
    r = mpmath.sqrt(v)
    return (1 - mpmath.pi * r * mpmath.cot(mpmath.pi * r)) / v


# The name of each table, the function, the interval, and the numbers of terms above and below the line of a quotient.
TABLES = {
    "CENTRAL": (erf_inv_central, 0, 1.88, 15, 1),
    "CENTRAL_SINGLE": (erf_inv_central, 0, 1.88, 9, 1),
    "TAIL": (erf_inv_tail, 1.585, 4.0, 8, 9),
    "FAR_TAIL": (erf_inv_tail, 4.0, 6.07, 7, 8),
    "TAIL_SINGLE": (erf_inv_tail, 1.585, 4.09, 5, 5),
    "FROM_ONE": (lgamma_from_one, 0, 0.5, 16, 1),
    "FROM_TWO": (lgamma_from_two, -0.5, 0, 16, 1),
    "STIRLING": (stirling, 0, 1 / 9, 13, 1),
    "SINE": (sine_of_half_turns, 0, 0.25, 10, 1),
    "FROM_ROOT": (digamma_from_root, -0.4617, 0.5384, 22, 1),
    "ASYMPTOTIC": (digamma_asymptotic, 0, 1 / 9, 14, 1),
    "COTANGENT": (cotangent_of_half_turns, 0, 0.25, 15, 1),
}


def coefficients(name: str) -> tuple[list[float], list[float]]:
    """Those above the line and those below, which begin with 1; the constants come first."""
    function, low, high, above, below = TABLES[name]
    count = above + below - 1
    angles = [mpmath.pi * (2 * i + 1) / (2 * count) for i in range(count)]
    nodes = [(mpf(low) + high) / 2 + (mpf(high) - low) / 2 * mpmath.cos(angle) for angle in angles]
    values = [function(t) for t in nodes]
    rows = [[*(t**j for j in range(above)), *(-value * t**j for j in range(1, below))] for t, value in zip(nodes, values)]
    solution = [float(c) for c in mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(values))]
    return solution[:above], [1.0, *solution[above:]]


def largest_error(name: str, above: list[float], below: list[float]) -> float:
    """The binary logarithm of the largest error relative to the function, at many points."""
    function, low, high, *_ = TABLES[name]

    def value(coefficients: list[float], t: mpf) -> mpf:
        return mpmath.polyval([mpf(c) for c in reversed(coefficients)], t)

    points = [mpf(low) + (mpf(high) - low) * (1 - mpmath.cos(mpmath.pi * i / 300)) / 2 for i in range(301)]
    return float(mpmath.log(max(abs(value(above, t) / value(below, t) / function(t) - 1) for t in points), 2))


def main() -> None:
    """Print the tables."""
    with mpmath.workprec(PRECISION):
        for name, (function, low, high, *_) in TABLES.items():
            above, below = coefficients(name)
            meaning = " ".join(function.__doc__.split()).rstrip(".")
            print(f"# {meaning}, {low:.5g} to {high:.5g}; relative error 2**{largest_error(name, above, below):.1f}.")
            for suffix, numbers in (("", above), ("_BELOW", below[1:])):
                if numbers:
                    print(f"{name}{suffix} = (", *(f"    {number!r}," for number in numbers), ")", sep="\n")


if __name__ == "__main__":
    main()

"""Functions of SciPy that call one of the user's many times, of which the program computes what it sees around it."""

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

from ...support.undecorated import check

integrate = pytest.importorskip("scipy.integrate")
optimize = pytest.importorskip("scipy.optimize")

X = np.array([1.0, 2.0, 3.0, 4.5])


def parts(result, names):
    return [getattr(result, name) for name in names.split()]


def quad_in_a_loop(x, a):
    def factor(t):
        return a + t

    def area(v):
        return integrate.quad(lambda t, c=a: c * np.exp(-v * t) * factor(t), 0, np.inf)[0]

    return [area(x[k]) for k in range(len(x))]


def quad_under_a_condition(x, a):
    if x[0] > 1.2:
        return integrate.quad(lambda t, c: c * t, 0, a, args=(x[1],))
    return 0.0, 1.0


def quad_that_raises(x, a):
    def f(t):
        if t > x[0]:
            raise ValueError("too far")
        return a * t

    try:
        return integrate.quad(f, 0, 2)[0]
    except ValueError:
        return -1.0


def odeint(x, a):
    return integrate.odeint(lambda y, t: -a * y, x[:2], np.linspace(0, 2, 5))


def solve_ivp(x, a):
    found = integrate.solve_ivp(lambda t, y: [-a * y[0], y[0] * x[1]], (0, 2), [x[0], 1.0], t_eval=np.linspace(0, 2, 5))
    return parts(found, "t y nfev status success")


def model(t, scale, rate):
    return scale * np.exp(-rate * t)


def curve_fit(x, a):
    found, covariance = optimize.curve_fit(model, np.arange(4.0), x * a)
    return found, np.sqrt(np.diag(covariance))


def minimize(x, a):
    found = [
        optimize.minimize(lambda p: np.sum((p - x[:2]) ** 2) + a, x[1:3], method=method)
        for method in ("BFGS", "CG", "L-BFGS-B", "SLSQP", None)
    ]
    return [parts(one, "x fun jac nit nfev status success") for one in found]


def least_squares(x, a):
    return parts(optimize.least_squares(lambda p: p**2 - x[:2] * a, [1.0, 1.0]), "x cost optimality nfev status success")


def roots(x, a):
    found = [optimize.root(lambda v: v**3 - x[:2], np.ones(2), method=method) for method in ("hybr", "broyden1")]
    one = optimize.root_scalar(lambda v: v * v - x[1], bracket=[0, 9])
    other = optimize.root_scalar(lambda v: v**2 - a, x0=1.0, fprime=lambda v: 2 * v, method="newton")
    of_one = [parts(each, "root iterations function_calls converged") for each in (one, other)]
    return [parts(each, "x fun success") for each in found], of_one, optimize.fsolve(lambda v: v**2 - x, x)


_PROGRAMS = [
    solve_ivp, quad_in_a_loop, quad_under_a_condition, quad_that_raises, odeint, curve_fit, minimize, least_squares, roots,
]  # fmt: skip


@pytest.mark.parametrize("program", one_in(5, _PROGRAMS))
def test_programs(program):
    compiled = check(program, X, 0.5)
    check(compiled, X * 1.5, 0.7)
    assert compiled.cache_info().misses == 1


def sets(x, a):
    count = 0

    def f(t):
        nonlocal count
        count += 1
        return a * t

    return integrate.quad(f, 0, 1)[0], count


def keeps(x, a):
    seen = []

    def keep(t):
        seen.append(t)

    def f(t):
        keep(t)
        return a * t

    return integrate.quad(f, 0, 1)[0], len(seen)


def keeps_in_an_argument(x, a):
    def f(t, seen):
        seen.append(t)
        return a * t

    seen = []
    return integrate.quad(f, 0, 1, args=(seen,))[0], len(seen)


class Counted:
    def __init__(self):
        self.count = 0

    def line(self, t, a):
        self.count += 1
        return a * t


def of_a_method(x, a):
    counted = Counted()
    return integrate.quad(counted.line, 0, 1, args=(a,))[0], counted.count


@pytest.mark.parametrize("program", [sets, keeps, keeps_in_an_argument, of_a_method])
def test_functions_that_change_what_is_around_them_are_refused(program):
    with pytest.raises(NotImplementedError, match="quad (of|with) (a function that sets|a list in args|.*line, which may)"):
        jit(program)(X, 0.5)

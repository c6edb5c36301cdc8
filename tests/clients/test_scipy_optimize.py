"""SciPy's minimizers, root finders and fits, given jitted functions."""

import numpy as np
import pytest
from both_ways import both_ways
from thinning import left_to_ci, one_in

optimize = pytest.importorskip("scipy.optimize")

START = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
T = np.linspace(0, 4, 50)
DECAY = 2.5 * np.exp(-1.3 * T) + 0.5 + 0.02 * np.sin(40 * T)
GRADIENT = {"CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "SLSQP", "trust-constr", "dogleg", "trust-ncg", "trust-krylov"}
HESSIAN = {"Newton-CG", "trust-constr", "dogleg", "trust-ncg", "trust-krylov"}


def rosen(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosen_gradient(x):
    middle, before, after = x[1:-1], x[:-2], x[2:]
    d = np.zeros_like(x)
    d[1:-1] = 200 * (middle - before**2) - 400 * (after - middle**2) * middle - 2 * (1 - middle)
    d[0] = -400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0])
    d[-1] = 200 * (x[-1] - x[-2] ** 2)
    return d


def rosen_hessian(x):
    x = np.asarray(x)
    H = np.diag(-400 * x[:-1], 1) - np.diag(400 * x[:-1], -1)
    diagonal = np.zeros(len(x))
    diagonal[0] = 1200 * x[0] ** 2 - 400 * x[1] + 2
    diagonal[-1] = 200
    diagonal[1:-1] = 202 + 1200 * x[1:-1] ** 2 - 400 * x[2:]
    return H + np.diag(diagonal)


@pytest.mark.parametrize("method", one_in(4, ["Nelder-Mead", "Powell", *sorted(GRADIENT)]))
@both_ways(rtol=1e-3)
def test_minimize(jit, method):
    derivatives = {"jac": jit(rosen_gradient)} if method in GRADIENT else {}
    derivatives |= {"hess": jit(rosen_hessian)} if method in HESSIAN else {}
    result = optimize.minimize(jit(rosen), START, method=method, **derivatives)
    return result.x, result.fun < 1e-3


@both_ways(rtol=1e-6)
def test_value_and_gradient_at_once(jit):
    return optimize.minimize(jit(lambda x: (rosen(x), rosen_gradient(x))), START, jac=True).x


@both_ways(rtol=1e-6)
def test_products_with_the_hessian(jit):
    product = jit(lambda x, p: rosen_hessian(x) @ p)
    return optimize.minimize(jit(rosen), START, jac=jit(rosen_gradient), hessp=product, method="Newton-CG").x


@both_ways(rtol=1e-6)
def test_further_arguments_and_a_list_of_integers_to_start_with(jit):
    @jit
    def f(x, a, b=3.0):
        return (x[0] - a) ** 2 + (x[1] - b) ** 2

    return optimize.minimize(f, [0, 0], args=(2, 5.0)).x, optimize.minimize(f, (0.5, 0), args=(3,)).x


@both_ways(rtol=1e-3)
def test_callbacks_that_keep_what_they_get(jit):
    path = []

    @jit
    def keep(xk):
        path.append(xk.copy())

    optimize.minimize(rosen, START, callback=keep, method="BFGS")
    return path


@both_ways(rtol=1e-3)
def test_callbacks_that_end_it(jit):
    @jit
    def stop(xk):
        if xk[0] < 1:
            raise StopIteration

    result = optimize.minimize(rosen, START, callback=stop, method="BFGS")
    return result.x, result.nit


@both_ways(rtol=1e-6)
def test_constraints(jit):
    @jit
    def distance(x):
        return (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2

    one = jit(lambda x: x[0] - 2 * x[1] + 2)
    two = jit(lambda x: np.array([-x[0] - 2 * x[1] + 6, -x[0] + 2 * x[1] + 2]))
    constraints = [{"type": "ineq", "fun": one}, {"type": "ineq", "fun": two}]
    inside = optimize.NonlinearConstraint(
        jit(lambda x: [x[0] ** 2 + x[1], x[0] ** 2 - x[1]]),
        -np.inf,
        1,
        jac=jit(lambda x: [[2 * x[0], 1], [2 * x[0], -1]]),
        hess=jit(lambda x, v: (v[0] + v[1]) * np.array([[2, 0], [0, 0]])),
    )
    bounds = ((0, None), (0, None))
    return (
        optimize.minimize(distance, (2, 0), method="SLSQP", bounds=bounds, constraints=constraints).x,
        optimize.minimize(distance, [0.5, 0], method="trust-constr", constraints=[inside]).x,
    )


@both_ways(rtol=1e-6)
def test_functions_of_a_number(jit):
    f, g = jit(lambda x: (x - 2) * x * (x + 2) ** 2), jit(lambda x: x**3 - 1)
    first, second = jit(lambda x: 3 * x**2), jit(lambda x: 6 * x)
    minima = [optimize.minimize_scalar(f, method=method).x for method in ("brent", "golden")]
    minima.append(optimize.minimize_scalar(f, bounds=(-3, -1), method="bounded").x)
    roots = [optimize.root_scalar(g, method=m, bracket=[0, 3]).root for m in ("bisect", "brentq", "ridder", "toms748")]
    roots.append(optimize.root_scalar(g, x0=0.2, fprime=first, fprime2=second, method="halley").root)
    return minima, roots, optimize.brentq(jit(lambda x, a, b: x**a - b), 0, 3, args=(2, 3))


@both_ways(rtol=1e-6)
def test_newton_for_many_at_once(jit):
    return optimize.newton(jit(lambda x, a, b: x**a - b), np.array([1.0, 2, 3]), args=(2, np.array([3.0, 4, 5])))


@pytest.mark.parametrize("method", one_in(3, ["hybr", "lm", "broyden1", "anderson", "df-sane"]))
@both_ways(rtol=1e-6)
def test_root(jit, method):
    @jit
    def f(x):
        return [x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1, 0.5 * (x[1] - x[0]) ** 3 + x[1]]

    @jit
    def jacobian(x):
        a = 1.5 * (x[0] - x[1]) ** 2
        return np.array([[1 + a, -a], [-a, 1 + a]])

    return optimize.root(f, [0.0, 0.0], method=method, **({"jac": jacobian} if method in ("hybr", "lm") else {})).x


@both_ways(rtol=1e-6)
def test_fsolve_and_fixed_point(jit):
    f = jit(lambda x: [x[0] * np.cos(x[1]) - 4, x[1] * x[0] - x[1] - 5])
    g = jit(lambda x, a, b: np.sqrt(a / (x + b)))
    return optimize.fsolve(f, [1, 1]), optimize.fixed_point(g, [1.2, 1.3], args=(np.array([10.0, 12]), np.array([3.0, 5])))


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
@both_ways(rtol=1e-5)
def test_least_squares(jit, method):
    @jit
    def residuals(p, t, y):
        return p[0] * np.exp(-p[1] * t) + p[2] - y

    @jit
    def jacobian(p, t, y):
        J = np.empty((t.size, 3))
        J[:, 0] = np.exp(-p[1] * t)
        J[:, 1] = -t * p[0] * np.exp(-p[1] * t)
        J[:, 2] = 1
        return J

    given = {"method": method, "kwargs": {"t": T, "y": DECAY}}
    return [optimize.least_squares(residuals, np.ones(3), jac=jac, **given).x for jac in ("2-point", "cs", jacobian)]


@both_ways(rtol=1e-5)
def test_loss_of_least_squares(jit):
    @jit
    def loss(z):
        rho = np.empty((3, z.size))
        rho[0] = np.log1p(z)
        rho[1] = 1 / (1 + z)
        rho[2] = -(rho[1] ** 2)
        return rho

    residuals = jit(lambda p: p[0] * np.exp(-p[1] * T) + p[2] - DECAY)
    return optimize.least_squares(residuals, np.ones(3), loss=loss).x, optimize.leastsq(residuals, np.ones(3))[0]


@both_ways(rtol=1e-5)
def test_curve_fit(jit):
    @jit
    def model(x, a, b, c):
        return a * np.exp(-b * x) + c

    @jit
    def jacobian(x, a, b, c):
        return np.stack([np.exp(-b * x), -a * x * np.exp(-b * x), np.ones_like(x)], axis=1)

    return (
        optimize.curve_fit(model, T, DECAY),
        optimize.curve_fit(model, list(T), list(DECAY), jac=jacobian),
        optimize.curve_fit(model, T.astype(np.float32), DECAY, bounds=(0, [3, 2, 1])),
        optimize.curve_fit(model, T, DECAY, p0=(1, 1, 1), sigma=np.full(50, 0.2), absolute_sigma=True),
        optimize.curve_fit(jit(lambda x, *p: p[0] * x + p[1]), T, DECAY, p0=[1, 1]),
        optimize.curve_fit(jit(lambda x, a, b=2.0: a * x + b), T, DECAY),
    )


@both_ways(rtol=1e-5)
def test_curve_fit_of_a_surface(jit):
    @jit
    def bump(places, height, x0, y0, width):
        x, y = places
        return height * np.exp(-((x - x0) ** 2 + (y - y0) ** 2) / (2 * width**2))

    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(-1, 1, 21), np.linspace(-1, 1, 21)))
    seen = 2 * np.exp(-((x - 0.1) ** 2 + (y + 0.2) ** 2) / (2 * 0.3**2))
    return [optimize.curve_fit(bump, places, seen, p0=(1, 0, 0, 1))[0] for places in (np.vstack([x, y]), (x, y))]


@left_to_ci
@both_ways(rtol=1e-2, atol=1e-3)
def test_global_minimizers(jit):
    f, bounds = jit(rosen), [(-2, 2)] * 2
    bowl = jit(lambda x: np.sum(x**2, axis=0))
    return (
        optimize.differential_evolution(f, bounds, seed=1, maxiter=100).x,
        optimize.differential_evolution(bowl, bounds, seed=1, maxiter=30, vectorized=True, updating="deferred").x,
        optimize.basinhopping(f, [1.0, 2.0], niter=5, rng=1).x,
        optimize.dual_annealing(f, bounds, rng=1, maxiter=50).x,
        optimize.shgo(f, bounds).x,
        optimize.brute(f, ((-2, 2), (-2, 2)), Ns=10),
    )


@both_ways(rtol=1e-6)
def test_derivatives_of_a_jitted_function(jit):
    f, gradient = jit(rosen), jit(rosen_gradient)
    found = optimize.line_search(f, gradient, START, -rosen_gradient(START))
    return optimize.approx_fprime(START, f), optimize.check_grad(f, gradient, START) < 1e-3, found


def raises(error, program, *arguments):
    with pytest.raises(error) as caught:
        program(*arguments)
    return str(caught.value)


@both_ways()
def test_errors_of_the_function_come_through_compiled_libraries(jit):
    @jit
    def fails(x):
        if np.abs(x).max() > 1.5:
            raise ValueError("beyond 1.5")
        return x - 1.9

    @jit
    def divides(x, below):
        return 1 / (x - below)

    return (
        raises(ValueError, optimize.brentq, fails, 0, 1.6),
        raises(ValueError, optimize.fsolve, fails, [1.0]),
        raises(ValueError, optimize.leastsq, fails, [1.0]),
        raises(ZeroDivisionError, optimize.brentq, divides, 0.0, 1.0, (1.0,)),
        raises(TypeError, optimize.brentq, divides, 0, 1, ("text",)) != "",
    )

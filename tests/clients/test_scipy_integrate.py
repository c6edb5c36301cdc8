"""SciPy's quadrature and solvers of differential equations, given jitted functions."""

import math

import numpy as np
import pytest
from both_ways import both_ways
from thinning import one_in

integrate = pytest.importorskip("scipy.integrate")


@pytest.mark.parametrize("method", one_in(5, ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"]))
@both_ways(rtol=1e-6)
def test_solve_ivp(jit, method):
    @jit
    def prey_and_predators(t, z, a, b, c, d):
        x, y = z
        return [a * x - b * x * y, -c * y + d * x * y]

    found = integrate.solve_ivp(prey_and_predators, [0, 15], [10, 5], method=method, args=(1.5, 1, 3, 1), dense_output=True)
    return found.y[:, -1], found.sol(3.0)


@both_ways(rtol=1e-6)
def test_events_that_are_marked_on_the_function(jit):
    @jit
    def hit(t, y):
        return y[0]

    hit.terminal, hit.direction = True, -1
    top = jit(lambda t, y: y[1])
    found = integrate.solve_ivp(jit(lambda t, y: np.array([y[1], -9.81])), (0, 100), [0, 10.0], events=(hit, top))
    return found.t_events, found.y_events, found.t[-1]


@pytest.mark.parametrize("method", one_in(3, ["Radau", "BDF", "LSODA"]))
@both_ways(rtol=1e-5)
def test_stiff_equations_with_their_jacobian(jit, method):
    @jit
    def robertson(t, y):
        slow, fast, middle = 0.04 * y[0], 3e7 * y[1] ** 2, 1e4 * y[1] * y[2]
        return [-slow + middle, slow - middle - fast, fast]

    @jit
    def jacobian(t, y):
        return [[-0.04, 1e4 * y[2], 1e4 * y[1]], [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]], [0, 6e7 * y[1], 0]]

    return integrate.solve_ivp(robertson, (0, 500), [1, 0, 0], method=method, jac=jacobian).y[:, -1]


@both_ways(rtol=1e-6)
def test_complex_and_vectorized(jit):
    turning = integrate.solve_ivp(jit(lambda t, y: 1j * y * np.cos(t)), (0, 5), [1 + 0j, 2j])
    many = jit(lambda t, y: np.vstack((y[1], -y[0])))
    return turning.y[:, -1], integrate.solve_ivp(many, (0, 5), [1.0, 2], vectorized=True, method="Radau").y[:, -1]


@both_ways(rtol=1e-6)
def test_odeint(jit):
    @jit
    def pendulum(y, t, b, c):
        theta, omega = y
        return [omega, -b * omega - c * np.sin(theta)]

    jacobian = jit(lambda y, t, b, c: [[0, 1], [-c * np.cos(y[0]), -b]])
    t = np.linspace(0, 10, 51)
    return (
        integrate.odeint(pendulum, [np.pi - 0.1, 0.0], t, args=(0.25, 5.0)),
        integrate.odeint(pendulum, [np.pi - 0.1, 0.0], t, args=(0.25, 5.0), Dfun=jacobian),
        integrate.odeint(jit(lambda t, y: -y), [1.0, 2], t, tfirst=True),
    )


@pytest.mark.parametrize("name", ["vode", "lsoda", "dopri5"])
@both_ways(rtol=1e-6)
def test_ode(jit, name):
    solver = integrate.ode(jit(lambda t, y, a: [a * y[1], -y[0]]), jit(lambda t, y, a: [[0, a], [-1, 0]]))
    solver.set_integrator(name).set_initial_value([1.0, 0], 0).set_f_params(2.0).set_jac_params(2.0)
    return solver.integrate(3.0)


@both_ways(rtol=1e-6)
def test_boundary_values(jit):
    f, ends = jit(lambda x, y: np.vstack((y[1], -np.exp(y[0])))), jit(lambda a, b: np.array([a[0], b[0]]))
    return integrate.solve_bvp(f, ends, np.linspace(0, 1, 5), np.zeros((2, 5))).sol(0.3)


@both_ways(rtol=1e-8)
def test_quad(jit):
    return (
        integrate.quad(jit(lambda x: np.exp(-(x**2))), 0, np.inf)[0],
        integrate.quad(jit(lambda x: math.exp(-x) * math.sin(x)), 0, 5)[0],
        integrate.quad(jit(lambda x, a, b: a * np.sin(b * x)), 0, 2, args=(2.0, 3))[0],
        integrate.quad(jit(lambda x: np.log(x)), 0, 1, points=[0.5])[0],
        integrate.quad(jit(lambda x: x), 0, 1, weight="cos", wvar=2.0)[0],
        integrate.quad(jit(lambda x: np.exp(1j * x)), 0, 1, complex_func=True)[0],
    )


@both_ways(rtol=1e-8)
def test_integrals_over_several_variables(jit):
    return (
        integrate.dblquad(jit(lambda y, x: x * y**2), 0, 2, jit(lambda x: 0 * x), jit(lambda x: x + 1))[0],
        integrate.nquad(jit(lambda x, y, c: x * y + c), [[0, 1], [0, 2]], args=(3,))[0],
        integrate.quad_vec(jit(lambda x: x ** np.arange(5)), 0, 1)[0],
        integrate.fixed_quad(jit(lambda x: x**8), 0, 1, n=4)[0],
    )


@pytest.mark.skipif(not hasattr(integrate, "cubature"), reason="of SciPy 1.15")
@both_ways(rtol=1e-8)
def test_integrands_of_many_places_at_once(jit):
    return (
        integrate.cubature(jit(lambda x: np.sum(x**2, axis=-1)), [0, 0], [1, 1]).estimate,
        integrate.tanhsinh(jit(lambda x: np.exp(-(x**2))), -1, 1).integral,
    )


@both_ways()
def test_errors_of_the_function_come_through_compiled_libraries(jit):
    @jit
    def rate(x, t=0.0):
        if np.max(x) > 0.5:
            raise ValueError("too large")
        return x

    said = []
    for program in (
        lambda: integrate.quad(rate, 0, 1),
        lambda: integrate.odeint(rate, [0.4], [0, 1, 2.0]),
        lambda: integrate.solve_ivp(lambda t, y: rate(y), (0, 1), [0.4]),
    ):
        with pytest.raises(ValueError) as caught:
            program()
        said.append(str(caught.value))
    with pytest.raises(ZeroDivisionError):
        integrate.quad(jit(lambda x: 1 / (x - 0.5)), 0, 1)
    return said

"""Initial and boundary value problems."""

import numpy as np

from .registry import program


def lorenz(state, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


@program(lambda rng: (rng.normal(size=3) + 10, 500, 0.01), lambda found, start, n, dt: found.shape == (501, 3))
def runge_kutta_lorenz(start, steps, dt):
    trajectory = np.empty((steps + 1, 3))
    trajectory[0] = start
    for i in range(steps):
        y = trajectory[i]
        k1 = lorenz(y)
        k2 = lorenz(y + dt / 2 * k1)
        k3 = lorenz(y + dt / 2 * k2)
        k4 = lorenz(y + dt * k3)
        trajectory[i + 1] = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return trajectory


def van_der_pol(t, y, mu):
    return np.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


@program(lambda rng: (rng.uniform(1, 2, 2), 1.5, 4.0), lambda found, y, mu, end: np.isclose(found[0][-1], end))
def adaptive_runge_kutta(y0, mu, t_end, tolerance=1e-5):
    """Bogacki and Shampine's pair of orders two and three."""
    t, y, h = 0.0, y0, 0.1
    times, states = [t], [y]
    rejected = 0
    while t < t_end:
        if t + h > t_end:
            h = t_end - t
        k1 = van_der_pol(t, y, mu)
        k2 = van_der_pol(t + h / 2, y + h / 2 * k1, mu)
        k3 = van_der_pol(t + 3 * h / 4, y + 3 * h / 4 * k2, mu)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = van_der_pol(t + h, new, mu)
        error = np.max(np.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)))
        if error <= tolerance:
            t += h
            y = new
            times.append(t)
            states.append(y)
        else:
            rejected += 1
        h *= min(2.0, max(0.3, 0.9 * (tolerance / max(error, 1e-15)) ** (1 / 3)))
    return np.array(times), np.array(states), rejected


@program(
    lambda rng: (0.5, 0.01, float(rng.uniform(0.5, 1))),
    lambda found, t, dt, rate: np.isclose(found[-1], np.exp(-rate * t), atol=0.01),
)
def explicit_euler_with_a_list(T, dt, rate):
    n = int(np.ceil(T / dt))
    y = 1.0
    ys = [y]
    for _ in range(n):
        y = y - dt * rate * y
        ys.append(y)
    return np.array(ys)


@program(lambda rng: (rng.uniform(size=32), 0.4, 120), lambda found, u, r, n: np.all(np.isfinite(found)) and found[0] == u[0])
def heat_equation_with_loops(u, r, steps):
    n = len(u)
    for step in range(steps):
        new = np.copy(u)
        for i in range(1, n - 1):
            new[i] = u[i] + r * (u[i + 1] - 2 * u[i] + u[i - 1])
        u = new
    return u


@program(lambda rng: (rng.uniform(size=24), 0.5, 20), lambda found, u, r, n: np.isclose(found.sum(), u[1:-1].sum(), rtol=1))
def crank_nicolson(u0, r, steps):
    n = u0.size - 2
    main, off = np.ones(n) * (1 + r), np.ones(n - 1) * (-r / 2)
    left = np.diag(main) + np.diag(off, 1) + np.diag(off, -1)
    right = np.diag(2 - main) - np.diag(off, 1) - np.diag(off, -1)
    inverse = np.linalg.inv(left)
    u = u0[1:-1].copy()
    for _ in range(steps):
        rhs = right @ u
        rhs[0] += r * u0[0]
        rhs[-1] += r * u0[-1]
        u = inverse @ rhs
    return u


@program(lambda rng: (rng.uniform(-1, 1, 40), 0.9, 80))
def wave_equation(shape, courant, steps):
    """A string with fixed ends, let go at rest; its greatest displacement at each time, too."""
    previous = shape.copy()
    previous[0] = previous[-1] = 0
    current = previous.copy()
    current[1:-1] += 0.5 * courant**2 * (previous[2:] - 2 * previous[1:-1] + previous[:-2])
    peaks = np.zeros(steps)
    for n in range(steps):
        following = np.zeros_like(current)
        following[1:-1] = 2 * current[1:-1] - previous[1:-1] + courant**2 * (current[2:] - 2 * current[1:-1] + current[:-2])
        previous, current = current, following
        peaks[n] = np.abs(current).max()
    return current, peaks


@program(lambda rng: (float(rng.uniform(1, 3)), float(rng.uniform(0.5, 1.5)), 300))
def predators_and_prey(prey, predators, steps):
    a, b, c, d = 1.1, 0.4, 0.1, 0.4
    dt = 0.05
    history = {"prey": [], "predators": []}
    for step in range(steps):
        prey += dt * (a * prey - b * prey * predators)
        predators += dt * (c * prey * predators - d * predators)
        if step % 10 == 0:
            history["prey"].append(prey)
            history["predators"].append(predators)
    return {name: np.array(values) for name, values in history.items()}


@program(lambda rng: (float(rng.uniform(0.5, 1.5)), 50), lambda found, end, n: np.isclose(found[0][-1], end, atol=1e-5))
def shooting_method(target, n):
    """u'' = -u + x, u(0) = 0, u(1) = target, by the secant method on the slope."""
    h = 1.0 / n

    def shoot(slope):
        u, v = 0.0, slope
        path = [u]
        for i in range(n):
            x = i * h
            u_half = u + h / 2 * v
            v_half = v + h / 2 * (x - u)
            u += h * v_half
            v += h * (x + h / 2 - u_half)
            path.append(u)
        return path

    s0, s1 = 0.0, 1.0
    e0, e1 = shoot(s0)[-1] - target, shoot(s1)[-1] - target
    tries = 0
    while abs(e1) > 1e-9:
        s0, s1, e0 = s1, s1 - e1 * (s1 - s0) / (e1 - e0), e1
        e1 = shoot(s1)[-1] - target
        tries += 1
        assert tries < 20, "the secant method does not converge"
    return np.array(shoot(s1)), s1

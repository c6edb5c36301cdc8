"""Minima of functions, with and without derivatives."""

import numpy as np

from .registry import program

GOLDEN = (np.sqrt(5) - 1) / 2


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_gradient(x):
    g = np.zeros_like(x)
    g[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    g[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return g


@program(lambda rng: (rng.uniform(-1, 1, 2),), lambda found, x: found[1] < min(0.5, rosenbrock(x)))
def gradient_descent_with_line_search(x0):
    x = x0.copy()
    f = rosenbrock(x)
    for iteration in range(100):
        g = rosenbrock_gradient(x)
        if np.linalg.norm(g) < 1e-4:
            break
        step = 1.0
        while True:
            candidate = x - step * g
            value = rosenbrock(candidate)
            if value <= f - 1e-4 * step * (g @ g) or step < 1e-12:
                break
            step *= 0.5
        x, f = candidate, value
    return x, f


@program(lambda rng: (rng.uniform(-1, 1, 2), 200), lambda found, x, n: np.allclose(found[0], 1, atol=1e-3))
def nelder_mead(start, max_iterations):
    n = len(start)
    simplex = [start]
    for i in range(n):
        vertex = start.copy()
        vertex[i] += 0.5
        simplex.append(vertex)
    values = [rosenbrock(v) for v in simplex]
    for _ in range(max_iterations):
        order = np.argsort(values)
        simplex = [simplex[i] for i in order]
        values = [values[i] for i in order]
        if abs(values[-1] - values[0]) < 1e-12:
            break
        centroid = np.mean(simplex[:-1], axis=0)
        reflected = centroid + (centroid - simplex[-1])
        f_reflected = rosenbrock(reflected)
        if values[0] <= f_reflected < values[-2]:
            simplex[-1], values[-1] = reflected, f_reflected
        elif f_reflected < values[0]:
            expanded = centroid + 2 * (centroid - simplex[-1])
            f_expanded = rosenbrock(expanded)
            if f_expanded < f_reflected:
                simplex[-1], values[-1] = expanded, f_expanded
            else:
                simplex[-1], values[-1] = reflected, f_reflected
        else:
            contracted = centroid + 0.5 * (simplex[-1] - centroid)
            f_contracted = rosenbrock(contracted)
            if f_contracted < values[-1]:
                simplex[-1], values[-1] = contracted, f_contracted
            else:
                for i in range(1, n + 1):
                    simplex[i] = simplex[0] + 0.5 * (simplex[i] - simplex[0])
                    values[i] = rosenbrock(simplex[i])
    best = int(np.argmin(values))
    return simplex[best], values[best]


@program(lambda rng: (rng.uniform(-1, 1, 4),), lambda found, x: np.allclose(found["x"], 1, atol=1e-4) or found["value"] < 4)
def bfgs(x0, tolerance=1e-6):
    n = x0.size
    H = np.eye(n)
    x, g = x0, rosenbrock_gradient(x0)
    status = "maximum number of iterations"
    for k in range(200):
        if np.max(np.abs(g)) < tolerance:
            status = "converged"
            break
        p = -H @ g
        t, slope, f0 = 1.0, g @ p, rosenbrock(x)
        while rosenbrock(x + t * p) > f0 + 1e-4 * t * slope:
            t /= 2
        s = t * p
        g_new = rosenbrock_gradient(x + s)
        y = g_new - g
        sy = s @ y
        if sy > 1e-10:
            V = np.eye(n) - np.outer(s, y) / sy
            H = V @ H @ V.T + np.outer(s, s) / sy
        x, g = x + s, g_new
    return {"x": x, "value": rosenbrock(x), "status": status}


def decay(t, p):
    return p[0] * np.exp(-p[1] * t) + p[2]


def noisy_decay(rng):
    t = np.linspace(0, 4, 30)
    return t, decay(t, np.array([2.5, 1.3, 0.5])) + 0.01 * rng.normal(size=30), np.array([1.0, 1.0, 0.0])


@program(noisy_decay, lambda found, t, y, p: np.allclose(found[0], [2.5, 1.3, 0.5], atol=0.1))
def levenberg_marquardt(t, y, p):
    damping = 1e-2
    residual = y - decay(t, p)
    cost = residual @ residual
    for iteration in range(100):
        J = np.column_stack([np.exp(-p[1] * t), -p[0] * t * np.exp(-p[1] * t), np.ones_like(t)])
        A = J.T @ J
        g = J.T @ residual
        delta = np.linalg.solve(A + damping * np.diag(np.diag(A)), g)
        trial = p + delta
        trial_residual = y - decay(t, trial)
        trial_cost = trial_residual @ trial_residual
        if trial_cost < cost:
            improvement = cost - trial_cost
            p, residual, cost = trial, trial_residual, trial_cost
            damping = max(damping / 10, 1e-10)
            if improvement < 1e-10 * cost:
                break
        else:
            damping *= 10
            if damping > 1e8:
                break
    return p, cost


@program(lambda rng: (float(rng.uniform(0.5, 3)),), lambda found, c: np.isclose(found[0], np.log(c), atol=1e-5))
def golden_section_search(c):
    f = lambda x: np.exp(x) - c * x
    a, b = -3.0, 4.0
    x1, x2 = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    f1, f2 = f(x1), f(x2)
    count = 2
    while b - a > 1e-5:
        if f1 < f2:
            b, x2, f2 = x2, x1, f1
            x1 = b - GOLDEN * (b - a)
            f1 = f(x1)
        else:
            a, x1, f1 = x1, x2, f2
            x2 = a + GOLDEN * (b - a)
            f2 = f(x2)
        count += 1
    return 0.5 * (a + b), count


def linear_program(rng):
    return rng.uniform(0.5, 2, 3), rng.uniform(0.1, 2, (4, 3)), rng.uniform(2, 5, 4)


@program(linear_program, lambda found, c, A, b: np.all(A @ found[0] <= b + 1e-9) and np.isclose(found[1], c @ found[0]))
def simplex_method(c, A, b):
    """Maximizes c @ x for A @ x <= b, x >= 0, on a tableau."""
    m, n = A.shape
    tableau = np.zeros((m + 1, n + m + 1))
    tableau[:m, :n] = A
    tableau[:m, n : n + m] = np.eye(m)
    tableau[:m, -1] = b
    tableau[-1, :n] = -c
    basis = list(range(n, n + m))
    while np.any(tableau[-1, :-1] < -1e-10):
        column = np.argmin(tableau[-1, :-1])
        if np.all(tableau[:m, column] <= 0):
            raise ValueError("The problem is unbounded.")
        ratios = np.full(m, np.inf)
        for i in range(m):
            if tableau[i, column] > 1e-10:
                ratios[i] = tableau[i, -1] / tableau[i, column]
        row = np.argmin(ratios)
        tableau[row] /= tableau[row, column]
        for i in range(m + 1):
            if i != row:
                tableau[i] -= tableau[i, column] * tableau[row]
        basis[row] = column
    x = np.zeros(n)
    for i, variable in enumerate(basis):
        if variable < n:
            x[variable] = tableau[i, -1]
    return x, tableau[-1, -1]


def tour(rng):
    cities = rng.uniform(size=(12, 2))
    return cities, rng.integers(0, 12, size=(200, 2)), rng.uniform(size=200)


@program(tour, lambda found, cities, pairs, chances: sorted(found[0]) == list(range(12)))
def simulated_annealing(cities, pairs, chances):
    """A short tour through the cities; random numbers are given."""

    def length(order):
        total = 0.0
        for i in range(len(order)):
            total += np.linalg.norm(cities[order[i]] - cities[order[i - 1]])
        return total

    order = np.arange(len(cities))
    current = best_length = length(order)
    best = order.copy()
    temperature = 1.0
    for (i, j), chance in zip(pairs, chances):
        if i == j:
            continue
        lo, hi = min(i, j), max(i, j)
        proposal = order.copy()
        proposal[lo : hi + 1] = proposal[lo : hi + 1][::-1]
        new = length(proposal)
        if new < current or chance < np.exp((current - new) / temperature):
            order, current = proposal, new
            if current < best_length - 1e-9:
                best, best_length = order.copy(), current
        temperature *= 0.96
    return best, best_length


def regression(rng):
    X = rng.normal(size=(40, 6))
    return X, X @ np.array([3.0, 0, 0, -2.0, 0, 1.0]) + 0.1 * rng.normal(size=40), 4.0


@program(regression, lambda found, X, y, penalty: set(np.flatnonzero(found)) >= {0, 3})
def lasso_by_coordinate_descent(X, y, penalty):
    n_features = X.shape[1]
    w = np.zeros(n_features)
    norms = (X**2).sum(axis=0)
    for sweep in range(100):
        biggest = 0.0
        for j in range(n_features):
            old = w[j]
            rho = X[:, j] @ (y - X @ w + X[:, j] * old)
            if rho < -penalty:
                w[j] = (rho + penalty) / norms[j]
            elif rho > penalty:
                w[j] = (rho - penalty) / norms[j]
            else:
                w[j] = 0.0
            biggest = max(biggest, abs(w[j] - old))
        if biggest < 1e-9:
            break
    return w


def cities(rng):
    places = rng.random((7, 2))
    return np.sqrt(((places[:, None] - places) ** 2).sum(axis=2)), int(rng.integers(1000))


class Tour:
    def __init__(self, stops, length):
        self.stops, self.length = stops, length


def length_of_tour(stops, distances):
    return sum(distances[stops[k], stops[(k + 1) % len(stops)]] for k in range(len(stops)))


@program(cities, lambda found, distances, seed: sorted(found[0]) == list(range(7)))
def genetic_algorithm(distances, seed):
    rng = np.random.default_rng(seed)
    n = len(distances)
    population = []
    for _ in range(6):
        stops = [int(stop) for stop in rng.permutation(n)]
        population.append(Tour(stops, length_of_tour(stops, distances)))
    for generation in range(8):
        population.sort(key=lambda tour: tour.length)
        following = population[:2]
        for _ in range(4):
            mother = population[min(rng.integers(0, 6, 2))].stops
            father = population[min(rng.integers(0, 6, 2))].stops
            begin, end = sorted(rng.integers(0, n, 2))
            middle = mother[begin:end]
            rest = [stop for stop in father if stop not in middle]
            stops = rest[:begin] + middle + rest[begin:]
            if rng.random() < 0.3:
                i, k = rng.integers(0, n, 2)
                stops[i], stops[k] = stops[k], stops[i]
            following.append(Tour(stops, length_of_tour(stops, distances)))
        population = following
    best = min(population, key=lambda tour: tour.length)
    return best.stops, best.length

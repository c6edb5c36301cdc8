"""Simulations of things that move, grow or spread; random numbers are given as arrays."""

import numpy as np

from .registry import program

G = 1.0
SOFTENING = 0.05


def bodies(rng, n=6):
    return rng.normal(size=(n, 3)), 0.1 * rng.normal(size=(n, 3)), rng.uniform(0.5, 1.5, n), 0.01, 20


def accelerations(positions, masses):
    n = len(masses)
    a = np.zeros_like(positions)
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            d = positions[j] - positions[i]
            a[i] += G * masses[j] * d / (np.sum(d**2) + SOFTENING**2) ** 1.5
    return a


@program(bodies, lambda found, x, v, m, dt, n: np.allclose(m @ found[1], m @ v))
def n_body(positions, velocities, masses, dt, steps):
    a = accelerations(positions, masses)
    energies = []
    for step in range(steps):
        velocities = velocities + dt / 2 * a
        positions = positions + dt * velocities
        a = accelerations(positions, masses)
        velocities = velocities + dt / 2 * a
        energies.append(0.5 * np.sum(masses * np.sum(velocities**2, axis=1)))
    return positions, velocities, energies


def energies(positions, velocities, masses):
    kinetic = 0.5 * np.sum(masses * velocities**2)
    x, y, z = positions[:, 0:1], positions[:, 1:2], positions[:, 2:3]
    inverse = np.sqrt((x.T - x) ** 2 + (y.T - y) ** 2 + (z.T - z) ** 2)
    inverse[inverse > 0] = 1.0 / inverse[inverse > 0]
    return kinetic, G * np.sum(np.sum(np.triu(-(masses * masses.T) * inverse, 1)))


@program(bodies, lambda found, *given: np.ptp(sum(found)) < 0.1 * np.ptp(found[0]) + 0.1)
def n_body_in_whole_arrays(positions, velocities, masses, dt, steps):
    def pull(pos):
        dx, dy, dz = (np.subtract.outer(pos[:, k], pos[:, k]).T for k in range(3))
        inv_r3 = dx**2 + dy**2 + dz**2 + SOFTENING**2
        inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
        return np.stack([(G * (d * inv_r3)) @ masses for d in (dx, dy, dz)], axis=1)

    column = masses[:, np.newaxis]
    velocities -= np.mean(column * velocities, 0) / np.mean(masses)
    acc = pull(positions)
    KE, PE = np.ndarray(steps + 1, dtype=np.float64), np.ndarray(steps + 1, dtype=np.float64)
    KE[0], PE[0] = energies(positions, velocities, column)
    for i in range(steps):
        velocities += acc * dt / 2.0
        positions += velocities * dt
        acc = pull(positions)
        velocities += acc * dt / 2.0
        KE[i + 1], PE[i + 1] = energies(positions, velocities, column)
    return KE, PE


@program(lambda rng: ((rng.uniform(size=(20, 20)) < 0.35).astype(int), 25))
def game_of_life(grid, generations):
    population = [int(grid.sum())]
    for g in range(generations):
        neighbours = np.zeros_like(grid)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy != 0 or dx != 0:
                    neighbours += np.roll(np.roll(grid, dy, axis=0), dx, axis=1)
        grid = np.where((neighbours == 3) | ((grid == 1) & (neighbours == 2)), 1, 0)
        population.append(int(grid.sum()))
        if population[-1] == 0:
            print(f"extinct after {g + 1} generations")
            break
    return grid, population


# Weights and directions of nine velocities.
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]


@program(lambda rng: (16, 24, 40, 0.6, rng.uniform(-1e-3, 1e-3, (16, 24))), lambda found, *a: found[0].shape == (16, 24))
def lattice_boltzmann(ny, nx, steps, tau, noise):
    """A flow around a square, in a channel that is periodic."""
    F = np.ones((9, ny, nx)) * WEIGHTS[:, None, None]
    F[1] += 0.05 * (1 + noise)
    wall = np.full((ny, nx), False)
    wall[0, :] = wall[-1, :] = True
    wall[6:10, 5:9] = True
    for _ in range(steps):
        for i in range(9):
            F[i] = np.roll(F[i], (CY[i], CX[i]), axis=(0, 1))
        bounced = F[OPPOSITE][:, wall]
        rho = F.sum(axis=0)
        ux = np.sum(F * CX[:, None, None], axis=0) / rho
        uy = np.sum(F * CY[:, None, None], axis=0) / rho
        equilibrium = np.zeros_like(F)
        for i, (cx, cy, w) in enumerate(zip(CX, CY, WEIGHTS)):
            cu = cx * ux + cy * uy
            equilibrium[i] = rho * w * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (ux**2 + uy**2))
        F -= (F - equilibrium) / tau
        F[:, wall] = bounced
    return np.where(wall, 0, ux), np.where(wall, 0, uy)


@program(lambda rng: (rng.choice([-1, 1], (10, 10)), rng.integers(0, 10, (600, 2)), rng.uniform(size=600), 0.44))
def ising_model(spins, sites, chances, beta):
    n = spins.shape[0]
    magnetization = np.zeros(len(sites) // 100)
    for k in range(len(sites)):
        i, j = sites[k]
        around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
        cost = 2 * spins[i, j] * around
        if cost <= 0 or chances[k] < np.exp(-beta * cost):
            spins[i, j] *= -1
        if (k + 1) % 100 == 0:
            magnetization[k // 100] = abs(spins.mean())
    return magnetization


@program(lambda rng: (rng.integers(0, 5, (12, 12)),), lambda found, grains: np.all(found[0] < 4))
def sandpile(grains):
    grid = grains.copy()
    topplings = 0
    while (grid >= 4).any():
        for i, j in np.argwhere(grid >= 4):
            grid[i, j] -= 4
            topplings += 1
            if i > 0:
                grid[i - 1, j] += 1
            if i < grid.shape[0] - 1:
                grid[i + 1, j] += 1
            if j > 0:
                grid[i, j - 1] += 1
            if j < grid.shape[1] - 1:
                grid[i, j + 1] += 1
    return grid, topplings


@program(lambda rng: (110, rng.integers(0, 2, 64).astype(np.uint8), 32), lambda found, rule, first, n: found.shape == (32, 64))
def cellular_automaton(rule, first, generations):
    table = [(rule >> k) & 1 for k in range(8)]
    rows = np.zeros((generations, len(first)), dtype=np.uint8)
    rows[0] = first
    for t in range(1, generations):
        for x in range(len(first)):
            left = rows[t - 1, x - 1]
            right = rows[t - 1, (x + 1) % len(first)]
            rows[t, x] = table[4 * left + 2 * rows[t - 1, x] + right]
    return rows


@program(lambda rng: (np.sort(rng.choice(50, 12, replace=False)), rng.uniform(size=(40, 12)), 5))
def traffic_jam(positions, chances, v_max, length=50):
    """Nagel and Schreckenberg's cars on a ring."""
    cars = len(positions)
    velocities = np.zeros(cars, dtype=np.int64)
    flow = 0
    for t in range(chances.shape[0]):
        for c in range(cars):
            gap = (positions[(c + 1) % cars] - positions[c] - 1) % length
            velocities[c] = min(velocities[c] + 1, v_max, gap)
            if velocities[c] > 0 and chances[t, c] < 0.3:
                velocities[c] -= 1
        moved = positions + velocities
        flow += np.count_nonzero(moved >= length)
        positions = moved % length
    return positions, velocities, flow


@program(lambda rng: (rng.exponential(1.0, 80), rng.exponential(0.9, 80)), lambda found, a, s: np.all(found["waits"] >= 0))
def waiting_line(between_arrivals, services):
    waits = np.zeros(len(services))
    idle = 0.0
    for k in range(1, len(services)):
        w = waits[k - 1] + services[k - 1] - between_arrivals[k]
        if w > 0:
            waits[k] = w
        else:
            idle -= w
    longest = waits.argmax()
    print("customer", longest, "waits longest")
    return {"waits": waits, "mean": waits.mean(), "idle": idle, "waiting": np.mean(waits > 0)}

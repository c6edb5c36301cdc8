"""Scripts of a physics course: integrators, wave functions, random walks, with parameters in dicts, tuples and objects."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .registry import program


class Pendulum(NamedTuple):
    length: float = 1.0
    damping: float = 0.1
    drive: float = 1.2
    frequency: float = 2 / 3


def pendulum_rhs(t, state, p: Pendulum):
    theta, omega = state
    return np.array([omega, -np.sin(theta) / p.length - p.damping * omega + p.drive * np.cos(p.frequency * t)])


def rk4(f, t, y, h, *args):
    k1 = f(t, y, *args)
    k2 = f(t + h / 2, y + h * k1 / 2, *args)
    k3 = f(t + h / 2, y + h * k2 / 2, *args)
    k4 = f(t + h, y + h * k3, *args)
    return y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6


@program(lambda rng: (rng.uniform(-1, 1, 2), 6, 40))
def driven_pendulum(start, periods, steps_per_period):
    """A Poincare section; the angle is wrapped in place, the parameters are a named tuple."""
    p = Pendulum(damping=0.5)
    h = 2 * np.pi / p.frequency / steps_per_period
    section = np.empty((periods, 2))
    t, y = 0.0, np.asarray(start, dtype=float)
    for n in range(periods):
        for _ in range(steps_per_period):
            y = rk4(pendulum_rhs, t, y, h, p)
            t += h
        if abs(y[0]) > np.pi:
            y[0] -= 2 * np.pi * np.round(y[0] / (2 * np.pi))
        section[n] = y
    return section


@program(lambda rng: (rng.uniform(1.5, 2.5), rng.uniform(0.5, 1.5), 1e-3))
def double_pendulum(theta1, theta2, dt, *, m1=1.0, m2=1.0, l1=1.0, l2=1.0, g=9.81):
    """Keyword arguments only, and energies for a report."""

    def derivatives(state):
        th1, w1, th2, w2 = state
        delta = th2 - th1
        den = (m1 + m2) * l1 - m2 * l1 * np.cos(delta) ** 2
        a1 = (
            m2 * l1 * w1**2 * np.sin(delta) * np.cos(delta)
            + m2 * g * np.sin(th2) * np.cos(delta)
            + m2 * l2 * w2**2 * np.sin(delta)
            - (m1 + m2) * g * np.sin(th1)
        ) / den
        a2 = (
            -m2 * l2 * w2**2 * np.sin(delta) * np.cos(delta)
            + (m1 + m2) * (g * np.sin(th1) * np.cos(delta) - l1 * w1**2 * np.sin(delta) - g * np.sin(th2))
        ) / (den * l2 / l1)
        return np.array([w1, a1, w2, a2])

    def energy(state):
        th1, w1, th2, w2 = state
        v = 0.5 * (m1 + m2) * (l1 * w1) ** 2 + 0.5 * m2 * (l2 * w2) ** 2
        v += m2 * l1 * l2 * w1 * w2 * np.cos(th1 - th2)
        return v - (m1 + m2) * g * l1 * np.cos(th1) - m2 * g * l2 * np.cos(th2)

    state = np.array([theta1, 0.0, theta2, 0.0])
    start = energy(state)
    for _ in range(500):
        mid = state + 0.5 * dt * derivatives(state)
        state = state + dt * derivatives(mid)
    drift = abs(energy(state) - start) / abs(start)
    print(f"energy drift: {drift:.1e} ({'good' if drift < 1e-3 else 'bad'})")
    return state


@dataclass
class Projectile:
    """A ball with drag; the trajectory is a list of points."""

    speed: float
    angle: float
    drag: float = 0.02
    trajectory: list = field(default_factory=list)

    def fly(self, dt=0.01):
        v = self.speed * np.array([np.cos(self.angle), np.sin(self.angle)])
        r = np.zeros(2)
        self.trajectory = [r.copy()]
        while True:
            a = np.array([0.0, -9.81]) - self.drag * np.linalg.norm(v) * v
            v = v + a * dt
            r = r + v * dt
            if r[1] < 0:
                break
            self.trajectory.append(r.copy())
        return self

    @property
    def range(self):
        return self.trajectory[-1][0]

    @property
    def height(self):
        return max(p[1] for p in self.trajectory)


@program(lambda rng: (rng.uniform(10, 15),))
def best_angle(speed):
    """Objects made in a loop, each with a list whose length the values decide."""
    best, best_range = None, -np.inf
    for angle in np.deg2rad(np.arange(20, 71, 10)):
        shot = Projectile(speed, angle).fly()
        if shot.range > best_range:
            best, best_range = np.rad2deg(angle), shot.range
    return best, best_range


@program(lambda rng: (rng.uniform(0.5, 2.0), 200), lambda found, omega, n: abs(found[0][0] / omega - 0.5) < 1e-2)
def harmonic_levels(omega, n):
    """Eigenvalues of a Hamiltonian made of diagonals."""
    x = np.linspace(-8, 8, n)
    h = x[1] - x[0]
    kinetic = (np.diag(np.full(n, 2.0)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)) / (2 * h**2)
    potential = np.diag(0.5 * omega**2 * x**2)
    levels, states = np.linalg.eigh(kinetic + potential)
    density = np.abs(states[:, :3]) ** 2 / h
    return levels[:4], np.trapezoid(density, x, axis=0), (density * x[:, None] ** 2).sum(axis=0) * h


@program(lambda rng: (rng.uniform(1, 3), rng.uniform(-6, -4)), lambda found, k0, x0: abs(found[0] - 1) < 1e-6)
def split_step(k0, x0, n=128, steps=60, dt=0.02):
    """A wave packet that meets a barrier; complex exponentials and Fourier transforms."""
    x = np.linspace(-15, 15, n, endpoint=False)
    dx = x[1] - x[0]
    k = 2 * np.pi * np.fft.fftfreq(n, d=dx)
    psi = np.exp(-((x - x0) ** 2) / 2 + 1j * k0 * x)
    psi /= np.sqrt(np.sum(np.abs(psi) ** 2) * dx)
    barrier = np.where(np.abs(x) < 0.5, 2.0, 0.0)
    half = np.exp(-0.5j * dt * barrier)
    full = np.exp(-0.5j * dt * k**2)
    for _ in range(steps):
        psi *= half
        psi = np.fft.ifft(full * np.fft.fft(psi))
        psi *= half
    density = np.abs(psi) ** 2
    return density.sum() * dx, density[x > 0.5].sum() * dx, np.angle(psi[n // 2])


@program(lambda rng: (rng.uniform(2.6, 3.9, 8), 40))
def lyapunov_exponents(rates, n):
    """The logistic map for several rates, one number at a time."""
    exponents = []
    for r in rates:
        x, total = 0.5, 0.0
        for i in range(n):
            x = r * x * (1 - x)
            slope = abs(r - 2 * r * x)
            if slope > 0:
                total += np.log(slope)
        exponents.append(total / n)
    exponents = np.array(exponents)
    return exponents, np.sign(exponents).astype(int), [bool(e > 0) for e in exponents]


@program(lambda rng: (rng.integers(0, 4, (50, 100)),))
def self_avoiding_walks(moves):
    """How far walks come before they meet themselves; the grid is written to in a loop with a break."""
    step = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    lengths = np.zeros(len(moves), dtype=int)
    for w, walk in enumerate(moves):
        visited = np.zeros((201, 201), dtype=bool)
        position = np.array([100, 100])
        visited[tuple(position)] = True
        for count, move in enumerate(walk, start=1):
            position = position + step[move]
            if visited[position[0], position[1]]:
                break
            visited[position[0], position[1]] = True
            lengths[w] = count
    return lengths, lengths.mean(), np.bincount(lengths, minlength=10)[:10]


class SpringChain:
    """Masses on a line, springs between them; the ends are held."""

    def __init__(self, n, k=1.0, m=1.0):
        self.n = n
        self.k = k
        self.m = m
        self.x = np.zeros(n)
        self.v = np.zeros(n)
        self._history = []

    def forces(self):
        f = np.zeros_like(self.x)
        f[1:-1] = self.k * (self.x[2:] - 2 * self.x[1:-1] + self.x[:-2])
        return f

    def pluck(self, i, amplitude):
        self.x[1:-1] = np.interp(np.arange(1, self.n - 1), [0, i, self.n - 1], [0, amplitude, 0])
        return self

    def run(self, steps, dt, every=10):
        f = self.forces()
        for s in range(steps):
            self.v += 0.5 * dt * f / self.m
            self.x += dt * self.v
            f = self.forces()
            self.v += 0.5 * dt * f / self.m
            if s % every == 0:
                self._history.append(self.x.copy())
        return np.stack(self._history)


@program(lambda rng: (rng.uniform(0.1, 1.0), 32))
def plucked_string(amplitude, n):
    """Methods that are chained, arrays that are updated in place, an inner list that is stacked."""
    chain = SpringChain(n, k=2.0).pluck(n // 3, amplitude)
    snapshots = chain.run(200, 0.05)
    modes = np.abs(np.fft.rfft(snapshots[:, n // 2]))
    return snapshots.shape, modes.argmax(), modes.max(), chain.x, chain.v


@program(lambda rng: (rng.uniform(-1, 1, (3, 2)), np.array([1.0, -2.0, 1.5])))
def electric_field(places, charges, n=20):
    """Point charges on a grid, by a loop over zip with a tuple inside."""
    x, y = np.meshgrid(np.linspace(-2, 2, n), np.linspace(-2, 2, n))
    ex, ey, v = np.zeros((n, n)), np.zeros((n, n)), np.zeros_like(x)
    for q, (px, py) in zip(charges, places):
        dx, dy = x - px, y - py
        r = np.hypot(dx, dy)
        r[r < 0.05] = 0.05
        ex += q * dx / r**3
        ey += q * dy / r**3
        v += q / r
    magnitude = np.sqrt(ex**2 + ey**2)
    i, j = np.unravel_index(np.argmax(magnitude), magnitude.shape)
    return v, np.arctan2(ey, ex), (i, j), magnitude[i, j]


@program(lambda rng: ({"nx": 24, "ny": 18, "tol": 1e-4}, rng.uniform(0.5, 1.5)))
def laplace_with_electrodes(config, voltage):
    """Relaxation with masks of fixed cells until it no longer changes; the configuration is a dict."""
    nx, ny = config["nx"], config["ny"]
    phi = np.zeros((ny, nx))
    fixed = np.zeros((ny, nx), dtype=bool)
    fixed[0, :] = fixed[-1, :] = fixed[:, 0] = fixed[:, -1] = True
    fixed[5:13, 6] = True
    fixed[5:13, 17] = True
    phi[5:13, 6] = voltage
    phi[5:13, 17] = -voltage
    iterations = 0
    change = np.inf
    while change > config["tol"] and iterations < config.get("max_iterations", 1000):
        old = phi.copy()
        phi[1:-1, 1:-1] = 0.25 * (old[2:, 1:-1] + old[:-2, 1:-1] + old[1:-1, 2:] + old[1:-1, :-2])
        phi[fixed] = old[fixed]
        change = np.max(np.abs(phi - old))
        iterations += 1
    gy, gx = np.gradient(-phi)
    return phi, iterations, gx[9, 11], gy.sum()


@program(lambda rng: (rng.normal(size=(30, 2)), rng.normal(size=(30, 2))))
def hard_disks(positions, velocities, radius=0.1, dt=0.01, steps=20):
    """Elastic collisions pair by pair, with rows of the caller's arrays changed in place."""
    collisions = 0
    n = len(positions)
    for _ in range(steps):
        positions += velocities * dt
        for i in range(n):
            for j in range(i + 1, n):
                d = positions[i] - positions[j]
                distance = np.sqrt(d @ d)
                if distance < 2 * radius:
                    normal = d / distance
                    along = np.dot(velocities[i] - velocities[j], normal)
                    if along < 0:
                        velocities[i] -= along * normal
                        velocities[j] += along * normal
                        collisions += 1
    return collisions, 0.5 * (velocities**2).sum()


@program(lambda rng: (rng.uniform(0.2, 0.8), 300))
def kronig_penney(depth, n):
    """Bands: which energies are allowed, and where the gaps begin and end."""
    energies = np.linspace(0.01, 20, n)
    allowed = []
    for e in energies:
        alpha = np.sqrt(2 * e)
        f = np.cos(alpha) + 5 * depth * np.sin(alpha) / alpha
        allowed.append(abs(f) <= 1)
    allowed = np.array(allowed)
    edges = np.flatnonzero(np.diff(allowed.astype(int)))
    gaps = [(energies[a], energies[b]) for a, b in zip(edges[:-1:2], edges[1::2])]
    return allowed.sum(), energies[edges], len(gaps)


@program(lambda rng: (rng.uniform(0.1, 0.4), rng.uniform(1.4, 1.6)))
def rays_through_a_ball_lens(height, index):
    """Snell's law at two surfaces, with total reflection as an exception."""

    class TotalReflection(Exception):
        pass

    def refract(direction, normal, n1, n2):
        cos = -normal @ direction
        ratio = n1 / n2
        k = 1 - ratio**2 * (1 - cos**2)
        if k < 0:
            raise TotalReflection(f"beyond the critical angle: {n1:.2f} to {n2:.2f}")
        return ratio * direction + (ratio * cos - np.sqrt(k)) * normal

    foci = []
    for h in np.linspace(0.1 * height, height, 5):
        point = np.array([-np.sqrt(1 - h**2), h])
        direction = np.array([1.0, 0.0])
        try:
            direction = refract(direction, point, 1.0, index)
            point = point - 2 * (point @ direction) * direction
            direction = refract(direction, -point, index, 1.0)
        except TotalReflection as error:
            print("lost:", error)
            continue
        foci.append(point[0] - point[1] * direction[0] / direction[1])
    return np.array(foci), np.ptp(foci)


@program(lambda rng: (rng.normal(size=(16, 3)), np.float32(0.01)))
def lennard_jones(positions, dt, steps=10, box=6.0):
    """All pairs at once with minimum images, in a closure that keeps a list of energies."""
    positions = np.linspace(0, box, 16, endpoint=False)[:, None] * np.array([1, 2, 3]) % box + 0.05 * positions
    velocities = np.zeros_like(positions)
    energies = []

    def forces(r):
        d = r[:, None, :] - r[None, :, :]
        d -= box * np.round(d / box)
        r2 = np.einsum("ijk,ijk->ij", d, d)
        np.fill_diagonal(r2, np.inf)
        inverse6 = 1 / r2**3
        energies.append(2 * np.sum(inverse6 * (inverse6 - 1)))
        return np.sum((48 * inverse6 * (inverse6 - 0.5) / r2)[:, :, None] * d, axis=1)

    f = forces(positions)
    for _ in range(steps):
        velocities += 0.5 * dt * f
        positions = (positions + dt * velocities) % box
        f = forces(positions)
        velocities += 0.5 * dt * f
    return positions, np.array(energies), len(energies)

"""Lattices, lenses, photons, rotations, circuits."""

import functools
import itertools
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial import hermite_e

from .registry import program


@program(lambda rng: (rng.choice([-1, 1], (12, 12)), 0.44, 15))
def wolff(spins, beta, sweeps):
    """Clusters that grow on a stack, by numbers of a generator."""
    rng = np.random.default_rng(7)
    n = spins.shape[0]
    p = 1 - np.exp(-2 * beta)
    sizes = []
    for _ in range(sweeps):
        i, j = rng.integers(n, size=2)
        s = spins[i, j]
        stack = [(i, j)]
        spins[i, j] = -s
        size = 1
        while stack:
            a, b = stack.pop()
            for da, db in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                c, d = (a + da) % n, (b + db) % n
                if spins[c, d] == s and rng.random() < p:
                    spins[c, d] = -s
                    stack.append((c, d))
                    size += 1
        sizes.append(size)
    return np.abs(spins.mean()), sizes


class Quaternion:
    __slots__ = ("w", "v")

    def __init__(self, w, v):
        self.w, self.v = w, np.asarray(v, float)

    @classmethod
    def from_axis_angle(cls, axis, angle):
        axis = axis / np.linalg.norm(axis)
        return cls(math.cos(angle / 2), math.sin(angle / 2) * axis)

    def __mul__(self, other):
        if not isinstance(other, Quaternion):
            return NotImplemented
        return Quaternion(self.w * other.w - self.v @ other.v, self.w * other.v + other.w * self.v + np.cross(self.v, other.v))

    def __invert__(self):
        return Quaternion(self.w, -self.v)

    def __abs__(self):
        return math.sqrt(self.w**2 + self.v @ self.v)

    def rotate(self, x):
        return (self * Quaternion(0.0, x) * ~self).v

    def __repr__(self):
        return f"{self.w:.4f}{self.v[0]:+.4f}i{self.v[1]:+.4f}j{self.v[2]:+.4f}k"


def slerp(p, q, t):
    dot = p.w * q.w + p.v @ q.v
    if dot < 0:
        q, dot = Quaternion(-q.w, -q.v), -dot
    if dot > 0.9995:
        w, v = p.w + t * (q.w - p.w), p.v + t * (q.v - p.v)
    else:
        theta = math.acos(dot)
        a, b = math.sin((1 - t) * theta) / math.sin(theta), math.sin(t * theta) / math.sin(theta)
        w, v = a * p.w + b * q.w, a * p.v + b * q.v
    n = math.sqrt(w * w + v @ v)
    return Quaternion(w / n, v / n)


@program(lambda rng: (rng.normal(size=3), rng.normal(size=3), rng.uniform(0, 6, 2), rng.normal(size=(5, 3))))
def attitude(axis1, axis2, angles, vectors):
    """Slots, operators, and their product by functools.reduce."""
    p = Quaternion.from_axis_angle(axis1, angles[0])
    q = Quaternion.from_axis_angle(axis2, angles[1])
    track = [slerp(p, q, t) for t in np.linspace(0, 1, 7)]
    print(p * q, abs(p * q))
    rotated = np.array([[s.rotate(x) for x in vectors] for s in track])
    total = functools.reduce(operator.mul, track)
    return rotated, total.w, total.v, repr(total)


@dataclass(frozen=True)
class Lens:
    mass: float
    z: complex


@program(lambda rng: ([Lens(0.7, -0.3 + 0j), Lens(0.3, 0.5 + 0.1j)], 32, complex(rng.normal(0, 0.05), rng.normal(0, 0.05))))
def microlens_map(lenses, n, source):
    """Complex planes, 2-dimensional histograms."""
    x = np.linspace(-1.5, 1.5, n)
    z = x[None, :] + 1j * x[:, None]
    zeta = z.copy()
    jac = np.zeros_like(z)
    for lens in lenses:
        zeta -= lens.mass / np.conj(z - lens.z)
        jac += lens.mass / (z - lens.z) ** 2
    det = 1 - np.abs(jac) ** 2
    hist, xe, ye = np.histogram2d(zeta.imag.ravel(), zeta.real.ravel(), bins=8, range=[[-1, 1], [-1, 1]])
    near = np.abs(zeta - source) < 0.1
    images = z[near]
    total = np.sum(1 / np.abs(det[near])) if near.any() else 0.0
    return hist, np.sort_complex(images), total, np.sign(det).astype(np.int8)


class Fate(Enum):
    REFLECTED = 0
    TRANSMITTED = 1
    ABSORBED = 2


def henyey_greenstein(rng, g):
    if abs(g) < 1e-6:
        return 2 * rng.random() - 1
    s = (1 - g * g) / (1 - g + 2 * g * rng.random())
    return (1 + g * g - s * s) / (2 * g)


@program(lambda rng: (60, 2.0, 0.9, 0.5, int(rng.integers(100))))
def photon_packets(n, tau_max, albedo, g, seed):
    """An enum for what ends a while loop, and a dict by it."""
    rng = np.random.default_rng(seed)
    counts = {fate: 0 for fate in Fate}
    scatterings = np.zeros(n, dtype=np.int64)
    for k in range(n):
        tau, mu = 0.0, 1.0
        while True:
            tau += mu * -math.log(1 - rng.random())
            if tau < 0:
                fate = Fate.REFLECTED
                break
            if tau > tau_max:
                fate = Fate.TRANSMITTED
                break
            if rng.random() > albedo:
                fate = Fate.ABSORBED
                break
            c = henyey_greenstein(rng, g)
            phi = 2 * math.pi * rng.random()
            mu = mu * c + math.sqrt(max(0.0, (1 - mu * mu) * (1 - c * c))) * math.cos(phi)
            mu = max(-1.0, min(1.0, mu))
            scatterings[k] += 1
        counts[fate] += 1
    for fate, number in counts.items():
        print(f"{fate.name.lower():12s} {number / n:6.3f}")
    return {fate.name: number for fate, number in counts.items()}, scatterings


def find(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@program(lambda rng: (rng.random((16, 18)) < 0.45,))
def hoshen_kopelman(occupied):
    """Union and find on a list, sets of labels."""
    h, w = occupied.shape
    labels = np.zeros((h, w), dtype=int)
    parent = [0]
    for i in range(h):
        for j in range(w):
            if not occupied[i, j]:
                continue
            up = labels[i - 1, j] if i else 0
            left = labels[i, j - 1] if j else 0
            if up == 0 and left == 0:
                parent.append(len(parent))
                labels[i, j] = len(parent) - 1
            elif up and left:
                a, b = find(parent, up), find(parent, left)
                parent[max(a, b)] = min(a, b)
                labels[i, j] = min(a, b)
            else:
                labels[i, j] = max(up, left)
    flat = np.array([find(parent, k) for k in range(len(parent))])
    labels = flat[labels]
    sizes = np.bincount(labels[labels > 0], minlength=1)
    spanning = set(labels[0][labels[0] > 0].tolist()) & set(labels[-1][labels[-1] > 0].tolist())
    return labels, sizes.max(), sorted(spanning)


MODELS: dict[str, Callable] = {}


def register(name):
    def wrap(f):
        MODELS[name] = f
        return f

    return wrap


@register("gauss")
def gauss(x, amplitude, centre, width, offset):
    return amplitude * np.exp(-0.5 * ((x - centre) / width) ** 2) + offset


@register("lorentz")
def lorentz(x, amplitude, centre, width, offset):
    return amplitude * width**2 / ((x - centre) ** 2 + width**2) + offset


class FitResult(NamedTuple):
    params: dict
    errors: dict
    chi2: float
    iterations: int
    success: bool


def curve_fit(name, x, y, p0, sigma=1.0, lam=1e-3):
    model = MODELS[name]
    names = list(p0)
    p = np.array([p0[key] for key in names], dtype=float)

    def res(p):
        return (y - model(x, *p)) / sigma

    r = res(p)
    chi2 = r @ r
    success = False
    for it in range(1, 101):
        J = np.empty((x.size, p.size))
        for k in range(p.size):
            h = 1e-4 * max(abs(p[k]), 1)
            q = p.copy()
            q[k] += h
            J[:, k] = (res(q) - r) / h
        A, g = J.T @ J, J.T @ r
        step = np.linalg.solve(A + lam * np.diag(np.diag(A)), -g)
        rn = res(p + step)
        new = rn @ rn
        if new < chi2:
            improvement = (chi2 - new) / chi2
            p, r, chi2, lam = p + step, rn, new, lam / 10
            if improvement < 1e-10:
                success = True
                break
        else:
            lam *= 10
            if lam > 1e12:
                break
    cov = np.linalg.inv(A)
    return FitResult(dict(zip(names, p)), dict(zip(names, np.sqrt(np.diag(cov)))), chi2, it, success)


@program(lambda rng: (np.linspace(-5, 5, 60), rng.normal(0, 0.02, 60)))
def line_shapes(x, noise):
    """A registry of functions by a decorator; results in a dict of named tuples."""
    y = lorentz(x, 2.0, 0.4, 0.8, 0.1) + noise
    guess = {"amplitude": y.max() - y.min(), "centre": x[y.argmax()], "width": 1.0, "offset": y.min()}
    fits = {name: curve_fit(name, x, y, guess, sigma=0.02) for name in MODELS}
    best = min(fits.items(), key=lambda item: item[1].chi2)[0]
    for key, value in fits[best].params.items():
        print(f"{key:>10s} = {value:8.4f} +- {fits[best].errors[key]:.4f}")
    return best, {n: f.chi2 for n, f in fits.items()}, fits[best].params, fits[best].success


def nnls(A, b, maxiter=None):
    m, n = A.shape
    x = np.zeros(n)
    P = np.zeros(n, dtype=bool)
    w = A.T @ (b - A @ x)
    for _ in range(maxiter or 3 * n):
        if P.all() or np.max(w[~P]) <= 1e-10:
            return x, np.linalg.norm(A @ x - b)
        k = np.argmax(np.where(~P, w, -np.inf))
        P[k] = True
        while True:
            s = np.zeros(n)
            s[P] = np.linalg.lstsq(A[:, P], b, rcond=None)[0]
            if np.min(s[P]) > 0:
                break
            mask = P & (s <= 0)
            alpha = np.min(x[mask] / (x[mask] - s[mask]))
            x += alpha * (s - x)
            P[x < 1e-12] = False
        x = s
        w = A.T @ (b - A @ x)
    raise RuntimeError("too many iterations")


@program(lambda rng: (rng.uniform(0, 1, (20, 5)), rng.dirichlet(np.ones(5), 6), rng.normal(0, 0.01, (6, 20))))
def unmixing(endmembers, abundances, noise):
    """Rows are solved one by one, with a set of columns that grows and shrinks."""
    pixels = abundances @ endmembers.T + noise
    found = np.empty_like(abundances)
    errors = []
    for row, pixel in enumerate(pixels):
        found[row], err = nnls(endmembers, pixel)
        errors.append(err)
    return found, np.array(errors), np.sqrt(np.mean((found - abundances) ** 2))


@program(lambda rng: (rng.uniform(0, 1, (6, 3)), np.array([1, -1, 1, -1, 1, -1.0]), 1.0))
def ewald(positions, charges, L):
    """Sums over lattices by itertools.product, and np.vectorize."""
    alpha = 5 / L
    volume = L**3
    real = 0.0
    for n in itertools.product(range(-1, 2), repeat=3):
        shift = L * np.array(n)
        d = positions[:, None] - positions[None] + shift
        r = np.sqrt((d**2).sum(-1))
        if n == (0, 0, 0):
            np.fill_diagonal(r, np.inf)
        erfc = np.vectorize(math.erfc)(alpha * r)
        real += 0.5 * np.sum(charges[:, None] * charges * erfc / r)
    reciprocal = 0.0
    for m in itertools.product(range(-4, 5), repeat=3):
        if m == (0, 0, 0):
            continue
        k = 2 * np.pi / L * np.array(m)
        k2 = k @ k
        S = np.sum(charges * np.exp(1j * (positions @ k)))
        reciprocal += np.exp(-k2 / (4 * alpha**2)) / k2 * abs(S) ** 2
    reciprocal *= 2 * np.pi / volume
    self_energy = alpha / math.sqrt(math.pi) * np.sum(charges**2)
    return real + reciprocal - self_energy, real, reciprocal


X = np.array([[0, 1], [1, 0]], dtype=complex)


H = np.array([[1, 1], [1, -1]]) / np.sqrt(2)


T = np.diag([1, np.exp(1j * np.pi / 4)])


class Circuit:
    def __init__(self, n):
        self.n = n
        self.ops = []

    def __getattr__(self, name):
        gates = {"x": X, "h": H, "t": T}
        if name not in gates:
            raise AttributeError(name)
        return lambda q: self.add(gates[name], q)

    def add(self, gate, *qubits):
        self.ops.append((gate, qubits))
        return self

    def rz(self, theta, q):
        return self.add(np.diag([np.exp(-0.5j * theta), np.exp(0.5j * theta)]), q)

    def cnot(self, c, t):
        gate = np.eye(4, dtype=complex)[[0, 1, 3, 2]].reshape(2, 2, 2, 2)
        return self.add(gate, c, t)

    def run(self):
        psi = np.zeros((2,) * self.n, dtype=complex)
        psi[(0,) * self.n] = 1
        for gate, qubits in self.ops:
            k = len(qubits)
            psi = np.tensordot(gate, psi, axes=(range(k, 2 * k), qubits))
            psi = np.moveaxis(psi, range(k), qubits)
        return psi.ravel()


@program(lambda rng: (rng.uniform(0, 6, 3),))
def variational_circuit(angles):
    """Methods by __getattr__, tensordot and moveaxis with ranges."""
    c = Circuit(3).h(0).cnot(0, 1).cnot(1, 2)
    for q, a in enumerate(angles):
        c.h(q).rz(a, q).h(q)
    psi = c.t(0).run()
    p = np.abs(psi) ** 2
    top = sorted(range(len(p)), key=lambda k: (-round(p[k], 9), k))[:3]
    print(" ".join(f"|{k:03b}>:{p[k]:.3f}" for k in sorted(top)))
    entropy = -np.sum(p[p > 1e-12] * np.log2(p[p > 1e-12]))
    rho = np.outer(psi, psi.conj()).reshape((2,) * 6)
    reduced = np.einsum("abcdbc->ad", rho)
    return p, entropy, np.linalg.eigvalsh(reduced), psi[0]


@dataclass
class Chaos:
    order: int
    dim: int
    coefficients: np.ndarray = None

    @cached_property
    def multi_indices(self):
        return [a for a in itertools.product(range(self.order + 1), repeat=self.dim) if sum(a) <= self.order]

    def basis(self, xi):
        columns = []
        for alpha in self.multi_indices:
            col = np.ones(len(xi))
            for d, a in enumerate(alpha):
                col *= hermite_e.hermeval(xi[:, d], [0] * a + [1]) / math.sqrt(math.factorial(a))
            columns.append(col)
        return np.stack(columns, axis=1)

    def fit(self, xi, y):
        self.coefficients, res, rank, sv = np.linalg.lstsq(self.basis(xi), y, rcond=None)
        return rank

    def sobol(self):
        c2 = self.coefficients**2
        variance = c2[1:].sum()
        first = [
            sum(c for c, a in zip(c2, self.multi_indices) if a[d] > 0 and sum(a) == a[d]) / variance for d in range(self.dim)
        ]
        return self.coefficients[0], variance, first


@program(lambda rng: (rng.normal(size=(60, 2)),))
def polynomial_chaos(xi):
    """A cached property with a list of tuples, and sums over them under conditions."""
    y = np.exp(0.3 * xi[:, 0]) + 0.5 * xi[:, 1] ** 2
    model = Chaos(3, 2)
    rank = model.fit(xi, y)
    mean, variance, first = model.sobol()
    print(f"mean {mean:.4f} var {variance:.4f} S1 " + ", ".join(f"{s:.3f}" for s in first))
    return rank, mean, variance, first, model.coefficients


@program(lambda rng: (float(rng.uniform(3.5, 4.5)), 1.54))
def powder_pattern(a, wavelength):
    """Sums by a key that the indices decide, in a defaultdict and a Counter."""
    basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    lines = defaultdict(float)
    multiplicity = Counter()
    for hkl in itertools.product(range(-3, 4), repeat=3):
        n = sum(i * i for i in hkl)
        if n == 0:
            continue
        s = wavelength * math.sqrt(n) / (2 * a)
        if s >= 1:
            continue
        F = np.exp(2j * np.pi * (basis @ np.array(hkl))).sum()
        if abs(F) < 1e-8:
            continue
        theta = math.asin(s)
        lp = (1 + math.cos(2 * theta) ** 2) / (math.sin(theta) ** 2 * math.cos(theta))
        lines[n] += abs(F) ** 2 * lp
        multiplicity[n] += 1
    top = max(lines.values())
    return [(n, multiplicity[n], round(100 * lines[n] / top, 4)) for n in sorted(lines)]

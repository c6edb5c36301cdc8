"""Partial differential equations: finite differences, elements, spectra, with options, callbacks and boundary objects."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .registry import program


def upwind(u, c):
    return u - c * (u - np.roll(u, 1))


def lax_wendroff(u, c):
    left, right = np.roll(u, 1), np.roll(u, -1)
    return u - c / 2 * (right - left) + c**2 / 2 * (right - 2 * u + left)


def beam_warming(u, c):
    u1, u2 = np.roll(u, 1), np.roll(u, 2)
    return u - c / 2 * (3 * u - 4 * u1 + u2) + c**2 / 2 * (u - 2 * u1 + u2)


SCHEMES = {f.__name__: f for f in (upwind, lax_wendroff, beam_warming)}


@program(lambda rng: (40, rng.uniform(0.3, 0.9), rng.uniform(0.2, 0.6)))
def compare_schemes(n, courant, centre):
    """Functions are looked up by name; errors in a table; what is unknown raises."""
    x = np.arange(n) / n
    start = np.exp(-100 * (x - centre) ** 2) + ((x > 0.7) & (x < 0.8))
    table = {}
    for name in [*SCHEMES, "leapfrog"]:
        try:
            scheme = SCHEMES[name]
        except KeyError as missing:
            print("no scheme", missing)
            continue
        u = start.copy()
        tv = [np.abs(np.diff(u)).sum()]
        t = 0.0
        while t < 0.5 - 1e-12:
            c = min(courant, (0.5 - t) * n)
            u = scheme(u, c)
            t += c / n
            tv.append(np.abs(np.diff(u)).sum())
        table[name] = dict(l1=np.abs(u - np.roll(start, n // 2)).mean(), tv=max(tv) / tv[0], u=u)
        print(f"{name:>14}: L1 {table[name]['l1']:.4f} TV x{table[name]['tv']:.3f}")
    return table


@dataclass
class Boundary:
    kind: str
    value: float | Callable = 0.0

    def apply(self, u, where, dx, t):
        value = self.value(t) if callable(self.value) else self.value
        inner = 1 if where == 0 else -2
        if self.kind == "dirichlet":
            u[where] = value
        elif self.kind == "neumann":
            u[where] = u[inner] + dx * value
        elif self.kind == "robin":
            u[where] = (u[inner] + dx * value) / (1 + dx)
        else:
            raise ValueError(f"unknown boundary {self.kind!r}")


@program(lambda rng: (rng.uniform(0.5, 1.5, 30), rng.uniform(0, 1), 40))
def heat_with_boundaries(conductivity, value, steps):
    """Boundary objects, one with a function of time; snapshots in a dict with the step as key."""
    n = len(conductivity)
    dx = 1 / (n - 1)
    left, right = Boundary("dirichlet", lambda t: np.sin(20 * t)), Boundary("robin", value)
    u = np.zeros(n)
    face = 2 * conductivity[1:] * conductivity[:-1] / (conductivity[1:] + conductivity[:-1])
    dt = 0.4 * dx**2 / conductivity.max()
    snapshots = {}
    for step in range(steps):
        flux = face * np.diff(u) / dx
        u[1:-1] += dt * np.diff(flux) / dx
        left.apply(u, 0, dx, step * dt)
        right.apply(u, -1, dx, step * dt)
        if step % 10 == 9:
            snapshots[step + 1] = u.copy()
    try:
        Boundary("periodic").apply(u, 0, dx, 0)
    except ValueError as e:
        message = str(e)
    return u, snapshots, message


class Mesh(NamedTuple):
    nodes: np.ndarray
    triangles: np.ndarray

    @classmethod
    def rectangle(cls, nx, ny):
        x, y = np.meshgrid(np.linspace(0, 1, nx), np.linspace(0, 1, ny), indexing="ij")
        tri = []
        for i in range(nx - 1):
            for j in range(ny - 1):
                a = i * ny + j
                tri += [(a, a + ny, a + 1), (a + ny, a + ny + 1, a + 1)]
        return cls(np.c_[x.ravel(), y.ravel()], np.array(tri))

    def area(self, t):
        (x0, y0), (x1, y1), (x2, y2) = self.nodes[self.triangles[t]]
        return 0.5 * ((x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0))


@program(lambda rng: (6, 5, rng.uniform(1, 5)))
def triangles_of_a_membrane(nx, ny, load):
    """Finite elements with np.ix_, a mesh that is a NamedTuple with a classmethod."""
    mesh = Mesh.rectangle(nx, ny)
    n = len(mesh.nodes)
    K, F = np.zeros((n, n)), np.zeros(n)
    for t, tri in enumerate(mesh.triangles):
        area = mesh.area(t)
        xy = mesh.nodes[tri]
        B = np.array([xy[[1, 2, 0], 1] - xy[[2, 0, 1], 1], xy[[2, 0, 1], 0] - xy[[1, 2, 0], 0]]) / (2 * area)
        K[np.ix_(tri, tri)] += area * B.T @ B
        F[tri] += load * area / 3
    on_edge = (np.isclose(mesh.nodes, 0) | np.isclose(mesh.nodes, 1)).any(axis=1)
    free = np.flatnonzero(~on_edge)
    u = np.zeros(n)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], F[free])
    return u.reshape(nx, ny), u.max(), F.sum()

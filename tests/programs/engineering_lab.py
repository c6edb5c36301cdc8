"""Engineering: trusses, pipes, heat, control, circuits, with tables of parts, units and reports."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .registry import program


@dataclass(frozen=True)
class Bar:
    start: int
    end: int
    area: float = 1e-3
    modulus: float = 200e9

    def stiffness(self, nodes):
        d = nodes[self.end] - nodes[self.start]
        length = np.linalg.norm(d)
        c, s = d / length
        t = np.array([-c, -s, c, s])
        return self.modulus * self.area / length * np.outer(t, t), length, t

    @property
    def dofs(self):
        return np.array([2 * self.start, 2 * self.start + 1, 2 * self.end, 2 * self.end + 1])


@program(lambda rng: (rng.uniform(0.9, 1.1, (4, 2)), rng.uniform(-2e4, -1e4)))
def plane_truss(scatter, load):
    """Stiffness matrices of frozen dataclasses, assembled with np.ix_; forces by name."""
    nodes = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]) * scatter
    bars = [Bar(0, 1), Bar(1, 2), Bar(2, 3), Bar(0, 2, area=2e-3), Bar(1, 3)]
    K = np.zeros((8, 8))
    for bar in bars:
        k, _, _ = bar.stiffness(nodes)
        K[np.ix_(bar.dofs, bar.dofs)] += k
    free = np.setdiff1d(np.arange(8), [0, 1, 6, 7])
    f = np.zeros(8)
    f[3] = load
    u = np.zeros(8)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], f[free])
    forces = {}
    for i, bar in enumerate(bars):
        _, length, t = bar.stiffness(nodes)
        forces[f"bar {i}"] = bar.modulus * bar.area / length * (t @ u[bar.dofs])
    reactions = K @ u - f
    return u, forces, reactions[[0, 1, 6, 7]]


@program(lambda rng: (rng.uniform(0.5, 2.0), rng.uniform(1e4, 1e6), rng.uniform(1e-4, 1e-3)))
def pipe_friction(velocity, reynolds, roughness):
    """Colebrook's equation, with cases by Reynolds number and an exception that says what was wrong."""

    def friction_factor(re, eps, tolerance=1e-10):
        if re <= 0:
            raise ValueError(f"Reynolds number must be positive, got {re}")
        if re < 2300:
            return 64 / re
        f = 0.02
        for _ in range(100):
            new = (-2 * np.log10(eps / 3.7 + 2.51 / (re * np.sqrt(f)))) ** -2
            if abs(new - f) < tolerance:
                return new
            f = new
        raise RuntimeError("no convergence")

    factors = [friction_factor(re, roughness) for re in (1000.0, reynolds, 10 * reynolds)]
    try:
        friction_factor(-reynolds, roughness)
    except ValueError as error:
        message = str(error).split(",")[0]
    drop = [f * 100 / 0.1 * 1000 * velocity**2 / 2 for f in factors]
    return factors, drop, message


@program(lambda rng: (rng.uniform(0.5, 1.5, 7),))
def pipe_network(resistances):
    """Hardy Cross: loops of pipes as lists of tuples, corrected in turn."""
    flows = np.array([0.6, 0.4, 0.3, 0.3, 0.5, 0.1, 0.5])
    loops = [[(0, 1), (2, 1), (3, -1), (1, -1)], [(3, 1), (4, 1), (5, -1), (6, -1)]]
    for iteration in range(200):
        largest = 0.0
        for loop in loops:
            head = sum(sign * resistances[p] * flows[p] * abs(flows[p]) for p, sign in loop)
            slope = sum(2 * resistances[p] * abs(flows[p]) for p, sign in loop)
            correction = -head / slope
            for p, sign in loop:
                flows[p] += sign * correction
            largest = max(largest, abs(correction))
        if largest < 1e-10:
            break
    return flows, iteration


class Material(NamedTuple):
    name: str
    conductivity: float
    density: float
    heat: float

    @property
    def diffusivity(self):
        return self.conductivity / (self.density * self.heat)


MATERIALS = {
    "brick": Material("brick", 0.7, 1700.0, 800.0),
    "wool": Material("wool", 0.04, 60.0, 840.0),
    "plaster": Material("plaster", 0.5, 1200.0, 1000.0),
}


@program(lambda rng: ([("plaster", 0.02), ("brick", 0.2), ("wool", 0.1)], rng.uniform(-10, 5), rng.uniform(18, 24)))
def wall_of_layers(layers, outside, inside):
    """Heat through layers with harmonic means at the interfaces, until it is steady; the table is looked up by name."""
    cells = 8
    dx, k, c = [], [], []
    for name, thickness in layers:
        material = MATERIALS[name]
        dx += [thickness / cells] * cells
        k += [material.conductivity] * cells
        c += [material.density * material.heat] * cells
    dx, k, c = map(np.array, (dx, k, c))
    conductance = 1 / (dx[:-1] / (2 * k[:-1]) + dx[1:] / (2 * k[1:]))
    left, right = 2 * k[0] / dx[0], 2 * k[-1] / dx[-1]
    dt = 0.2 * min((d**2 / (2 * m.diffusivity) for d, m in zip(dx[::cells], [MATERIALS[n] for n, _ in layers])))
    T = np.full(len(dx), inside)
    for step in range(400):
        flux = np.concatenate([[left * (inside - T[0])], -conductance * np.diff(T), [right * (T[-1] - outside)]])
        T += dt * (flux[:-1] - flux[1:]) / (dx * c)
    u_value = 1 / sum(thickness / MATERIALS[name].conductivity for name, thickness in layers)
    return T, u_value, flux[0]


class PID:
    def __init__(self, kp, ki=0.0, kd=0.0, *, dt=0.1, limits=(-np.inf, np.inf)):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.dt = dt
        self.low, self.high = limits
        self.integral = 0.0
        self.previous = None

    def __call__(self, setpoint, measured):
        error = setpoint - measured
        derivative = 0.0 if self.previous is None else (error - self.previous) / self.dt
        candidate = self.integral + error * self.dt
        output = self.kp * error + self.ki * candidate + self.kd * derivative
        if self.low < output < self.high:
            self.integral = candidate
        self.previous = error
        return np.clip(output, self.low, self.high)


@program(lambda rng: (rng.uniform(0.5, 1.5), rng.normal(0, 0.02, 300)))
def temperature_control(setpoint, noise):
    """A callable object with None at first, an anti-windup branch, and a report of overshoot and settling."""
    controller = PID(4.0, ki=1.5, kd=0.3, limits=(0.0, 5.0))
    y, outputs = 0.0, np.empty(len(noise))
    for n, disturbance in enumerate(noise):
        u = controller(setpoint, y + disturbance)
        y += 0.1 * (-y + u) / 2
        outputs[n] = y
    overshoot = max(0.0, outputs.max() / setpoint - 1)
    outside = np.flatnonzero(np.abs(outputs - setpoint) > 0.05 * setpoint)
    settled = outside[-1] + 1 if outside.size else 0
    print(f"overshoot {100 * overshoot:.1f} %, settled after {settled * 0.1:.1f} s")
    return outputs, overshoot, settled


@program(lambda rng: (rng.uniform(100, 1000, 4), rng.uniform(1e-7, 1e-6, 2)))
def nodal_analysis(resistors, capacitors):
    """A netlist of tuples of several kinds, stamped into complex matrices for each frequency."""
    r1, r2, r3, r4 = resistors
    c1, c2 = capacitors
    netlist = [("V", 1, 0, 1.0), ("R", 1, 2, r1), ("C", 2, 0, c1), ("R", 2, 3, r2), ("C", 3, 0, c2), ("R", 3, 0, r3 + r4)]
    frequencies = np.logspace(1, 5, 9)
    gains = np.zeros(len(frequencies), dtype=complex)
    n = 1 + max(max(a, b) for _, a, b, _ in netlist)
    for k, w in enumerate(2 * np.pi * frequencies):
        A = np.zeros((n, n), dtype=complex)
        z = np.zeros(n, dtype=complex)
        for kind, a, b, value in netlist:
            if kind == "V":
                A[n - 1, a - 1] = A[a - 1, n - 1] = 1
                z[n - 1] = value
                continue
            admittance = 1 / value if kind == "R" else 1j * w * value
            for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
                if i and j:
                    A[i - 1, j - 1] += sign * admittance
        gains[k] = np.linalg.solve(A, z)[2]
    return 20 * np.log10(np.abs(gains)), np.degrees(np.unwrap(np.angle(gains)))


@program(lambda rng: (rng.uniform(20, 40), rng.uniform(80, 95), rng.uniform(1.0, 3.0)))
def heat_exchanger(cold_in, hot_in, ratio):
    """Bisection for the outlet, with a default that depends on another argument and a nested function."""

    def lmtd(dt1, dt2):
        if math.isclose(dt1, dt2, rel_tol=1e-9):
            return (dt1 + dt2) / 2
        return (dt1 - dt2) / math.log(dt1 / dt2)

    def outlet(ua, capacity=None):
        capacity = capacity or 2.0 * ratio

        def mismatch(hot_out):
            cold_out = cold_in + ratio * (hot_in - hot_out) / capacity
            if cold_out >= hot_in:
                return -1.0
            return ratio * (hot_in - hot_out) - ua * lmtd(hot_in - cold_out, hot_out - cold_in)

        low, high = cold_in + 1e-6, hot_in - 1e-6
        while high - low > 1e-8:
            middle = 0.5 * (low + high)
            if mismatch(middle) > 0:
                low = middle
            else:
                high = middle
        return 0.5 * (low + high)

    return [outlet(ua) for ua in (0.5, 1.0, 2.0)], outlet(1.0, capacity=5.0)


@program(lambda rng: (rng.uniform(0, 10, 6), rng.uniform(1, 5, 6), 51))
def beam_diagrams(places, loads, n):
    """Shear and moment by Macaulay brackets; extremes are reported with their places."""
    length = 10.0
    x = np.linspace(0, length, n)
    reaction_b = np.sum(loads * places) / length
    reaction_a = loads.sum() - reaction_b
    shear = np.full(n, reaction_a)
    moment = reaction_a * x
    for a, p in zip(places, loads):
        bracket = np.maximum(x - a, 0)
        shear -= p * (x >= a)
        moment -= p * bracket
    i = np.argmax(np.abs(moment))
    (zero,) = np.nonzero(np.diff(np.sign(shear)))
    table = np.column_stack([x, shear, moment])[:: n // 5]
    for row in table:
        print("{:6.2f} {:8.3f} {:8.3f}".format(*np.round(row, 3) + 0.0))
    return (x[i], moment[i]), x[zero], [reaction_a, reaction_b]


@program(lambda rng: (rng.uniform(-1, 1, (3, 3)), rng.uniform(0.5, 2, 3)))
def robot_arm(targets, lengths):
    """Forward kinematics of Denavit and Hartenberg, Jacobian by differences, damped least squares."""

    def transform(theta, d, a, alpha):
        ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]])

    def forward(q):
        T = np.eye(4)
        for theta, d, a, alpha in zip(q, [lengths[0], 0, 0], [0, lengths[1], lengths[2]], [np.pi / 2, 0, 0]):
            T = T @ transform(theta, d, a, alpha)
        return T[:3, 3]

    def jacobian(q, h=1e-6):
        return np.column_stack([(forward(q + h * e) - forward(q - h * e)) / (2 * h) for e in np.eye(3)])

    solutions, errors = [], []
    q = np.array([0.1, 0.4, 0.3])
    for target in targets:
        for _ in range(30):
            error = target - forward(q)
            if np.linalg.norm(error) < 1e-6:
                break
            J = jacobian(q)
            q = q + J.T @ np.linalg.solve(J @ J.T + 1e-2 * np.eye(3), error)
        solutions.append(q.copy())
        errors.append(np.linalg.norm(target - forward(q)))
    return np.array(solutions), np.round(errors, 4)

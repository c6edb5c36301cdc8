"""Engineering: controllers with state, estimators, circuits, power, robots, hydraulics, queues."""

import math
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from .registry import program


class Quaternion:
    __slots__ = ("q",)

    def __init__(self, w=1.0, x=0.0, y=0.0, z=0.0):
        self.q = np.array([w, x, y, z], dtype=float)

    def __mul__(self, other):
        w1, x1, y1, z1 = self.q
        w2, x2, y2, z2 = other.q
        return Quaternion(
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        )

    def conjugate(self):
        return Quaternion(*(self.q * [1, -1, -1, -1]))

    def normalized(self):
        return Quaternion(*(self.q / np.linalg.norm(self.q)))

    def rotate(self, v):
        return (self * Quaternion(0, *v) * self.conjugate()).q[1:]


@program(lambda rng: (rng.normal(0, 0.5, (40, 3)), rng.normal(0, 0.02, (40, 3)), 0.02))
def attitude_filter(gyro, noise, gain, dt=0.01):
    """Quaternions with operators and __slots__, which a loop replaces."""
    q = Quaternion()
    tilt = np.empty(len(gyro))
    for t, (w, e) in enumerate(zip(gyro, noise)):
        rate = Quaternion(0, *w)
        dq = (q * rate).q * 0.5
        q = Quaternion(*(q.q + dt * dq)).normalized()
        up = q.conjugate().rotate((0, 0, 1)) + e
        correction = np.cross(up, q.conjugate().rotate([0.0, 0.0, 1.0]))
        q = (q * Quaternion(1.0, *(-gain * correction))).normalized()
        tilt[t] = math.degrees(math.acos(min(1.0, max(-1.0, q.rotate((0, 0, 1))[2]))))
    return q.q, tilt


@dataclass
class Battery:
    capacity: float
    soc: float = 1.0
    temperature: float = 25.0
    log: list = field(default_factory=list)
    OCV: ClassVar[np.ndarray] = np.array([3.0, 3.4, 3.6, 3.7, 3.8, 4.0, 4.2])

    def voltage(self, current):
        ocv = np.interp(self.soc, np.linspace(0, 1, len(self.OCV)), self.OCV)
        r = 0.05 * (1 + 0.5 * (1 - self.soc)) * np.exp(-(self.temperature - 25) / 40)
        return ocv - current * r

    def step(self, current, dt):
        v = self.voltage(current)
        if v < 3.0:
            raise ArithmeticError(f"cut-off at {self.soc:.1%}")
        self.soc = min(1.0, self.soc - current * dt / (3600 * self.capacity))
        self.temperature += dt * (0.02 * current**2 - 0.001 * (self.temperature - 25))
        self.log.append(v)


@program(lambda rng: (rng.uniform(1.5, 3), rng.uniform(-2, 8, 80)))
def discharge(capacity, currents):
    """A dataclass with a ClassVar; an exception ends the loop, its text is printed; a copy with replace."""
    battery = Battery(capacity)
    for n, i in enumerate(currents):
        try:
            battery.step(i, 60.0)
        except ArithmeticError as reason:
            print(f"minute {n}: {reason}")
            break
    spare = replace(battery, soc=0.5, log=[])
    return battery.soc, battery.temperature, np.array(battery.log), spare.voltage(1.0)


class Elevator:
    def __init__(self, floors):
        self.floors = floors
        self.at, self.direction = 0, 1
        self.requests = set()
        self.served = []

    def call(self, floor):
        if not 0 <= floor < self.floors:
            raise ValueError(f"there is no floor {floor}")
        self.requests.add(int(floor))

    def move(self):
        if not self.requests:
            return False
        ahead = [f for f in self.requests if (f - self.at) * self.direction > 0]
        if self.at in self.requests:
            self.requests.remove(self.at)
            self.served.append(self.at)
        elif ahead:
            self.at += self.direction
        else:
            self.direction *= -1
        return True


@program(lambda rng: (rng.integers(0, 8, 10),))
def elevator(calls):
    """Sets of integers that values go into, while a method returns True."""
    lift = Elevator(8)
    steps = 0
    for c in calls:
        lift.call(c)
        for _ in range(2):
            lift.move()
            steps += 1
    while lift.move():
        steps += 1
        if steps > 500:
            raise RuntimeError("stuck")
    return steps, lift.served, lift.at


@contextmanager
def section(name, log):
    log.append(f"<{name}>")
    yield log
    log.append(f"</{name}>")


@program(lambda rng: (rng.uniform(0.01, 0.1, 20), rng.uniform(1, 5), 0.8))
def cooling_fins(radii, conductivity, efficiency):
    """A context manager of its own; np.select and np.piecewise; units in a dict."""
    log = []
    with section("fins", log):
        biot = efficiency * radii / conductivity
        regime = np.select([biot < 0.01, biot < 0.02], [0, 1], default=2)
        q = np.piecewise(biot, [biot < 0.01, biot >= 0.01], [lambda b: 100 * b, lambda b: 1 + 10 * np.sqrt(b)])
        with section("sum", log):
            total = q.sum()
            log.append(f"{total:.3f} W")
    counts = dict(zip(*(a.tolist() for a in np.unique(regime, return_counts=True))))
    return q, counts, log


@program(lambda rng: (rng.normal(0, 0.1, (30, 2)), 0.1, int(rng.integers(3, 7))))
def smith_predictor(noise, dt, delay):
    """A delay line in a deque with maxlen; two controllers in a dict."""
    results = {}
    for kind in ("plain", "smith"):
        line = deque([0.0] * delay, maxlen=delay)
        y = model = integral = 0.0
        out = []
        for w, v in noise:
            measured = y + 0.01 * v
            error = 1.0 - measured
            if kind == "smith":
                error -= model - line[0]
            integral += error * dt
            u = np.clip(1.5 * error + 0.8 * integral, -2, 2)
            delayed = line.popleft()
            line.append(u)
            y += dt * (-y + delayed + 0.05 * w)
            model += dt * (-model + u)
            out.append(y)
        results[kind] = np.array(out)
    overshoot = {name: max(0.0, y.max() - 1) for name, y in results.items()}
    return results, overshoot

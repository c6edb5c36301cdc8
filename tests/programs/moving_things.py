"""What moves: particles, customers, routes, epidemics, reactions, controllers, planets."""

import bisect
import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from .registry import program


class Particle:
    __slots__ = ("x", "v", "mass", "alive")

    def __init__(self, x, v, mass=1.0):
        self.x, self.v, self.mass, self.alive = x, v, mass, True

    @property
    def energy(self):
        return 0.5 * self.mass * float(self.v @ self.v)

    def step(self, dt, g=np.array([0.0, -9.81])):
        self.v = self.v + dt * g
        self.x = self.x + dt * self.v
        if self.x[1] < 0:
            self.x[1] = -self.x[1]
            self.v[1] *= -0.8
        if abs(self.x[0]) > 10:
            self.alive = False


class Emitter:
    def __init__(self, positions, velocities):
        self.particles = [Particle(x.copy(), v.copy(), 1 + i / 10) for i, (x, v) in enumerate(zip(positions, velocities))]

    def __iter__(self):
        return (p for p in self.particles if p.alive)

    def __len__(self):
        return sum(1 for _ in self)

    def run(self, steps, dt):
        log = []
        for _ in range(steps):
            for p in self:
                p.step(dt)
            log.append((len(self), sum(p.energy for p in self)))
        return log


@program(lambda rng: (rng.uniform(-9, 9, (6, 2)), rng.normal(0, 6, (6, 2))))
def emitter(positions, velocities):
    e = Emitter(positions, velocities)
    log = e.run(15, 0.05)
    return log, np.array([p.x for p in e.particles])


class Customer(NamedTuple):
    arrival: float
    service: float
    priority: int


class Server:
    def __init__(self, name):
        self.name = name
        self.free_at = 0.0
        self.served = 0
        self.busy = 0.0

    def serve(self, customer, now):
        start = max(now, self.free_at)
        self.free_at = start + customer.service
        self.busy += customer.service
        self.served += 1
        return start - customer.arrival


@program(lambda rng: (np.cumsum(rng.exponential(1.0, 20)), rng.exponential(1.8, 20), rng.integers(0, 3, 20)))
def bank_queue(arrivals, services, priorities):
    customers = [Customer(*c) for c in zip(arrivals.tolist(), services.tolist(), priorities.tolist())]
    servers = [Server(f"desk {i}") for i in range(2)]
    waits = defaultdict(list)
    for c in customers:
        server = min(servers, key=lambda s: s.free_at)
        waits[c.priority].append(server.serve(c, c.arrival))
    report = {p: (len(w), sum(w) / len(w), max(w)) for p, w in sorted(waits.items())}
    end = max(s.free_at for s in servers)
    return report, {s.name: (s.served, round(s.busy / end, 6)) for s in servers}


def haversine(p, q):
    (lat1, lon1), (lat2, lon2) = p, q
    a, b = map(math.radians, (lat1, lat2))
    d = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    return 6371 * 2 * math.asin(math.sqrt(d))


@program(lambda rng: ([(float(a), float(b)) for a, b in zip(rng.uniform(40, 55, 5), rng.uniform(-5, 20, 5))],))
def route(places):
    """Nearest neighbour, then two-opt, the length of the track and its box and bearing."""
    left = list(range(1, len(places)))
    tour = [0]
    while left:
        nearest = min(left, key=lambda i: haversine(places[tour[-1]], places[i]))
        left.remove(nearest)
        tour.append(nearest)

    def length(t):
        return sum(haversine(places[a], places[b]) for a, b in zip(t, t[1:] + t[:1]))

    improved = True
    while improved:
        improved = False
        for i in range(1, len(tour) - 1):
            for j in range(i + 1, len(tour)):
                new = tour[:i] + tour[i : j + 1][::-1] + tour[j + 1 :]
                if length(new) < length(tour) - 1e-9:
                    tour = new
                    improved = True
    lats, lons = zip(*places)
    return tour, length(tour), (min(lats), min(lons), max(lats), max(lons))


@program(lambda rng: (rng.integers(0, 2**16, 5), rng.uniform(-85, 85, 5), rng.uniform(-180, 180, 5)))
def tiles(codes, lat, lon):
    """Morton codes, web tiles, geohash."""

    def geohash(a, b, n=6):
        box = {"lat": [-90.0, 90.0], "lon": [-180.0, 180.0]}
        bits, text, even = 0, "", True
        value = 0
        while len(text) < n:
            name, x = ("lon", b) if even else ("lat", a)
            mid = sum(box[name]) / 2
            if x > mid:
                value = value * 2 + 1
                box[name][0] = mid
            else:
                value *= 2
                box[name][1] = mid
            even = not even
            bits += 1
            if bits == 5:
                text += "0123456789bcdefghjkmnpqrstuvwxyz"[value]
                bits = value = 0
        return text

    def part(n):
        n &= 0x5555
        n = (n ^ (n >> 1)) & 0x3333
        n = (n ^ (n >> 2)) & 0x0F0F
        return (n ^ (n >> 4)) & 0x00FF

    z = 7
    x = np.floor((lon + 180) / 360 * 2**z).astype(int)
    y = np.floor((1 - np.arcsinh(np.tan(np.radians(lat))) / np.pi) / 2 * 2**z).astype(int)
    quad = ["".join(str((int(b) >> i & 1) * 2 + (int(a) >> i & 1)) for i in reversed(range(z))) for a, b in zip(x, y)]
    return [geohash(float(a), float(b)) for a, b in zip(lat, lon)], part(codes), part(codes >> 1), quad


class Health(IntEnum):
    S = 0
    E = 1
    I = 2
    R = 3


@dataclass
class Person:
    id: int
    health: Health = Health.S
    days: int = 0
    friends: list = field(default_factory=list)


@program(lambda rng: (rng.integers(0, 6, (8, 2)), rng.random((6, 6))))
def epidemic(edges, draws):
    people = [Person(i) for i in range(draws.shape[1])]
    for a, b in edges:
        if a != b:
            people[a].friends.append(int(b))
            people[b].friends.append(int(a))
    people[0].health = Health.I
    curve = []
    for day in range(len(draws)):
        newly = []
        for p in people:
            if p.health is Health.S:
                exposure = sum(people[f].health is Health.I for f in p.friends)
                if draws[day, p.id] < 1 - 0.6**exposure:
                    newly.append(p)
            elif p.health in (Health.E, Health.I):
                p.days += 1
                if p.days >= 3:
                    p.health = Health(p.health + 1)
                    p.days = 0
        for p in newly:
            p.health = Health.E
        curve.append([sum(p.health == h for p in people) for h in Health])
    return curve


@program(lambda rng: ({"A": 100, "B": 60, "AB": 0}, rng.random((80, 2))))
def gillespie(counts, draws):
    reactions = [
        ({"A": 1, "B": 1}, {"AB": 1}, 0.01),
        ({"AB": 1}, {"A": 1, "B": 1}, 0.1),
        ({"A": 1}, {}, 0.02),
    ]
    t, trace = 0.0, []
    for r1, r2 in draws:
        rates = []
        for before, _, k in reactions:
            a = k
            for name, n in before.items():
                a *= counts[name]
            rates.append(a)
        total = sum(rates)
        if total == 0:
            break
        t += -math.log(r1) / total
        pick = r2 * total
        chosen = bisect.bisect_left(list(itertools.accumulate(rates)), pick)
        before, after, _ = reactions[chosen]
        for name, n in before.items():
            counts[name] -= n
        for name, n in after.items():
            counts[name] += n
        trace.append((t, counts["A"], counts["AB"]))
    return trace[-1], counts, Counter(a for _, a, _ in trace).most_common(1)


class PID:
    def __init__(self, kp, ki, kd, limits=(-10, 10)):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.limits = limits
        self._integral = 0
        self._last = None

    def __call__(self, error, dt):
        derivative = 0 if self._last is None else (error - self._last) / dt
        self._integral += error * dt
        self._last = error
        u = self.kp * error + self.ki * self._integral + self.kd * derivative
        lo, hi = self.limits
        if lo is not None and u < lo:
            self._integral -= error * dt
            u = lo
        elif hi is not None and u > hi:
            self._integral -= error * dt
            u = hi
        return u


@program(lambda rng: (rng.uniform(15, 25), rng.normal(0, 0.1, 60)))
def thermostat(target, noise):
    pid = PID(2.0, 0.5, 0.1, (0, None))
    room = {"temperature": 10.0, "heater": 0.0}
    log = []
    for i, e in enumerate(noise):
        u = pid(target - (room["temperature"] + e), 0.5)
        room["heater"] += 0.5 * (min(u, 8.0) - room["heater"]) / 2
        room["temperature"] += 0.5 * (room["heater"] - 0.1 * (room["temperature"] - 5))
        log.append({"t": i * 0.5, **room})
    settled = next((row["t"] for row in log if abs(row["temperature"] - target) < 0.5), None)
    return settled, max(r["temperature"] for r in log) - target, log[-1]


@program(lambda rng: (rng.uniform(0, 0.9, 4), rng.uniform(0, 6, 4)))
def kepler(eccentricities, anomalies):
    def solve(M, e, tolerance=1e-12):
        E = M if e < 0.8 else math.pi
        for iteration in itertools.count():
            dE = (E - e * math.sin(E) - M) / (1 - e * math.cos(E))
            E -= dE
            if abs(dE) < tolerance:
                return E, iteration
            if iteration > 50:
                raise ArithmeticError("no convergence")

    rows = []
    for e, M in zip(eccentricities, anomalies):
        E, n = solve(M, e)
        nu = 2 * math.atan2(math.sqrt(1 + e) * math.sin(E / 2), math.sqrt(1 - e) * math.cos(E / 2))
        rows.append((E, nu % (2 * math.pi), 1 - e * math.cos(E), n))
    return rows


def julian(year, month, day):
    if month <= 2:
        year, month = year - 1, month + 12
    a = year // 100
    return int(365.25 * (year + 4716)) + int(30.6001 * (month + 1)) + day + 2 - a + a // 4 - 1524.5


@program(lambda rng: (int(rng.integers(1990, 2030)), int(rng.integers(1, 13)), int(rng.integers(1, 28))))
def moon_and_easter(year, month, day):
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    f = (b + 8) // 25
    g = (b - f + 1) // 3
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    l = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * l) // 451
    em, ed = divmod(h + l - 7 * m + 114, 31)
    phase = (julian(year, month, day) - 2451550.1) / 29.530588853 % 1
    names = [
        "new",
        "waxing crescent",
        "first quarter",
        "waxing gibbous",
        "full",
        "waning gibbous",
        "last quarter",
        "waning crescent",
    ]
    weekday = "Mon Tue Wed Thu Fri Sat Sun".split()[int(julian(year, month, day) + 0.5) % 7]
    return (em, ed + 1), names[int(phase * 8 + 0.5) % 8], weekday, f"{year:04d}-{month:02d}-{day:02d}"


@program(lambda rng: (rng.uniform(size=(3, 2)), rng.normal(0, 0.1, size=(3, 2))))
def boids_classes(positions, velocities):
    class Boid:
        def __init__(self, p, v):
            self.p, self.v = p, v

        def neighbours(self, flock, r=0.4):
            return [b for b in flock if b is not self and np.hypot(*(b.p - self.p)) < r]

    flock = [Boid(p.copy(), v.copy()) for p, v in zip(positions, velocities)]
    for _ in range(3):
        forces = []
        for b in flock:
            near = b.neighbours(flock)
            f = np.zeros(2)
            if near:
                f += 0.1 * (np.mean([n.p for n in near], axis=0) - b.p)
                f += 0.2 * (np.mean([n.v for n in near], axis=0) - b.v)
            forces.append(f)
        for b, f in zip(flock, forces):
            b.v = b.v + f
            b.p = (b.p + b.v) % 1.0
    return [b.p for b in flock], np.linalg.norm([b.v for b in flock], axis=1)

"""Programs of scientists: finite structures, filters, chains, tables, queues, as lecture notes and papers' code have them."""

import bisect
import heapq
import itertools
import math
import random
import statistics
from collections import defaultdict, deque, namedtuple
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from io import StringIO

import numpy as np

from .registry import program


@dataclass
class System:
    pos: np.ndarray
    vel: np.ndarray
    box: float
    cutoff: float = 2.5
    skin: float = 0.3
    step_count: int = 0
    log: list = field(default_factory=list)
    pairs: np.ndarray = None
    ref: np.ndarray = None

    def build(self):
        d = self.pos[:, None, :] - self.pos[None, :, :]
        d -= self.box * np.round(d / self.box)
        r2 = np.einsum("ijk,ijk->ij", d, d)
        i, j = np.triu_indices(len(self.pos), k=1)
        mask = r2[i, j] < (self.cutoff + self.skin) ** 2
        self.pairs = np.stack([i[mask], j[mask]])
        self.ref = self.pos.copy()

    def needs_rebuild(self):
        if self.pairs is None:
            return True
        moved = self.pos - self.ref
        moved -= self.box * np.round(moved / self.box)
        return np.max(np.linalg.norm(moved, axis=1)) > self.skin / 2

    def forces(self):
        i, j = self.pairs
        d = self.pos[i] - self.pos[j]
        d -= self.box * np.rint(d / self.box)
        r2 = (d**2).sum(1)
        inside = r2 < self.cutoff**2
        inv6 = np.where(inside, 1.0 / r2**3, 0.0)
        f = (48 * inv6 * (inv6 - 0.5) / r2)[:, None] * d
        F = np.zeros_like(self.pos)
        np.add.at(F, i, f)
        np.subtract.at(F, j, f)
        return F, float(np.sum(4 * inv6 * (inv6 - 1)))


@program(
    lambda rng: (
        np.stack(np.meshgrid(*[np.arange(3) * 1.3] * 3), -1).reshape(-1, 3) + rng.normal(0, 0.05, (27, 3)),
        rng.normal(0, 1, (27, 3)),
        0.004,
        20,
    )
)
def verlet_neighbours(pos, vel, dt, nsteps):
    """Forces of the pairs that a list of neighbours has, added where they belong, by an object with state."""
    system = System(pos.copy(), vel - vel.mean(axis=0), box=3.9, cutoff=1.9)
    system.build()
    F, pe = system.forces()
    rebuilds = 1
    for step in range(nsteps):
        system.vel += 0.5 * dt * F
        system.pos = (system.pos + dt * system.vel) % system.box
        if system.needs_rebuild():
            system.build()
            rebuilds += 1
        F, pe = system.forces()
        system.vel += 0.5 * dt * F
        system.step_count += 1
        if step % 5 == 0:
            ke = 0.5 * np.sum(system.vel**2)
            system.log.append((step, ke, pe, ke + pe))
    return system.pos, np.array(system.log), rebuilds, system.step_count


TABLE = """# station, year, temp
A, 2001, 12.5
B, 2001, 9.75
A, 2002, 13.0
C, 2002, 4.5
B, 2002, nan
C, 2003, 5.25
A, 2003, 12.0
"""


@program(lambda rng: (rng.uniform(-1, 1),))
def station_table(offset):
    """Lines of a table, grouped by a name that is a text of NumPy's."""
    names = []
    rows = []
    for line in StringIO(TABLE):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, year, temp = (s.strip() for s in line.split(","))
        names.append(name)
        rows.append((int(year), float(temp)))
    data = np.array(rows)
    names = np.array(names)
    temps = data[:, 1] + offset
    result = {}
    for name in np.unique(names):
        sel = temps[names == name]
        good = sel[~np.isnan(sel)]
        result[str(name)] = (good.mean(), good.std(ddof=1) if good.size > 1 else 0.0)
        print(f"{name:>4s} {good.mean():8.3f} ± {result[str(name)][1]:.2f} ({good.size}/{sel.size})")
    hottest = max(result, key=lambda k: result[k][0])
    return result, hottest


@program(lambda rng: (np.arange("2021-01-01", "2021-07-01", dtype="datetime64[D]"), rng.normal(10, 3, 181)))
def monthly_means(dates, values):
    """Days grouped by months, and what belongs to each."""
    months = dates.astype("datetime64[M]")
    uniq, inverse = np.unique(months, return_inverse=True)
    sums = np.bincount(inverse, weights=values)
    counts = np.bincount(inverse)
    means = sums / counts
    weekday = (dates.astype("datetime64[D]").view("int64") - 4) % 7
    weekend = np.isin(weekday, [5, 6])
    for m, v in zip(uniq, means):
        print(m, f"{v:.2f}")
    return uniq, means, values[weekend].mean(), (dates[1:] - dates[:-1]).max()


@program(lambda rng: ([(int(a), int(b)) for a, b in rng.integers(0, 9, (25, 2)) if a != b][:15], 0.85))
def pagerank_from_edges(edges, damping):
    """A graph of dicts of sets, and an iteration by a count without end."""
    out = defaultdict(set)
    nodes = set()
    for a, b in edges:
        out[a].add(b)
        nodes |= {a, b}
    order = sorted(nodes)
    index = {node: i for i, node in enumerate(order)}
    n = len(order)
    M = np.zeros((n, n))
    for a in order:
        if out[a]:
            for b in out[a]:
                M[index[b], index[a]] = 1 / len(out[a])
        else:
            M[:, index[a]] = 1 / n
    r = np.full(n, 1 / n)
    for k in itertools.count():
        new = damping * M @ r + (1 - damping) / n
        delta = np.abs(new - r).sum()
        r = new
        if delta < 1e-12:
            break
    ranking = sorted(zip(order, r), key=lambda p: (-round(p[1], 10), p[0]))
    return ranking, k


class Poly:
    def __init__(self, coeffs):
        c = np.trim_zeros(np.atleast_1d(np.asarray(coeffs, dtype=float)), "b")
        self.c = c if c.size else np.zeros(1)

    def __add__(self, o):
        o = o if isinstance(o, Poly) else Poly([o])
        n = max(len(self.c), len(o.c))
        return Poly(np.pad(self.c, (0, n - len(self.c))) + np.pad(o.c, (0, n - len(o.c))))

    def __mul__(self, o):
        return Poly(np.convolve(self.c, o.c)) if isinstance(o, Poly) else Poly(self.c * o)

    def __call__(self, x):
        r = np.zeros_like(np.asarray(x, dtype=float))
        for a in self.c[::-1]:
            r = r * x + a
        return r

    def deriv(self):
        return Poly(self.c[1:] * np.arange(1, len(self.c)))

    def __len__(self):
        return len(self.c)


@program(lambda rng: (rng.normal(size=4), rng.normal(size=3), np.linspace(-1, 1, 9)))
def polynomial_algebra(a, b, x):
    """A class with operators, whose arrays are as long as their contents say."""
    p, q = Poly(a), Poly(b)
    s = p * q + 1.0
    d = s.deriv()
    lhs = d(x)
    rhs = (p.deriv() * q)(x) + (p * q.deriv())(x)
    xn = 0.1
    for _ in range(20):
        dv = d(xn)
        if abs(dv) < 1e-12:
            break
        xn = xn - float(s(xn)) / float(dv)
    return len(s), np.allclose(lhs, rhs), s.c, s(x)


@program(lambda rng: (int(rng.integers(100)), 0.8, 60))
def mm1_queue(seed, rho, n):
    """Random numbers of Python's, a heap, and averages of `statistics`."""
    rnd = random.Random(seed)
    t = 0.0
    free_at = 0.0
    waits = []
    events = []
    for i in range(n):
        t += rnd.expovariate(rho)
        start = max(t, free_at)
        waits.append(start - t)
        free_at = start + rnd.expovariate(1.0)
        heapq.heappush(events, (free_at, i))
    ordered = [heapq.heappop(events)[1] for _ in range(len(events))]
    s = sorted(waits)
    k = bisect.bisect_left(s, 1.0)
    return statistics.fmean(waits), statistics.median(waits), k, ordered[:5], max(waits)


OdeResult = namedtuple("OdeResult", "t y nfev status message")


def solve_ivp_like(f, t_span, y0, rtol=1e-6, atol=1e-9, event=None, max_step=np.inf):
    C = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1])
    A = [
        [],
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    ]
    B = np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84])
    E = np.array([-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40])
    t, tf = t_span
    y = np.asarray(y0, dtype=float)
    h = 0.01
    ts, ys, nfev = [t], [y], 0
    g_old = event(t, y) if event else None
    status, message = 0, "reached end"
    K = np.empty((7, len(y)))
    f0 = f(t, y)
    while t < tf:
        h = min(h, max_step, tf - t)
        K[0] = f0
        for s in range(1, 6):
            dy = np.dot(K[:s].T, A[s]) * h
            K[s] = f(t + C[s] * h, y + dy)
        ynew = y + h * np.dot(K[:-1].T, B)
        fnew = f(t + h, ynew)
        K[-1] = fnew
        nfev += 6
        scale = atol + np.maximum(np.abs(y), np.abs(ynew)) * rtol
        err = np.linalg.norm(np.dot(K.T, E) * h / scale) / len(scale) ** 0.5
        if err < 1:
            t = t + h
            y, f0 = ynew, fnew
            ts.append(t)
            ys.append(y)
            if event:
                g = event(t, y)
                if g_old > 0 >= g:
                    status, message = 1, "event"
                    break
                g_old = g
            factor = 10 if err == 0 else min(10, 0.9 * err**-0.2)
        else:
            factor = max(0.2, 0.9 * err**-0.2)
        h *= factor
    return OdeResult(np.array(ts), np.vstack(ys).T, nfev, status, message)


@program(lambda rng: (rng.uniform(5, 15), rng.uniform(10, 30), 0.1))
def projectile_with_drag(vx, vy, drag):
    """An integrator with an embedded error estimate and an event that ends it."""

    def rhs(t, y):
        v = np.hypot(y[2], y[3])
        return np.array([y[2], y[3], -drag * v * y[2], -9.81 - drag * v * y[3]])

    sol = solve_ivp_like(rhs, (0.0, 10.0), [0.0, 0.0, vx, vy], event=lambda t, y: y[1] if t > 0.02 else 1.0)
    print(f"{sol.message}: t={sol.t[-1]:.4f}, range={sol.y[0, -1]:.3f}, steps={len(sol.t)}")
    return sol.t[-1], sol.y[:, -1], sol.nfev, sol.status, sol.y[1].max()


@program(lambda rng: (rng.normal(size=12), rng.integers(0, 4, 12), np.array([0, 3, 4, 9])))
def ufunc_tour(x, g, cuts):
    """Methods of ufuncs, and an iterator over elements with its places."""
    tot = np.add.reduceat(x, cuts)
    mx = np.maximum.reduceat(x, cuts)
    acc = np.multiply.accumulate(1 + 0.1 * x)
    run = np.minimum.accumulate(x[::-1])[::-1]
    out = np.full(4, -np.inf)
    np.maximum.at(out, g, x)
    tab = np.subtract.outer(x[:3], x[3:6])
    res = np.zeros(12)
    np.sqrt(x, out=res, where=x > 0)
    m, e = np.frexp(x)
    q, r_ = np.divmod(x, 0.3)
    s = np.logaddexp.reduce(x)
    hyp = reduce(np.hypot, x)
    it = np.nditer(x, flags=["f_index"])
    pos = [(it.index, float(v)) for v in it if v > 1]
    frac, whole = np.modf(x)
    bits = np.bitwise_xor.reduce(g)
    return (
        tot,
        mx,
        acc,
        run,
        out,
        tab,
        res,
        (m * 2.0**e == x).all(),
        q,
        r_,
        s,
        hyp,
        pos,
        whole,
        bits,
        np.heaviside(x, 0.5),
        np.copysign(1, x),
    )


def dwt(x, level):
    if level == 0 or len(x) < 2:
        return [x]
    even, odd = x[::2], x[1::2]
    d = odd - even
    s = even + d / 2
    return dwt(s, level - 1) + [d]


def idwt(parts):
    s = parts[0]
    for d in parts[1:]:
        even = s - d / 2
        odd = even + d
        out = np.empty(2 * len(d))
        out[::2], out[1::2] = even, odd
        s = out
    return s


@program(lambda rng: (np.cumsum(rng.normal(size=64)), 4))
def lifting_denoise(x, level):
    """Recursion that makes arrays of different sizes, to a depth that is an argument."""
    parts = dwt(x, level)
    sigma = np.median(np.abs(parts[-1])) / 0.6745
    thr = sigma * np.sqrt(2 * np.log(x.size))
    den = [parts[0]] + [np.sign(d) * np.maximum(np.abs(d) - thr, 0) for d in parts[1:]]
    kept = sum(int(np.count_nonzero(d)) for d in den[1:])
    assert np.allclose(idwt(parts), x)
    return idwt(den), kept, [p.shape for p in parts]


@program(lambda rng: (rng.uniform(0, 40000, 25),))
def standard_atmosphere(h):
    """Functions by pieces, names of layers, and how often each occurs."""
    h = np.sort(h)
    T = np.piecewise(
        h,
        [h < 11000, (h >= 11000) & (h < 20000), h >= 20000],
        [lambda h: 288.15 - 0.0065 * h, 216.65, lambda h: 216.65 + 0.001 * (h - 20000)],
    )
    p11 = 101325 * (216.65 / 288.15) ** 5.25588
    p20 = p11 * np.exp(-9.80665 * 9000 / (287.053 * 216.65))
    p = np.select(
        [h < 11000, h < 20000],
        [101325 * (T / 288.15) ** 5.25588, p11 * np.exp(-9.80665 * (h - 11000) / (287.053 * 216.65))],
        default=p20 * (T / 216.65) ** -34.1632,
    )
    rho = p / (287.053 * T)
    layer = np.array(["troposphere", "tropopause", "stratosphere"])[np.searchsorted([11000, 20000], h, side="right")]
    names, counts = np.unique(layer, return_counts=True)
    for nm, c in zip(names, counts):
        print(f"{nm:15s}{c}")
    mid = np.interp(5000.0, h, rho)
    return T, p, rho, mid, dict(zip(names.tolist(), counts.tolist()))


@dataclass(order=True)
class Event:
    time: float
    kind: str = field(compare=False)
    index: int = field(compare=False)


@program(lambda rng: (rng.exponential(1.0, 12), rng.exponential(0.7, 12), 2))
def repair_shop(gaps, durations, servers):
    """A heap of events that are ordered dataclasses."""
    arrivals = np.cumsum(gaps)
    queue = [Event(t, "arrive", i) for i, t in enumerate(arrivals)]
    heapq.heapify(queue)
    waiting = deque()
    free = servers
    log = []
    waits = np.zeros(len(gaps))
    while queue:
        ev = heapq.heappop(queue)
        if ev.kind == "arrive":
            waiting.append((ev.index, ev.time))
        else:
            free += 1
        while free and waiting:
            i, t = waiting.popleft()
            waits[i] = ev.time - t
            free -= 1
            heapq.heappush(queue, Event(ev.time + durations[i], "depart", i))
        log.append((round(float(ev.time), 6), ev.kind, len(waiting)))
    return waits, log, max(n for _, _, n in log)


@contextmanager
def scaled(obj, factor):
    old = obj.scale
    obj.scale = old * factor
    try:
        yield obj
    finally:
        obj.scale = old


class Detector:
    def __init__(self, gain):
        self.scale = gain
        self.readings = []

    def read(self, x):
        v = self.scale * x
        if np.abs(v).max() > 5:
            raise OverflowError("saturated")
        self.readings.append(v.mean())
        return v


@program(lambda rng: (rng.normal(size=(6, 4)), rng.uniform(0.5, 1.5)))
def detector_runs(data, gain):
    """A manager made of a generator, in rounds that may raise."""
    det = Detector(gain)
    saturated = 0
    for row in data:
        try:
            with scaled(det, 3.0) as d:
                d.read(row)
        except OverflowError:
            saturated += 1
            det.read(np.clip(row, -1, 1))
    with np.printoptions(precision=3, suppress=True):
        print(np.array(det.readings))
    return saturated, det.scale, det.readings


@program(lambda rng: (rng.normal(0, 0.05, (12, 2)), rng.uniform(-5, 5, (3, 2))))
def ekf_slam(noise, landmarks):
    """A state that grows as landmarks are seen."""
    x = np.zeros(3)
    P = np.zeros((3, 3))
    index = {}
    for k, (n1, n2) in enumerate(noise):
        v, w = 1.0 + n1, 0.3 + n2
        th = x[2]
        x[:3] += [v * np.cos(th), v * np.sin(th), w]
        F = np.eye(len(x))
        F[0, 2], F[1, 2] = -v * np.sin(th), v * np.cos(th)
        P = F @ P @ F.T
        P[:3, :3] += np.diag([0.01, 0.01, 0.005])
        j = k % 3
        dx, dy = landmarks[j] - x[:2]
        z = np.array([np.hypot(dx, dy), np.arctan2(dy, dx) - x[2]]) + noise[k]
        if j not in index:
            index[j] = len(x)
            x = np.append(x, x[:2] + z[0] * np.array([np.cos(z[1] + x[2]), np.sin(z[1] + x[2])]))
            P = np.pad(P, ((0, 2), (0, 2)))
            P[-2:, -2:] = np.eye(2)
            continue
        i = index[j]
        d = x[i : i + 2] - x[:2]
        q = d @ d
        r = np.sqrt(q)
        zhat = np.array([r, np.arctan2(d[1], d[0]) - x[2]])
        H = np.zeros((2, len(x)))
        H[:, :3] = [[-d[0] / r, -d[1] / r, 0], [d[1] / q, -d[0] / q, -1]]
        H[:, i : i + 2] = [[d[0] / r, d[1] / r], [-d[1] / q, d[0] / q]]
        S = H @ P @ H.T + 0.1 * np.eye(2)
        K = np.linalg.solve(S, H @ P).T
        innov = z - zhat
        innov[1] = (innov[1] + np.pi) % (2 * np.pi) - np.pi
        x = x + K @ innov
        P = (np.eye(len(x)) - K @ H) @ P
    return x, np.sqrt(np.diag(P)), list(index.items())


class Sampler:
    def __init__(self, logp, rng, step):
        self.logp, self.rng, self.step = logp, rng, step
        self.accepted = 0
        self.chain = []

    def run(self, x0, n):
        x, lp = x0, self.logp(x0)
        for i in range(n):
            prop = x + self.step * self.rng.standard_normal(x.shape)
            lpp = self.logp(prop)
            if math.log(self.rng.random()) < lpp - lp:
                x, lp = prop, lpp
                self.accepted += 1
            if i % 50 == 49:
                rate = self.accepted / (i + 1)
                self.step *= 1.1 if rate > 0.3 else 0.9
            self.chain.append(x)
        return np.array(self.chain)


@program(lambda rng: (np.array([1.0, -1.0]), int(rng.integers(100)), 200))
def gelman_rubin(mu, seed, n):
    """Chains of an object, each with a generator made of a child of the seed."""

    def logp(x):
        return -0.5 * np.sum((x - mu) ** 2) - 0.1 * x[0] ** 4

    chains = []
    for c, child in enumerate(np.random.SeedSequence(seed).spawn(3)):
        s = Sampler(logp, np.random.default_rng(child), 0.8)
        chains.append(s.run(np.full(2, float(c)), n)[n // 2 :])
    A = np.stack(chains)
    m = A.mean(axis=1)
    W = A.var(axis=1, ddof=1).mean(axis=0)
    B = m.var(axis=0, ddof=1)
    rhat = np.sqrt(((A.shape[1] - 1) / A.shape[1] * W + B) / W)
    return rhat, A.mean(axis=(0, 1)), np.quantile(A, [0.05, 0.95], axis=(0, 1))

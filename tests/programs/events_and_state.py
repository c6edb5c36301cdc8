"""Worlds with state in classes, events in heaps, results in dataclasses, errors of the user's own, and tables of dicts."""

import heapq
import itertools
import math
import statistics
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from .registry import program

rng0 = np.random.default_rng(42)
HOURS = np.arange(24)
BASE_LOAD = 50 + 20 * np.sin((HOURS - 6) / 24 * 2 * np.pi)
TARIFF = np.where((HOURS >= 17) & (HOURS < 21), 0.30, 0.12)
CAPACITY, POWER, EFFICIENCY = 40.0, 10.0, 0.92


def solar(cloud):
    sun = np.clip(np.sin((HOURS - 6) / 12 * np.pi), 0, None)
    return 35 * sun * (1 - 0.7 * cloud)


def run_battery(net):
    soc, trace, imports = CAPACITY / 2, [], np.zeros(24)
    for h in HOURS:
        if net[h] < 0:
            charge = min(-net[h], POWER, (CAPACITY - soc) / EFFICIENCY)
            soc += charge * EFFICIENCY
            imports[h] = net[h] + charge
        elif TARIFF[h] > 0.2:
            discharge = min(net[h], POWER, soc)
            soc -= discharge
            imports[h] = net[h] - discharge
        else:
            imports[h] = net[h]
        trace.append(soc)
    return np.array(trace), imports


def monthly_bill(imports):
    cost = (np.maximum(imports, 0) * TARIFF).sum() - 0.05 * np.maximum(-imports, 0).sum()
    return round(float(cost), 2)


@program(lambda rng, n=10: (rng.random(n), rng.normal(0, 3, (n, 24))))
def house_battery(clouds, noise):
    bills = {"with": [], "without": []}
    for cloud, wiggle in zip(clouds, noise):
        net = BASE_LOAD + wiggle - solar(cloud)
        soc, imports = run_battery(net)
        bills["with"].append(monthly_bill(imports))
        bills["without"].append(monthly_bill(net))
    saved = [round(b - a, 2) for a, b in zip(bills["with"], bills["without"])]
    best = max(range(len(saved)), key=saved.__getitem__)
    print(f"saved {sum(saved):.2f} in {len(saved)} days, best day {best}: {saved[best]:6.2f}")
    return saved, np.mean(bills["with"]), soc


class MD:
    def __init__(self, n_side, density, dt=0.004, seed=0):
        self.n = n_side**2
        self.L = math.sqrt(self.n / density)
        grid = (np.arange(n_side) + 0.5) * self.L / n_side
        self.x = np.array([(a, b) for a in grid for b in grid])
        rs = np.random.RandomState(seed)
        self.v = rs.randn(self.n, 2)
        self.v -= self.v.mean(axis=0)
        self.dt = dt
        self.f, self.pot = self.forces()
        self.log = defaultdict(list)

    def forces(self):
        f = np.zeros_like(self.x)
        pot = 0.0
        for i in range(self.n - 1):
            d = self.x[i + 1 :] - self.x[i]
            d -= self.L * np.round(d / self.L)
            r2 = np.einsum("ij,ij->i", d, d)
            near = r2 < 6.25
            inv6 = 1 / r2[near] ** 3
            pot += 4 * np.sum(inv6 * (inv6 - 1))
            g = (24 * inv6 * (2 * inv6 - 1) / r2[near])[:, None] * d[near]
            f[i] -= g.sum(axis=0)
            f[i + 1 :][near] += g
        return f, pot

    @property
    def kinetic(self):
        return 0.5 * (self.v**2).sum()

    def step(self):
        self.v += 0.5 * self.dt * self.f
        self.x = (self.x + self.dt * self.v) % self.L
        self.f, self.pot = self.forces()
        self.v += 0.5 * self.dt * self.f

    def run(self, steps, every=5, target=None):
        for s in range(steps):
            self.step()
            if target is not None and s % every == 0:
                self.v *= np.sqrt(target * self.n / self.kinetic)
            if s % every == 0:
                self.log["E"].append(self.kinetic + self.pot)
                self.log["T"].append(self.kinetic / self.n)
        return self


@program(lambda rng, n=12: (n, float(rng.uniform(0.3, 0.5))))
def lennard_jones_in_a_class(steps, density):
    md = MD(4, density).run(steps, target=1.0)
    md.run(steps)
    return dict(md.log), md.x, md.v


Event = namedtuple("Event", "time order kind who")


@program(lambda rng, n=25: (n, float(rng.uniform(0.6, 1.4))))
def clinic_with_events(patients, rate):
    rng = np.random.default_rng(5)
    arrivals = np.cumsum(rng.exponential(1 / rate, patients))
    service = rng.gamma(2.0, 0.8, patients)
    events = [Event(t, i, "arrival", i) for i, t in enumerate(arrivals)]
    heapq.heapify(events)
    free, waiting, started, done = 2, deque(), {}, {}
    order = patients
    longest = 0
    while events:
        now, _, kind, who = heapq.heappop(events)
        if kind == "arrival":
            waiting.append(who)
            longest = max(longest, len(waiting))
        else:
            free += 1
            done[who] = now
        while free and waiting:
            nxt = waiting.popleft()
            started[nxt] = now
            free -= 1
            heapq.heappush(events, Event(now + service[nxt], order, "departure", nxt))
            order += 1
    waits = np.array([started[i] - arrivals[i] for i in range(patients)])
    return waits, longest, max(done.values()), statistics.median(waits.tolist())


def make_orders(rng, n):
    return [
        {
            "id": i,
            "customer": f"c{rng.integers(0, 5)}",
            "amount": round(float(rng.gamma(2, 30)), 2),
            "region": str(rng.choice(["N", "S", "E"])),
            "day": int(rng.integers(1, 29)),
        }
        for i in range(n)
    ]


@program(lambda rng, n=20: (make_orders(rng, n),))
def orders_as_dicts(orders):
    by_region = defaultdict(list)
    for o in orders:
        by_region[o["region"]].append(o["amount"])
    summary = {
        r: {"n": len(a), "mean": round(float(np.mean(a)), 2), "p90": float(np.percentile(a, 90))}
        for r, a in sorted(by_region.items())
    }
    spend = Counter()
    for o in orders:
        spend[o["customer"]] += o["amount"]
    top = [c for c, _ in spend.most_common(3)]
    week = np.zeros(4)
    np.add.at(week, [min((o["day"] - 1) // 7, 3) for o in orders], [o["amount"] for o in orders])
    late = sorted((o for o in orders if o["day"] > 20), key=lambda o: (-o["amount"], o["id"]))
    lines = [f"{o['id']:>3} {o['customer']} {o['amount']:8.2f}" for o in late[:3]]
    return summary, top, week, lines


@dataclass
class Solution:
    t: list = field(default_factory=list)
    y: list = field(default_factory=list)
    rejected: int = 0
    message: str = ""

    def final(self):
        return self.t[-1], self.y[-1]


TABLEAU = {
    "c": np.array([0, 1 / 2, 3 / 4, 1]),
    "a": [[], [1 / 2], [0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]],
    "b": np.array([2 / 9, 1 / 3, 4 / 9, 0]),
    "e": np.array([2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8]),
}


def integrate(f, y0, t_end, tol=1e-5, h=0.05, event=None):
    sol = Solution()
    t, y = 0.0, np.asarray(y0, dtype=float)
    sol.t.append(t)
    sol.y.append(y)
    while t < t_end:
        h = min(h, t_end - t)
        k = []
        for c, a in zip(TABLEAU["c"], TABLEAU["a"]):
            k.append(f(t + c * h, y + h * sum((w * kk for w, kk in zip(a, k)), np.zeros_like(y))))
        k = np.array(k)
        err = h * np.linalg.norm(TABLEAU["e"] @ k)
        if err <= tol:
            new = y + h * TABLEAU["b"] @ k
            if event is not None and event(y) * event(new) < 0:
                sol.message = "event"
                sol.t.append(t + h)
                sol.y.append(new)
                return sol
            t, y = t + h, new
            sol.t.append(t)
            sol.y.append(y)
        else:
            sol.rejected += 1
        h *= min(4.0, max(0.2, 0.9 * (tol / (err + 1e-16)) ** (1 / 3)))
    sol.message = "end"
    return sol


@program(lambda rng, n=3: (float(rng.uniform(0.5, 2)), float(n)))
def bogacki_shampine_with_events(mu, t_end):
    def oscillator(t, y, mu=mu):
        return np.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    free = integrate(oscillator, [2.0, 0.0], t_end)
    stopped = integrate(oscillator, [2.0, 0.0], 10 * t_end, event=lambda y: y[0])
    print(f"{len(free.t)} steps, {free.rejected} rejected; event: {stopped.message} at {stopped.t[-1]:.3f}")
    return free.final(), stopped.final(), len(stopped.t)


class LBM:
    C = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)])
    W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    OPP = [0, 3, 4, 1, 2, 7, 8, 5, 6]

    def __init__(self, nx, ny, tau, obstacle):
        self.tau, self.solid = tau, obstacle
        self.u = np.zeros((nx, ny, 2))
        self.rho = np.ones((nx, ny))
        self.f = self.equilibrium()

    def equilibrium(self):
        cu = np.einsum("xyd,id->xyi", self.u, self.C)
        usq = (self.u**2).sum(axis=-1)
        return self.rho[..., None] * self.W * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * usq[..., None])

    def step(self, force):
        self.f += (self.equilibrium() - self.f) / self.tau
        for i, (cx, cy) in enumerate(self.C):
            self.f[..., i] = np.roll(self.f[..., i], (cx, cy), axis=(0, 1))
        bounced = self.f[self.solid][:, self.OPP]
        self.f[self.solid] = bounced
        self.rho = self.f.sum(axis=-1)
        self.u = np.einsum("xyi,id->xyd", self.f, self.C) / self.rho[..., None]
        self.u[..., 0] += force
        self.u[self.solid] = 0


@program(lambda rng, n=8: (n, float(rng.uniform(0.6, 1.0))))
def lattice_boltzmann_class(size, tau):
    x, y = np.meshgrid(np.arange(2 * size), np.arange(size), indexing="ij")
    solid = (x - size // 2) ** 2 + (y - size // 2) ** 2 < (size / 5) ** 2
    solid[:, [0, -1]] = True
    model = LBM(2 * size, size, tau, solid)
    history = []
    for step in range(30):
        model.step(1e-4)
        speed = np.linalg.norm(model.u, axis=-1)
        history.append(speed.max())
        if step > 5 and abs(history[-1] - history[-2]) < 1e-5 * history[-1]:
            break
    return history, model.rho, len(history)


class LinearModel:
    def __init__(self, dt, q, r):
        self.F = np.array([[1, dt], [0, 1]])
        self.H = np.array([[1.0, 0.0]])
        self.Q = q * np.array([[dt**4 / 4, dt**3 / 2], [dt**3 / 2, dt**2]])
        self.R = np.array([[r]])


class KalmanFilter(LinearModel):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.reset()

    def reset(self):
        self.x, self.P = np.zeros(2), np.eye(2) * 10
        self.means, self.covs, self.pred = [], [], []

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q
        self.pred.append((self.x, self.P))

    def update(self, z):
        if not np.isnan(z):
            S = self.H @ self.P @ self.H.T + self.R
            K = self.P @ self.H.T @ np.linalg.inv(S)
            self.x = self.x + K @ (np.array([z]) - self.H @ self.x)
            self.P = (np.eye(2) - K @ self.H) @ self.P
        self.means.append(self.x)
        self.covs.append(self.P)

    def smooth(self):
        xs, Ps = [self.means[-1]], [self.covs[-1]]
        for t in range(len(self.means) - 2, -1, -1):
            xp, Pp = self.pred[t + 1]
            G = self.covs[t] @ self.F.T @ np.linalg.inv(Pp)
            xs.insert(0, self.means[t] + G @ (xs[0] - xp))
            Ps.insert(0, self.covs[t] + G @ (Ps[0] - Pp) @ G.T)
        return np.array(xs), np.array(Ps)


@program(lambda rng, n=15: (np.where(rng.random(n) < 0.2, np.nan, np.cumsum(rng.normal(size=n))),))
def kalman_with_gaps_and_smoother(z):
    kf = KalmanFilter(1.0, 0.1, r=0.5)
    for value in z:
        kf.predict()
        kf.update(value)
    filtered = np.array(kf.means)
    smoothed, covs = kf.smooth()
    return filtered, smoothed, covs[:, 0, 0]


def mesh(n):
    xs = np.linspace(0, 1, n + 1)
    nodes = np.array([(x, y) for y in xs for x in xs])
    triangles = []
    for j in range(n):
        for i in range(n):
            a = j * (n + 1) + i
            b, c, d = a + 1, a + n + 1, a + n + 2
            triangles += [(a, b, d), (a, d, c)]
    edge = [k for k, (x, y) in enumerate(nodes) if x in (0, 1) or y in (0, 1)]
    return nodes, np.array(triangles), edge


@program(lambda rng, n=3: (n, float(rng.uniform(1, 3))))
def fem_on_triangles(n, source):
    nodes, triangles, edge = mesh(n)
    rows, cols, vals = [], [], []
    b = np.zeros(len(nodes))
    for tri in triangles:
        p = nodes[tri]
        J = np.array([p[1] - p[0], p[2] - p[0]]).T
        area = abs(np.linalg.det(J)) / 2
        G = np.linalg.solve(J.T, np.array([[-1, 1, 0], [-1, 0, 1]]))
        K = area * G.T @ G
        for a in range(3):
            b[tri[a]] += source * area / 3
            for c in range(3):
                rows.append(tri[a])
                cols.append(tri[c])
                vals.append(K[a, c])
    A = np.zeros((len(nodes), len(nodes)))
    np.add.at(A, (rows, cols), vals)
    A[edge] = 0
    A[edge, edge] = 1
    b[edge] = 0
    u = np.linalg.solve(A, b)
    return u.reshape(n + 1, n + 1), len(vals), float(u.max())


def neighbours(state):
    z = state.index(0)
    r, c = divmod(z, 3)
    for dr, dc in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        if 0 <= r + dr < 3 and 0 <= c + dc < 3:
            s = list(state)
            o = (r + dr) * 3 + c + dc
            s[z], s[o] = s[o], s[z]
            yield tuple(s)


def scrambled(rng, moves):
    state = tuple(range(9))
    for _ in range(moves):
        options = list(neighbours(state))
        state = options[rng.integers(len(options))]
    return state


@program(lambda rng, n=10: (scrambled(rng, n),))
def eight_puzzle(start):
    goal = tuple(range(9))
    h = lambda s: sum(abs(i // 3 - v // 3) + abs(i % 3 - v % 3) for i, v in enumerate(s) if v)
    frontier = [(h(start), 0, start)]
    cost, parent = {start: 0}, {start: None}
    expanded = 0
    while frontier:
        _, g, state = heapq.heappop(frontier)
        if state == goal:
            break
        expanded += 1
        for s in neighbours(state):
            if s not in cost or g + 1 < cost[s]:
                cost[s] = g + 1
                parent[s] = state
                heapq.heappush(frontier, (g + 1 + h(s), g + 1, s))
    path = []
    while state is not None:
        path.append(state)
        state = parent[state]
    return len(path) - 1, path[::-1][:2], expanded > 0


def make_kernel(name):
    return {
        "blur": np.ones((3, 3)) / 9,
        "sharpen": np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0.0]]),
        "edge": np.array([[-1, -1, -1], [-1, 8, -1], [-1, -1, -1.0]]),
    }[name]


def filtering(name, mode="edge"):
    kernel = make_kernel(name)

    def apply(image):
        padded = np.pad(image, 1, mode=mode)
        out = np.zeros_like(image)
        for i in range(3):
            for j in range(3):
                out += kernel[i, j] * padded[i : i + image.shape[0], j : j + image.shape[1]]
        return out

    apply.__name__ = name
    return apply


def thresholding(t):
    def apply(image):
        return (image > t).astype(float)

    return apply


def compose(*steps):
    return lambda image: reduce(lambda x, step: step(x), steps, image)


@program(lambda rng, n=12: (rng.random((n, n)),))
def pipeline_of_closures(image):
    results = OrderedDict()
    for names in itertools.permutations(["blur", "sharpen", "edge"], 2):
        pipeline = compose(*map(filtering, names), lambda x: np.clip(x, 0, 1), thresholding(0.4))
        out = pipeline(image)
        results["+".join(names)] = (out.mean(), np.argwhere(out)[:2].tolist())
    ranked = sorted(results, key=lambda k: results[k][0], reverse=True)
    print(*(f"{k:<14}{results[k][0]:.3f}" for k in ranked), sep="\n")
    return results, ranked[0]

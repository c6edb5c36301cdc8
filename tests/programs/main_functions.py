"""Scripts as they lie in folders: settings at the top, classes, defaults, tables to plot, a main function that prints."""

from dataclasses import dataclass, field, replace

import numpy as np

from .registry import program

GRAVITY = 9.81
BOLTZMANN = 1.380649e-23
COLUMNS = ("time", "height", "speed")
SETTINGS = {"steps": 60, "dt": 0.05, "tolerance": 1e-8, "verbose": True}


class AttrDict(dict):
    """A dict whose items are attributes, too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error

    def __setattr__(self, name, value):
        self[name] = value


@dataclass
class Rocket:
    mass: float = 50.0
    fuel: float = 30.0
    thrust: float = 1500.0
    burn_rate: float = 5.0
    drag: float = 0.02
    log: list = field(default_factory=list)

    @property
    def total(self):
        return self.mass + self.fuel

    def force(self, speed):
        push = self.thrust if self.fuel > 0 else 0.0
        return push - self.total * GRAVITY - self.drag * speed * abs(speed)


@program(lambda rng: (float(rng.uniform(1200, 1600)), float(rng.uniform(10, 25))))
def rocket_flight(thrust, fuel):
    rocket = replace(Rocket(), thrust=thrust, fuel=fuel)
    table = {name: [] for name in COLUMNS}
    height = speed = 0.0
    for step in range(SETTINGS["steps"]):
        acceleration = rocket.force(speed) / rocket.total
        if rocket.fuel > 0:
            rocket.fuel = max(rocket.fuel - rocket.burn_rate * SETTINGS["dt"], 0.0)
            if rocket.fuel == 0:
                rocket.log.append(("burnout", step))
        speed += acceleration * SETTINGS["dt"]
        height = max(height + speed * SETTINGS["dt"], 0.0)
        for name, value in zip(COLUMNS, (step * SETTINGS["dt"], height, speed)):
            table[name].append(value)
    if SETTINGS["verbose"]:
        print(f"apogee {max(table['height']):.1f} m, burnout at {rocket.log[0][1] if rocket.log else 'never'}")
    return {name: np.array(column) for name, column in table.items()}, rocket.log


class Spectrum:
    """Counts by channel, with a calibration."""

    def __init__(self, counts, gain=0.5, offset=1.0):
        self.counts = np.asarray(counts, dtype=float)
        self.gain, self.offset = gain, offset

    @property
    def energies(self):
        return self.offset + self.gain * np.arange(self.counts.size)

    def background(self, width=8, rounds=20):
        """Peaks are clipped at the mean of what is around them, from far to near."""
        clipped = np.log(np.log(np.sqrt(self.counts + 1) + 1) + 1)
        for reach in range(width, 0, -1):
            around = (clipped[: -2 * reach] + clipped[2 * reach :]) / 2
            clipped[reach:-reach] = np.minimum(clipped[reach:-reach], around)
        return (np.exp(np.exp(clipped) - 1) - 1) ** 2 - 1

    def peaks(self, threshold=4.0):
        net = self.counts - self.background()
        significance = net / np.sqrt(np.maximum(self.counts, 1.0))
        inner = significance[1:-1]
        is_peak = (inner > threshold) & (inner >= significance[:-2]) & (inner > significance[2:])
        places = np.flatnonzero(is_peak) + 1
        return [(float(self.energies[k]), float(net[max(k - 3, 0) : k + 4].sum())) for k in places]


@program(lambda rng: (rng.poisson(20 + 400 * np.exp(-((np.arange(120) - 40) ** 2) / 8.0)), 0.25))
def gamma_spectrum(counts, gain):
    spectrum = Spectrum(counts, gain=gain)
    found = spectrum.peaks(threshold=6.0)
    report = AttrDict(total=int(spectrum.counts.sum()), lines=found)
    report.strongest = max(found, key=lambda line: line[1]) if found else None
    report.mean_energy = np.average(spectrum.energies, weights=spectrum.counts)
    for energy, area in found:
        print(f"{energy:8.2f} keV {area:10.1f}")
    return report


@dataclass(frozen=True)
class Household:
    beta: float = 0.95
    sigma: float = 2.0
    rate: float = 0.03
    grid: int = 25

    def utility(self, consumption):
        return consumption ** (1 - self.sigma) / (1 - self.sigma)


def solve_savings(household, incomes, transition, tolerance=1e-6, most=200):
    assets = np.linspace(0.1, 10.0, household.grid)
    value = np.zeros((len(incomes), household.grid))
    resources = (1 + household.rate) * assets[None, :] + incomes[:, None]
    for iteration in range(most):
        expected = transition @ value
        consumption = resources[:, :, None] - assets[None, None, :]
        utility = np.where(consumption > 0, household.utility(np.maximum(consumption, 1e-10)), -1e10)
        candidates = utility + household.beta * expected[:, None, :]
        new, policy = candidates.max(axis=2), candidates.argmax(axis=2)
        distance = np.abs(new - value).max()
        value = new
        if distance < tolerance:
            break
    return assets, value, policy, iteration


@program(lambda rng: (np.sort(rng.uniform(0.5, 2.0, 2)), float(rng.uniform(0.7, 0.9))))
def savings_over_a_life(incomes, stay):
    transition = np.array([[stay, 1 - stay], [1 - stay, stay]])
    household = Household(beta=0.9)
    assets, value, policy, rounds = solve_savings(household, incomes, transition, tolerance=1e-4)
    state, wealth, path = 0, household.grid // 2, []
    for year in range(30):
        state = 1 - state if year % 7 == 6 else state
        wealth = policy[state, wealth]
        path.append(assets[wealth])
    print("converged" if rounds < 199 else "did not converge")
    return {"x": assets, "y": value.round(8), "path": np.array(path)}, rounds


class Population:
    """Ages and whether each is ill; households of four."""

    def __init__(self, size, rng):
        self.age = rng.integers(0, 90, size)
        self.ill = np.zeros(size, dtype=bool)
        self.immune = np.zeros(size, dtype=bool)
        self.days = np.zeros(size, dtype=int)
        self.household = np.arange(size) // 4

    def infect(self, chosen):
        new = chosen & ~self.ill & ~self.immune
        self.ill |= new
        self.days[new] = 0
        return int(new.sum())

    def step(self, rng, contact=0.08, duration=7):
        pressure = np.bincount(self.household, weights=self.ill, minlength=self.household.max() + 1)
        risk = 1 - (1 - contact) ** pressure[self.household] + 0.1 * self.ill.mean()
        new = self.infect(rng.random(self.ill.size) < risk)
        self.days[self.ill] += 1
        recovered = self.ill & (self.days > duration)
        self.ill &= ~recovered
        self.immune |= recovered
        return new


@program(lambda rng: (int(rng.integers(1000)), 80))
def epidemic_in_households(seed, size):
    rng = np.random.default_rng(seed)
    people = Population(size, rng)
    people.infect(people.age > 80)
    curve = {"day": [], "new": [], "ill": []}
    for day in range(40):
        new = people.step(rng)
        curve["day"].append(day)
        curve["new"].append(new)
        curve["ill"].append(int(people.ill.sum()))
        if not people.ill.any():
            print("over on day", day)
            break
    by_age = {
        f"{low}-{low + 29}": float(people.immune[(people.age >= low) & (people.age < low + 30)].mean()) for low in (0, 30, 60)
    }
    return curve, by_age


class Stage:
    """A part of a chain of effects; the next one is given what this one returns."""

    def __init__(self, **settings):
        self.settings = AttrDict(settings)

    def __call__(self, signal, rate):
        raise NotImplementedError


class Gate(Stage):
    def __call__(self, signal, rate):
        length = int(self.settings.hold * rate)
        loud = np.abs(signal) > self.settings.level
        held = np.convolve(loud, np.ones(length))[: len(signal)] > 0
        return np.where(held, signal, 0.0)


class Echo(Stage):
    def __call__(self, signal, rate):
        out, delay = signal.copy(), int(self.settings.delay * rate)
        for start in range(delay, len(out)):
            out[start] += self.settings.feedback * out[start - delay]
        return out


class Limiter(Stage):
    def __call__(self, signal, rate):
        gain, release, out = 1.0, np.exp(-1 / (self.settings.release * rate)), np.empty_like(signal)
        for k, value in enumerate(signal):
            wanted = min(1.0, self.settings.ceiling / max(abs(value), 1e-12))
            gain = wanted if wanted < gain else release * gain + (1 - release) * wanted
            out[k] = gain * value
        return out


@program(lambda rng: (np.sin(np.arange(400) * float(rng.uniform(0.05, 0.2))) * np.linspace(0, 2, 400), 800))
def chain_of_effects(signal, rate):
    chain = [Gate(level=0.2, hold=0.02), Echo(delay=0.1, feedback=0.4), Limiter(ceiling=0.8, release=0.05)]
    levels = {}
    for stage in chain:
        signal = stage(signal, rate)
        levels[type(stage).__name__] = (float(np.sqrt(np.mean(signal**2))), float(np.abs(signal).max()))
        print(f"{type(stage).__name__:8s} rms {levels[type(stage).__name__][0]:.4f}")
    frames = signal[: len(signal) // 50 * 50].reshape(-1, 50)
    return {"signal": signal, "levels": levels, "envelope": np.abs(frames).max(axis=1)}


def box_blur(image, reach=1, *, edges="reflect"):
    """The mean of a square, by sums over both axes."""
    padded = np.pad(image, reach, mode=edges).cumsum(axis=0).cumsum(axis=1)
    padded = np.pad(padded, ((1, 0), (1, 0)))
    size = 2 * reach + 1
    total = padded[size:, size:] - padded[:-size, size:] - padded[size:, :-size] + padded[:-size, :-size]
    return total / size**2


def otsu(image, bins=32):
    counts, edges = np.histogram(image, bins=bins)
    middles = (edges[:-1] + edges[1:]) / 2
    below, above = np.cumsum(counts), counts.sum() - np.cumsum(counts)
    mean_below = np.cumsum(counts * middles) / np.maximum(below, 1)
    mean_above = ((counts * middles).sum() - np.cumsum(counts * middles)) / np.maximum(above, 1)
    return middles[np.argmax(below * above * (mean_below - mean_above) ** 2)]


@program(lambda rng: (rng.random((24, 30)) * 0.3 + (np.hypot(*np.mgrid[-12:12, -15:15]) < rng.uniform(5, 9)),))
def cells_in_an_image(image):
    smooth = box_blur(image, reach=2)
    threshold = otsu(smooth)
    mask = smooth > threshold
    rows, columns = np.nonzero(mask)
    box = (rows.min(), rows.max() + 1, columns.min(), columns.max() + 1)
    center = np.array([rows.mean(), columns.mean()])
    spread = np.cov(np.stack([rows, columns]))
    axes = np.sqrt(np.linalg.eigvalsh(spread)) * 2
    edge = mask & ~(mask[np.roll(np.arange(24), 1)] & np.roll(mask, 1, axis=1) & np.roll(mask, -1, axis=1))
    stats = AttrDict(area=int(mask.sum()), box=tuple(int(one) for one in box), perimeter=int(edge.sum()))
    stats.roundness = float(axes[0] / axes[1])
    print(f"threshold {threshold:.3f}, area {stats.area}, center {center.round(1)}")
    return stats, center, mask


class Gas:
    """Particles in a box with elastic walls."""

    masses = {"He": 4.0, "Ar": 40.0}

    def __init__(self, positions, velocities, kind="He"):
        self.r, self.v, self.mass = positions.copy(), velocities.copy(), self.masses[kind]
        self.momentum = 0.0

    def move(self, dt, size=1.0):
        self.r += self.v * dt
        for axis in range(self.r.shape[1]):
            beyond = (self.r[:, axis] < 0) | (self.r[:, axis] > size)
            self.momentum += 2 * self.mass * np.abs(self.v[beyond, axis]).sum()
            self.v[beyond, axis] *= -1
        np.clip(self.r, 0, size, out=self.r)

    def temperature(self):
        return self.mass * np.mean(np.sum(self.v**2, axis=1)) / self.r.shape[1]

    def __str__(self):
        return f"{len(self.r)} atoms at T = {self.temperature():.3f}"


@program(lambda rng: (rng.random((30, 2)), rng.normal(size=(30, 2)), str(rng.choice(["He", "Ar"]))))
def gas_in_a_box(positions, velocities, kind):
    gas, dt = Gas(positions, velocities, kind), 0.01
    history = np.zeros((50, 3))
    for step in range(50):
        gas.move(dt)
        pressure = gas.momentum / ((step + 1) * dt * 4)
        history[step] = step * dt, gas.temperature(), pressure
    print(gas)
    counts, edges = np.histogram(np.linalg.norm(gas.v, axis=1), bins=6)
    return {"history": history, "histogram": (counts, edges), "ideal": len(positions) * gas.temperature()}


@program(lambda rng: (rng.normal(size=(60, 3)) @ np.diag([3.0, 1.0, 0.2]) + rng.normal(size=3),))
def principal_components(data, keep=2):
    def standardize(x, ddof=1):
        mean, spread = x.mean(axis=0), x.std(axis=0, ddof=ddof)
        return (x - mean) / spread, mean, spread

    z, mean, spread = standardize(data)
    _, s, vt = np.linalg.svd(z, full_matrices=False)
    vt = vt * np.sign(vt[np.arange(len(vt)), np.abs(vt).argmax(axis=1)])[:, None]
    explained = s**2 / np.sum(s**2)
    scores = z @ vt[:keep].T
    rebuilt = scores @ vt[:keep] * spread + mean
    for k, share in enumerate(explained, start=1):
        print(f"PC{k}: {share:6.1%} {'#' * int(round(share * 20))}")
    return {"scores": np.abs(scores), "explained": explained, "error": np.sqrt(np.mean((rebuilt - data) ** 2))}


class Tally:
    """Running statistics by key, as they come."""

    def __init__(self):
        self.by_key = {}

    def add(self, key, value):
        entry = self.by_key.setdefault(key, {"count": 0, "mean": 0.0, "m2": 0.0})
        entry["count"] += 1
        delta = value - entry["mean"]
        entry["mean"] += delta / entry["count"]
        entry["m2"] += delta * (value - entry["mean"])

    def summary(self):
        def spread(one):
            return np.sqrt(one["m2"] / max(one["count"] - 1, 1))

        return {key: (one["count"], one["mean"], spread(one)) for key, one in sorted(self.by_key.items())}


@program(lambda rng: (rng.gamma(2.0, 1.0, 30), ["morning", "noon", "night"]))
def tally_of_waiting_times(times, labels):
    tally = Tally()
    for number, value in enumerate(times):
        tally.add(labels[number % len(labels)], value)
        if value > 4:
            tally.add("long", value)
    for label, (count, mean, spread) in tally.summary().items():
        print(f"{label:>8}: n={count:3d} mean={mean:.3f} sd={spread:.3f}")
    return tally.summary()


class Integrator:
    """Steps of the fourth order, with the steps that it has taken."""

    order = 4

    def __init__(self, derivative, dt=0.02):
        self.derivative, self.dt, self.taken = derivative, dt, 0

    def __call__(self, state, t):
        f, h = self.derivative, self.dt
        k1 = f(state, t)
        k2 = f(state + h / 2 * k1, t + h / 2)
        k3 = f(state + h / 2 * k2, t + h / 2)
        k4 = f(state + h * k3, t + h)
        self.taken += 1
        return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


PLANETS = {"inner": (1.0, 1.0, 1e-3), "outer": (1.9, 0.72, 1e-3)}


@program(lambda rng: (float(rng.uniform(0.9, 1.1)), 60))
def two_planets(speed_factor, steps):
    names = list(PLANETS)
    masses = np.array([PLANETS[name][2] for name in names])
    start = np.array([[PLANETS[name][0], 0.0, 0.0, PLANETS[name][1] * speed_factor] for name in names])

    def derivative(state, t, softening=1e-4):
        r, v = state[:, :2], state[:, 2:]
        pull = -r / np.linalg.norm(r, axis=1, keepdims=True) ** 3
        apart = r[1] - r[0]
        mutual = apart / (apart @ apart + softening) ** 1.5
        pull[0] += masses[1] * mutual
        pull[1] -= masses[0] * mutual
        return np.concatenate([v, pull], axis=1)

    def energy(state):
        kinetic = 0.5 * np.sum(state[:, 2:] ** 2, axis=1)
        return np.sum(masses * (kinetic - 1 / np.hypot(state[:, 0], state[:, 1])))

    step, state = Integrator(derivative), start.copy()
    orbit = np.empty((steps + 1, *state.shape))
    orbit[0] = state
    for k in range(steps):
        state = step(state, k * step.dt)
        orbit[k + 1] = state
    drift = abs(energy(orbit[-1]) / energy(orbit[0]) - 1)
    print(f"{step.taken} steps, energy drift below 1e-6: {drift < 1e-6}")
    radii = np.linalg.norm(orbit[:, :, :2], axis=2)
    return {name: {"r": radii[:, k], "apsides": (radii[:, k].min(), radii[:, k].max())} for k, name in enumerate(names)}


def design(x, degree=2, *, interactions=False):
    columns = [np.ones(len(x))] + [x[:, j] ** power for j in range(x.shape[1]) for power in range(1, degree + 1)]
    if interactions:
        columns += [x[:, i] * x[:, j] for i in range(x.shape[1]) for j in range(i)]
    return np.column_stack(columns)


@program(lambda rng: (rng.normal(size=(50, 2)), rng.normal(size=50)))
def regression_table(x, noise):
    y = 1.5 + 2 * x[:, 0] - 0.5 * x[:, 1] ** 2 + 0.3 * noise
    results = []
    for degree in (1, 2, 3):
        matrix = design(x, degree, interactions=degree > 1)
        beta, *_ = np.linalg.lstsq(matrix, y, rcond=None)
        residual = y - matrix @ beta
        count, width = matrix.shape
        variance = residual @ residual / (count - width)
        errors = np.sqrt(np.diag(np.linalg.inv(matrix.T @ matrix)) * variance)
        aic = count * np.log(residual @ residual / count) + 2 * width
        results.append({"degree": degree, "beta": beta, "t": beta / errors, "aic": aic, "r2": 1 - residual.var() / y.var()})
    best = min(results, key=lambda one: one["aic"])
    for one in results:
        mark = "*" if one["degree"] == best["degree"] else " "
        print(f"{mark} degree {one['degree']}: R2 = {one['r2']:.4f}, AIC = {one['aic']:.2f}, {len(one['beta'])} terms")
    return best["degree"], results


class Queue:
    """Customers at several desks, each served by the desk that is free first."""

    def __init__(self, desks):
        self.free = [0.0] * desks
        self.waits = []

    def serve(self, arrival, duration):
        desk = min(range(len(self.free)), key=self.free.__getitem__)
        start = max(arrival, self.free[desk])
        self.free[desk] = start + duration
        self.waits.append(start - arrival)
        return desk


@program(lambda rng: (np.cumsum(rng.exponential(1.0, 40)), rng.exponential(1.8, 40)))
def desks_in_a_bank(arrivals, durations):
    summary = {}
    for desks in (1, 2, 3):
        queue = Queue(desks)
        used = np.zeros(desks, dtype=int)
        for arrival, duration in zip(arrivals, durations):
            used[queue.serve(arrival, duration)] += 1
        waits = np.array(queue.waits)
        summary[desks] = {
            "mean": waits.mean(),
            "p90": np.percentile(waits, 90),
            "idle": float((waits == 0).mean()),
            "used": used,
        }
        print(f"{desks} desks: {summary[desks]['mean']:.2f} min, {summary[desks]['idle']:.0%} without waiting")
    return summary

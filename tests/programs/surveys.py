"""Images, sequences, places: what is measured, and how it is told apart."""

import heapq
import itertools
import math
from collections import namedtuple
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial import Polynomial

from .registry import program


class Wavelet(Enum):
    HAAR = (1 / np.sqrt(2), 1 / np.sqrt(2))
    DB2 = tuple(np.array([1 + np.sqrt(3), 3 + np.sqrt(3), 3 - np.sqrt(3), 1 - np.sqrt(3)]) / (4 * np.sqrt(2)))

    @property
    def lowpass(self):
        return np.array(self.value)

    @property
    def highpass(self):
        h = self.lowpass
        return h[::-1] * (-1) ** np.arange(len(h))


def dwt(x, wavelet):
    h, g = wavelet.lowpass, wavelet.highpass
    n = len(h)
    padded = np.concatenate([x, x[: n - 2]]) if n > 2 else x
    windows = sliding_window_view(padded, n)[::2]
    return windows @ h, windows @ g


def idwt(a, d, wavelet):
    h, g = wavelet.lowpass, wavelet.highpass
    out = np.zeros(2 * len(a))
    for k in range(len(h)):
        idx = (2 * np.arange(len(a)) + k) % len(out)
        np.add.at(out, idx, a * h[k] + d * g[k])
    return out


@program(lambda rng: (np.sin(np.linspace(0, 12, 64)) + rng.normal(0, 0.2, 64), "db2", 3))
def wavelet_denoise(signal, name, levels):
    """An enum with arrays, windows, np.add.at."""
    wavelet = Wavelet[name.upper()]
    approx, details = signal, []
    for _ in range(levels):
        approx, d = dwt(approx, wavelet)
        details.append(d)
    sigma = np.median(np.abs(details[0])) / 0.6745
    threshold = sigma * np.sqrt(2 * np.log(signal.size))
    kept = 0
    for level, d in enumerate(details):
        soft = np.sign(d) * np.clip(np.abs(d) - threshold, 0, None)
        kept += np.count_nonzero(soft)
        details[level] = soft
    for d in reversed(details):
        approx = idwt(approx, d, wavelet)
    energy = {f"d{k}": float(np.sum(d**2)) for k, d in enumerate(details, 1)}
    return approx, threshold, kept, energy


@program(lambda rng: (rng.uniform(0, 1, (14, 14)), [(2, 2), (11, 3), (7, 11)]))
def watershed(image, seeds):
    """A heap with a counter, labels from neighbours."""
    labels = np.zeros(image.shape, int)
    heap = []
    counter = itertools.count()
    for k, (i, j) in enumerate(seeds, start=1):
        labels[i, j] = k
        heapq.heappush(heap, (float(image[i, j]), next(counter), i, j))
    h, w = image.shape
    while heap:
        level, _, i, j = heapq.heappop(heap)
        for di, dj in [(-1, 0), (1, 0), (0, -1), (0, 1)]:
            a, b = i + di, j + dj
            if 0 <= a < h and 0 <= b < w and labels[a, b] == 0:
                labels[a, b] = labels[i, j]
                heapq.heappush(heap, (max(level, float(image[a, b])), next(counter), a, b))
    areas = np.bincount(labels.ravel())[1:]
    return labels, areas


def rotate_bilinear(image, theta):
    n = image.shape[0]
    c = (n - 1) / 2
    y, x = np.indices(image.shape) - c
    xs = np.cos(theta) * x - np.sin(theta) * y + c
    ys = np.sin(theta) * x + np.cos(theta) * y + c
    x0, y0 = np.floor(xs).astype(int), np.floor(ys).astype(int)
    fx, fy = xs - x0, ys - y0
    ok = (x0 >= 0) & (y0 >= 0) & (x0 < n - 1) & (y0 < n - 1)
    x0, y0 = np.where(ok, x0, 0), np.where(ok, y0, 0)
    v = (
        image[y0, x0] * (1 - fx) * (1 - fy)
        + image[y0, x0 + 1] * fx * (1 - fy)
        + image[y0 + 1, x0] * (1 - fx) * fy
        + image[y0 + 1, x0 + 1] * fx * fy
    )
    return np.where(ok, v, 0.0)


@program(lambda rng: (rng.uniform(0, 1, (16, 16)), 12))
def filtered_back_projection(image, n_angles):
    """Rotations by bilinear weights, and back by np.interp."""
    n = image.shape[0]
    angles = np.linspace(0, np.pi, n_angles, endpoint=False)
    sinogram = np.empty((n, n_angles))
    for k, theta in enumerate(angles):
        sinogram[:, k] = rotate_bilinear(image, theta).sum(axis=0)
    size = max(64, int(2 ** np.ceil(np.log2(2 * n))))
    ramp = 2 * np.abs(np.fft.fftfreq(size))
    padded = np.pad(sinogram, [(0, size - n), (0, 0)])
    filtered = np.real(np.fft.ifft(np.fft.fft(padded, axis=0) * ramp[:, np.newaxis], axis=0))[:n]
    out = np.zeros_like(image)
    grid = np.arange(n) - n // 2
    X, Y = np.meshgrid(grid, grid)
    for theta, projection in zip(angles, filtered.T):
        t = X * np.cos(theta) - Y * np.sin(theta)
        out += np.interp(t, grid, projection, left=0, right=0)
    out *= np.pi / (2 * n_angles)
    return out, np.sqrt(np.mean((out - image) ** 2))


@program(lambda rng: (rng.uniform(1, 5, (6, 3)), list("ABCDEF")))
def neighbour_joining(points, names):
    """Texts that are keys grow round by round; the matrix gets smaller."""
    D = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    names = list(names)
    total_length = 0.0
    while len(names) > 2:
        n = len(names)
        total = D.sum(axis=1)
        Q = (n - 2) * D - total[:, None] - total[None, :]
        np.fill_diagonal(Q, np.inf)
        i, j = np.unravel_index(np.argmin(Q), Q.shape)
        if i > j:
            i, j = j, i
        li = 0.5 * D[i, j] + (total[i] - total[j]) / (2 * (n - 2))
        lj = D[i, j] - li
        total_length += li + lj
        new = f"({names[i]}:{li:.3f},{names[j]}:{lj:.3f})"
        d = 0.5 * (D[i] + D[j] - D[i, j])
        keep = [k for k in range(n) if k not in (i, j)]
        M = np.zeros((n - 1, n - 1))
        M[1:, 1:] = D[np.ix_(keep, keep)]
        M[0, 1:] = M[1:, 0] = d[keep]
        names = [new] + [names[k] for k in keep]
        D = M
    return f"({names[0]}:{D[0, 1]:.3f},{names[1]});", total_length


SCORES = {("A", "G"): -1, ("C", "T"): -1}


@program(lambda rng: ("".join(rng.choice(list("ACGT"), 18)), "".join(rng.choice(list("ACGT"), 15))))
def gotoh(a, b, gap_open=-4, gap_extend=-1):
    """Three tables, a dict of known pairs, and the way back as texts."""

    def score(x, y):
        if x == y:
            return 3
        return SCORES.get((min(x, y), max(x, y)), -2)

    n, m = len(a), len(b)
    M = np.full((n + 1, m + 1), -np.inf)
    X, Y = M.copy(), M.copy()
    M[0, 0] = 0
    X[1:, 0] = gap_open + gap_extend * np.arange(n)
    Y[0, 1:] = gap_open + gap_extend * np.arange(m)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = score(a[i - 1], b[j - 1])
            M[i, j] = s + max(M[i - 1, j - 1], X[i - 1, j - 1], Y[i - 1, j - 1])
            X[i, j] = max(M[i - 1, j] + gap_open, X[i - 1, j] + gap_extend)
            Y[i, j] = max(M[i, j - 1] + gap_open, Y[i, j - 1] + gap_extend)
    i, j = n, m
    state = int(np.argmax([M[n, m], X[n, m], Y[n, m]]))
    top, bottom = [], []
    while i > 0 or j > 0:
        if state == 0:
            i, j = i - 1, j - 1
            top.append(a[i])
            bottom.append(b[j])
            state = int(np.argmax([M[i, j], X[i, j], Y[i, j]]))
        elif state == 1:
            stay = X[i, j] == X[i - 1, j] + gap_extend
            i -= 1
            top.append(a[i])
            bottom.append("-")
            state = 1 if stay else 0
        else:
            stay = Y[i, j] == Y[i, j - 1] + gap_extend
            j -= 1
            top.append("-")
            bottom.append(b[j])
            state = 2 if stay else 0
    top, bottom = "".join(reversed(top)), "".join(reversed(bottom))
    print(top, bottom, sep="\n")
    identity = sum(x == y for x, y in zip(top, bottom)) / len(top)
    return max(M[n, m], X[n, m], Y[n, m]), identity


@dataclass(frozen=True)
class Variogram:
    nugget: float
    sill: float
    range: float
    model: str = "spherical"

    def __call__(self, h):
        if self.model == "spherical":
            r = np.minimum(h / self.range, 1)
            g = 1.5 * r - 0.5 * r**3
        elif self.model == "exponential":
            g = 1 - np.exp(-3 * h / self.range)
        else:
            raise ValueError(f"unknown model {self.model!r}")
        return np.where(h > 0, self.nugget + (self.sill - self.nugget) * g, 0.0)


@program(lambda rng: (rng.uniform(0, 10, (18, 2)), rng.normal(5, 2, 18), rng.choice(["spherical", "exponential"])))
def ordinary_kriging(points, values, model):
    """min of a generator of callable objects; distances of pairs."""
    i, j = np.triu_indices(len(points), k=1)
    h = np.hypot(*(points[i] - points[j]).T)
    g = 0.5 * (values[i] - values[j]) ** 2
    edges = np.linspace(0, h.max() / 2, 7)
    which = np.digitize(h, edges)
    lags = np.array([(h[m].mean(), g[m].mean(), m.sum()) for m in (which == k for k in range(1, len(edges))) if m.any()])
    best = min(
        (Variogram(0.1 * s, s, r, model) for s in np.linspace(0.5, 1.5, 5) * values.var() for r in (2.0, 4.0, 8.0)),
        key=lambda v: np.sum(lags[:, 2] * (v(lags[:, 0]) - lags[:, 1]) ** 2),
    )
    n = len(points)
    K = np.ones((n + 1, n + 1))
    K[:n, :n] = best(np.linalg.norm(points[:, None] - points[None], axis=2))
    K[n, n] = 0
    gx, gy = np.meshgrid(np.linspace(0, 10, 6), np.linspace(0, 10, 5))
    targets = np.column_stack([gx.ravel(), gy.ravel()])
    k = np.ones((n + 1, len(targets)))
    k[:n] = best(np.linalg.norm(points[:, None] - targets[None], axis=2))
    w = np.linalg.solve(K, k)
    z = (w[:n] * values[:, None]).sum(0).reshape(gx.shape)
    variance = np.einsum("ij,ij->j", w, k).reshape(gx.shape)
    return lags, best, z, variance


Layer = namedtuple("Layer", "thickness velocity")


def travel_time(p, layers):
    t = x = 0.0
    for layer in layers:
        eta = math.sqrt(1 / layer.velocity**2 - p * p)
        x += 2 * layer.thickness * p / eta
        t += 2 * layer.thickness / (layer.velocity**2 * eta)
    return x, t


@program(lambda rng: (rng.uniform(-10, 10, (6, 2)), rng.uniform(-3, 3, 2), rng.normal(0, 0.02, 6)))
def locate_event(stations, epicentre, noise):
    """Grids that narrow, best by a tuple with None."""
    layers = [Layer(2.0, 3.0), Layer(3.0, 4.5), Layer(5.0, 6.0)]
    pmax = 0.999 / max(layer.velocity for layer in layers)
    table = sorted(travel_time(p, layers) for p in np.linspace(0, pmax, 40))
    X, T = np.array(table).T
    distance = np.hypot(*(stations - epicentre).T)
    picks = np.interp(distance, X, T) + noise
    best = (math.inf, None)
    size, centre = 8.0, np.zeros(2)
    for level in range(4):
        for dx, dy in itertools.product(np.linspace(-size, size, 9), repeat=2):
            trial = centre + (dx, dy)
            predicted = np.interp(np.linalg.norm(stations - trial, axis=1), X, T)
            r = picks - predicted
            misfit = float(np.sum((r - r.mean()) ** 2))
            if misfit < best[0]:
                best = misfit, trial
        centre, size = best[1], size / 4
    return best[1], best[0], X[-1]


def gaussian_kernel(sigma, truncate=3.0):
    radius = int(truncate * sigma + 0.5)
    x = np.arange(-radius, radius + 1)
    k = np.exp(-0.5 * (x / sigma) ** 2)
    return k / k.sum()


def blur(image, sigma):
    k = gaussian_kernel(sigma)
    r = len(k) // 2
    p = np.pad(image, ((r, r), (0, 0)), mode="reflect")
    image = sum(w * p[i : i + image.shape[0]] for i, w in enumerate(k))
    p = np.pad(image, ((0, 0), (r, r)), mode="reflect")
    return sum(w * p[:, i : i + image.shape[1]] for i, w in enumerate(k))


class KeyPoint(NamedTuple):
    x: int
    y: int
    octave: int
    scale: float
    angle: float


@program(lambda rng: (rng.uniform(0, 1, (24, 24)),))
def scale_space_extrema(image):
    """Cubes around each point; named tuples, sorted by a key."""
    keypoints = []
    for octave in range(2):
        sigmas = [0.8 * 2 ** (s / 2) for s in range(4)]
        stack = np.array([blur(image, s) for s in sigmas])
        dog = np.diff(stack, axis=0)
        for s in range(1, dog.shape[0] - 1):
            for i in range(1, dog.shape[1] - 1):
                for j in range(1, dog.shape[2] - 1):
                    v = dog[s, i, j]
                    cube = dog[s - 1 : s + 2, i - 1 : i + 2, j - 1 : j + 2]
                    if abs(v) > 0.02 and (v == cube.max() or v == cube.min()):
                        gy = stack[s, i + 1, j] - stack[s, i - 1, j]
                        gx = stack[s, i, j + 1] - stack[s, i, j - 1]
                        keypoints.append(KeyPoint(j << octave, i << octave, octave, sigmas[s], math.atan2(gy, gx)))
        image = stack[2][::2, ::2]
    keypoints.sort(key=lambda kp: (kp.octave, kp.y, kp.x))
    hist, _ = np.histogram([kp.angle for kp in keypoints], bins=8, range=(-np.pi, np.pi))
    return len(keypoints), keypoints[:5], hist


@program(lambda rng: (np.sort(np.concatenate([rng.uniform(0, 10, 30), rng.uniform(4, 5, 20)])),))
def bayesian_blocks(t):
    """A table of best partitions, and a while loop back through it."""
    edges = np.concatenate([t[:1], 0.5 * (t[1:] + t[:-1]), t[-1:]])
    block_length = t[-1] - edges
    N = len(t)
    best = np.zeros(N)
    last = np.zeros(N, dtype=int)
    for R in range(N):
        width = block_length[: R + 1] - block_length[R + 1]
        count = np.arange(R + 1, 0, -1)
        fit = count * (np.log(count) - np.log(width)) - 4.0
        fit[1:] += best[:R]
        i_max = np.argmax(fit)
        last[R], best[R] = i_max, fit[i_max]
    change_points = np.zeros(N, dtype=int)
    i_cp, ind = N, N
    while True:
        i_cp -= 1
        change_points[i_cp] = ind
        if ind == 0:
            break
        ind = last[ind - 1]
    return edges[change_points[i_cp:]], best[-1]


@program(lambda rng: (30, 0.8, int(rng.integers(1000))))
def lotka_ssa(n0, t_end, seed):
    """Lambdas and changes in a list of tuples; copies of a dict are kept."""
    rng = np.random.default_rng(seed)
    state = {"prey": n0, "predator": n0 // 2}
    reactions = [
        (lambda s: 2.0 * s["prey"], {"prey": +1}),
        (lambda s: 0.05 * s["prey"] * s["predator"], {"prey": -1, "predator": +1}),
        (lambda s: 1.5 * s["predator"], {"predator": -1}),
    ]
    t = 0.0
    times, history = [0.0], [dict(state)]
    while t < t_end:
        a = np.array([rate(state) for rate, _ in reactions])
        total = a.sum()
        if total == 0:
            break
        t += rng.exponential(1 / total)
        k = int(np.searchsorted(np.cumsum(a), rng.random() * total))
        for name, change in reactions[k][1].items():
            state[name] += change
        times.append(t)
        history.append(dict(state))
    return times[-1], state, len(times), max(h["prey"] for h in history)


def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


@program(lambda rng: (rng.uniform(0, 10, (25, 2)), np.array([[2.0, 2], [8, 2], [8, 8], [2, 8]])))
def clip_hull(points, window):
    """A chain that is popped, polygons clipped edge by edge."""
    pts = sorted(map(tuple, points.tolist()))

    def half(seq):
        chain = []
        for p in seq:
            while len(chain) >= 2 and cross(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    hull = half(pts) + half(reversed(pts))
    output = hull
    for a, b in zip(window, np.roll(window, -1, axis=0)):
        subject, output = output, []
        if not subject:
            break
        s = subject[-1]
        for e in subject:
            if cross(a, b, e) >= 0:
                if cross(a, b, s) < 0:
                    t = cross(a, b, s) / (cross(a, b, s) - cross(a, b, e))
                    output.append((s[0] + t * (e[0] - s[0]), s[1] + t * (e[1] - s[1])))
                output.append(e)
            elif cross(a, b, s) >= 0:
                t = cross(a, b, s) / (cross(a, b, s) - cross(a, b, e))
                output.append((s[0] + t * (e[0] - s[0]), s[1] + t * (e[1] - s[1])))
            s = e
    x, y = np.array(output).T
    area = 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
    return len(hull), len(output), area, hull[0]


@program(lambda rng: (rng.normal(0, 1, 20), rng.normal(0.5, 1, 25)))
def resampling_tests(a, b):
    """The old generator: shuffles, choices."""
    np.random.seed(42)
    observed = b.mean() - a.mean()
    pooled = np.concatenate([a, b])
    count = 0
    for _ in range(200):
        np.random.shuffle(pooled)
        if pooled[len(a) :].mean() - pooled[: len(a)].mean() >= observed:
            count += 1
    boots = np.empty(200)
    for i in range(200):
        boots[i] = np.median(np.random.choice(b, size=len(b))) - np.median(np.random.choice(a, size=len(a)))
    low, high = np.percentile(boots, [2.5, 97.5])
    jack = np.array([np.delete(b, k).mean() for k in range(len(b))])
    se = math.sqrt((len(b) - 1) / len(b) * np.sum((jack - jack.mean()) ** 2))
    return observed, (count + 1) / 201, (low, high), se


class Unit(Enum):
    KELVIN = 0.0
    CELSIUS = 273.15


@contextmanager
def tallies(log, name):
    log.append(f"begin {name}")
    yield log
    log.append(f"end {name}")


@program(lambda rng: (rng.uniform(10, 80, 20), [0.5, 1e-3, -1e-6], Unit.CELSIUS))
def heat_with_material(T, coefficients, unit):
    """A context manager that notes, polynomials, units as an enum."""
    log = []
    conductivity = Polynomial(coefficients)
    slope = conductivity.deriv()
    T = T + unit.value
    with tallies(log, "run") as entries:
        dx, dt = 0.05, 0.001
        for step in range(50):
            k = conductivity(T)
            flux = -0.5 * (k[1:] + k[:-1]) * np.diff(T) / dx
            T[1:-1] -= dt * np.diff(flux) / dx
            if step % 25 == 0:
                entries.append(f"step {step:3d}: Tmax={T.max():.2f}")
    print(*log, sep="\n")
    roots = np.sort(np.roots(coefficients[::-1]).real)
    return T - unit.value, slope(T.mean()), roots

"""Water, snow, rocks and soil: balances by day, routing, location of earthquakes, maps."""

import heapq
from dataclasses import dataclass

import numpy as np

from .registry import program


@program(lambda rng: (np.round(rng.uniform(0, 100, (9, 9)), 3),))
def fill_and_accumulate(heights):
    rows, cols = heights.shape
    filled = heights.copy()
    seen = np.zeros(heights.shape, dtype=bool)
    heap = []
    for r in range(rows):
        for c in range(cols):
            if r in (0, rows - 1) or c in (0, cols - 1):
                heapq.heappush(heap, (heights[r, c], r, c))
                seen[r, c] = True
    while heap:
        level, r, c = heapq.heappop(heap)
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            i, j = r + dr, c + dc
            if 0 <= i < rows and 0 <= j < cols and not seen[i, j]:
                seen[i, j] = True
                filled[i, j] = max(level, heights[i, j])
                heapq.heappush(heap, (filled[i, j], i, j))
    volume = (filled - heights).sum()
    return filled, volume, int((filled > heights).sum())


@program(lambda rng: (rng.permutation(64).reshape(8, 8).astype(float),))
def drainage_area(heights):
    rows, cols = heights.shape
    area = np.ones((rows, cols))
    target = -np.ones((rows, cols), dtype=int)
    order = np.argsort(heights, axis=None)[::-1]
    neighbours = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    for flat in order:
        r, c = divmod(int(flat), cols)
        best, where = 0.0, None
        for a, b in neighbours:
            i, j = r + a, c + b
            if not (0 <= i < rows and 0 <= j < cols):
                continue
            slope = (heights[r, c] - heights[i, j]) / np.hypot(a, b)
            if slope > best:
                best, where = slope, (i, j)
        if where is not None:
            area[where] += area[r, c]
            target[r, c] = where[0] * cols + where[1]
    sinks = [(int(r), int(c)) for r, c in np.argwhere(target < 0)]
    return area, target, sinks


@dataclass(frozen=True)
class Variogram:
    nugget: float
    sill: float
    reach: float

    def __call__(self, h):
        h = np.asarray(h, dtype=float)
        inside = self.nugget + self.sill * (1.5 * h / self.reach - 0.5 * (h / self.reach) ** 3)
        return np.where(h == 0, 0.0, np.where(h < self.reach, inside, self.nugget + self.sill))


@program(lambda rng: (rng.uniform(0, 10, (12, 2)), rng.normal(size=12), rng.uniform(0, 10, (5, 2))))
def ordinary_kriging(points, values, targets):
    model = Variogram(0.1, 1.0, 6.0)
    n = len(points)
    system = np.ones((n + 1, n + 1))
    system[n, n] = 0
    for i in range(n):
        for j in range(n):
            system[i, j] = model(np.linalg.norm(points[i] - points[j]))
    estimates, variances = [], []
    for target in targets:
        right = np.append(model(np.linalg.norm(points - target, axis=1)), 1.0)
        weights = np.linalg.solve(system, right)
        estimates.append(weights[:n] @ values)
        variances.append(weights @ right)
    return np.array(estimates), np.array(variances)


CONSTITUENTS = {"M2": 12.4206, "S2": 12.0, "K1": 23.9345, "O1": 25.8193}


@program(lambda rng: (np.arange(240.0), rng.uniform(0.2, 2, 4), rng.uniform(0, 6, 4)))
def tidal_harmonics(hours, amplitudes, phases):
    level = np.full_like(hours, 3.0)
    for (name, period), a, p in zip(CONSTITUENTS.items(), amplitudes, phases):
        level += a * np.cos(2 * np.pi * hours / period - p)
    columns = [np.ones_like(hours)]
    for period in CONSTITUENTS.values():
        w = 2 * np.pi / period
        columns += [np.cos(w * hours), np.sin(w * hours)]
    solution = np.linalg.lstsq(np.stack(columns, axis=-1), level, rcond=None)[0]
    report = {}
    for k, name in enumerate(CONSTITUENTS):
        c, s = solution[2 * k + 1 : 2 * k + 3]
        report[name] = (np.hypot(c, s), np.arctan2(s, c) % (2 * np.pi))
    highs = [t for t in range(1, len(level) - 1) if level[t - 1] < level[t] >= level[t + 1]]
    spacing = np.diff(highs)
    return report, len(highs), spacing.mean(), level[highs].max()


@program(lambda rng: (np.sort(rng.uniform(0, 365, 30)), rng.uniform(2.5, 6, 30), 4.0))
def aftershock_clusters(times, magnitudes, least):
    clusters, current = [], []
    for t, m in zip(times, magnitudes):
        if current and t - current[-1][0] > 15:
            clusters.append(current)
            current = []
        current.append((t, m))
    clusters.append(current)
    summary = []
    for cluster in clusters:
        biggest = max(cluster, key=lambda quake: quake[1])
        if biggest[1] < least:
            continue
        energy = sum(10 ** (1.5 * m + 4.8) for _, m in cluster)
        summary.append((len(cluster), float(biggest[0]), np.log10(energy)))
    above = magnitudes[magnitudes >= 3.0]
    b_value = np.log10(np.e) / (above.mean() - 2.95)
    return summary, b_value


@program(lambda rng: (rng.uniform(0, 1, 24), rng.uniform(15, 30, 24)))
def irrigation_plan(moisture, temperature):
    class Valve:
        def __init__(self, litres):
            self.litres = litres
            self.open_hours = []

        def water(self, hour):
            self.open_hours.append(hour)
            self.litres -= 10
            return 0.15

    valve = Valve(60)
    level = moisture[0]
    levels = []
    for hour in range(24):
        level -= 0.002 * temperature[hour]
        if level < 0.3 and valve.litres > 0 and not 10 <= hour < 16:
            level += valve.water(hour)
        level = float(np.clip(level, 0, 1))
        levels.append(level)
    return levels, valve.open_hours, valve.litres

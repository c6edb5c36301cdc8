"""Doses, tests, heartbeats, enzymes, and what several studies say together."""

from typing import NamedTuple

import numpy as np

from .registry import program


class Drug(NamedTuple):
    volume: float
    clearance: float
    absorption: float
    bioavailability: float = 0.8


DOSES = [(0.0, 500.0), (8.0, 500.0), (16.0, 250.0)]


@program(lambda rng: (Drug(float(rng.uniform(20, 40)), float(rng.uniform(2, 5)), 1.2), DOSES, 24.0))
def doses_by_mouth(drug, doses, hours):
    dt = 0.1
    gut = plasma = 0.0
    pending = sorted(doses)
    peak, above, levels = (0.0, 0.0), 0.0, []
    for step in range(int(round(hours / dt))):
        t = step * dt
        while pending and pending[0][0] <= t + 1e-9:
            _, amount = pending.pop(0)
            gut += drug.bioavailability * amount
        absorbed = drug.absorption * gut
        gut -= dt * absorbed
        plasma += dt * (absorbed - drug.clearance / drug.volume * plasma)
        level = plasma / drug.volume
        if level > peak[1]:
            peak = (t, level)
        above += dt * (level > 8.0)
        if step % 40 == 0:
            levels.append(level)
    return peak, above, np.array(levels)


@program(lambda rng: (np.round(rng.normal(0, 1, 40), 3), rng.random(40) < 0.4))
def roc_curve_and_cutoff(scores, sick):
    sick[0], sick[1] = True, False
    points = []
    for threshold in sorted(set(scores.tolist()), reverse=True):
        positive = scores >= threshold
        tpr = (positive & sick).sum() / sick.sum()
        fpr = (positive & ~sick).sum() / (~sick).sum()
        points.append((fpr, tpr, threshold))
    curve = np.array([(0.0, 0.0)] + [p[:2] for p in points])
    area = np.sum(np.diff(curve[:, 0]) * (curve[1:, 1] + curve[:-1, 1]) / 2)
    best = max(points, key=lambda p: (round(p[1] - p[0], 9), p[2]))
    return area, best[2], len(points)


@program(lambda rng: (rng.normal(0.4, 0.3, 8), rng.uniform(0.02, 0.2, 8), [f"study {k}" for k in range(8)]))
def meta_analysis(effects, variances, names):
    def pooled(weights):
        mean = np.average(effects, weights=weights)
        return mean, 1 / np.sqrt(weights.sum())

    fixed, fixed_error = pooled(1 / variances)
    q = np.sum((effects - fixed) ** 2 / variances)
    w = 1 / variances
    tau2 = max(0.0, (q - (len(effects) - 1)) / (w.sum() - (w**2).sum() / w.sum()))
    mean, error = pooled(1 / (variances + tau2))
    for name, e, v in zip(names, effects, variances):
        low, high = e - 1.96 * np.sqrt(v), e + 1.96 * np.sqrt(v)
        print(f"{name:10} {e:6.2f} [{low:6.2f}, {high:6.2f}] {'*' if low > 0 else ''}")
    without = {n: np.average(np.delete(effects, k), weights=np.delete(w, k)) for k, n in enumerate(names)}
    return mean, error, tau2, max(without, key=lambda n: abs(without[n] - fixed))


@program(lambda rng: (rng.integers(0, 4, 50), rng.integers(0, 4, 50)))
def agreement_of_raters(first, second):
    k = int(max(first.max(), second.max())) + 1
    table = np.zeros((k, k))
    np.add.at(table, (first, second), 1)
    table /= table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    weights = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) / (k - 1)
    kappa = (np.trace(table) - np.trace(expected)) / (1 - np.trace(expected))
    weighted = 1 - (weights * table).sum() / (weights * expected).sum()
    label = "poor" if kappa < 0 else "slight" if kappa < 0.2 else "fair" if kappa < 0.4 else "good"
    return kappa, weighted, label


@program(lambda rng: (np.array([70.0, 20.0, 3.0]), rng.uniform(0.3, 0.7), 0.1, rng.random(12)))
def insulin_pump(start, target, gain, meals):
    glucose, insulin, memory = start
    given, alarms = [], []
    for hour in range(12):
        glucose += 40 * meals[hour]
        error = glucose / 100 - target
        memory = 0.9 * memory + error
        dose = gain * (5 * error + memory)
        if glucose < 60:
            dose = 0.0
            alarms.append(f"{hour:02d}:00 low {glucose:.0f}")
        elif glucose > 180:
            alarms.append(f"{hour:02d}:00 high {glucose:.0f}")
        dose = max(dose, 0.0)
        given.append(dose)
        insulin = 0.7 * insulin + dose
        glucose -= 2 * insulin + 0.1 * (glucose - 80)
    return glucose, given, alarms

"""Programs whose lists have gaps: readings that are None, results that are texts, arrays that do not fit."""

import itertools

import numpy as np

from .registry import program


@program(lambda rng: (rng.normal(size=7),))
def missing_readings(x):
    readings = [float(v) if abs(v) < 1 else None for v in x]
    gaps = [i for i, v in enumerate(readings) if v is None]
    filled = list(readings)
    for i in range(len(filled)):
        if filled[i] is None:
            filled[i] = filled[i - 1] if i and filled[i - 1] is not None else 0.0
    pairs = [b - a for a, b in zip(readings, readings[1:]) if a is not None and b is not None]
    return (gaps, filled, pairs, readings.count(None), len(readings), None in readings)


@program(lambda rng: (rng.uniform(9, 12, 6), 11.3))
def race_results(times, limit):
    results = [None] * len(times)
    for i, t in enumerate(times):
        if t < limit:
            results[i] = t
    ranking = sorted(range(len(results)), key=lambda i: (results[i] is None, results[i] or 0.0))
    best = min(results, key=lambda t: limit if t is None else t)
    table = {f"lane {i}": "DNF" if t is None else f"{t:.2f}" for i, t in enumerate(results, start=1)}
    return (ranking, best, table, dict(zip("abcd", results)))


@program(lambda rng: (rng.normal(size=5), rng.normal(size=(2, 5))))
def careful_joins(x, rows):
    out = []
    for parts in ((x, x), (x, rows), (rows, rows), (x[None], rows), (rows, rows[:, 1:])):
        try:
            out.append(np.concatenate(parts).shape)
        except ValueError as error:
            out.append(str(error))
    return out


@program(lambda rng: (rng.normal(size=50), 6))
def text_histogram(x, bins):
    h, e = np.histogram(x, bins)
    lines = []
    for c, a, b in zip(h, e, e[1:]):
        lines.append(f"[{a:+.2f},{b:+.2f}) " + "*" * int(round(30 * c / h.max())) + f" {c}")
    return "\n".join(lines)


@program(
    lambda rng: (
        "name,score,group\n" + "\n".join(f"p{i},{rng.integers(0, 100)},{'ab'[rng.integers(0, 2)]}" for i in range(8)),
        rng.normal(size=3),
    )
)
def csv_groups(text, weights):
    header, *rows = text.splitlines()
    cols = header.split(",")
    recs = [dict(zip(cols, row.split(","))) for row in rows]
    groups = {}
    for rec in recs:
        groups.setdefault(rec["group"], []).append(float(rec["score"]))
    lines = []
    for g in sorted(groups):
        v = np.array(groups[g])
        lines.append(f"{g:>3}|{v.mean():8.2f}|{(v.std(ddof=1) if len(v) > 1 else 0):8.2f}")
    print("\n".join(lines))
    return {g: weights.sum() * np.mean(v) for g, v in groups.items()}


@program(lambda rng: (rng.normal(size=30), rng.normal(size=30)))
def ols_table(x, y):
    X = np.column_stack([np.ones_like(x), x, x**2])
    beta, res, rank, sv = np.linalg.lstsq(X, y, rcond=None)
    e = y - X @ beta
    s2 = e @ e / (len(y) - X.shape[1])
    se = np.sqrt(np.diag(s2 * np.linalg.inv(X.T @ X)))
    lines = [f"{'term':<8}{'coef':>10}{'se':>10}{'t':>8}"]
    for name, b, s in zip(["const", "x", "x^2"], beta, se):
        lines.append(f"{name:<8}{b:>10.4f}{s:>10.4f}{b / s:>8.2f}" + ("*" if abs(b / s) > 2 else ""))
    print("-" * 36, *lines, sep="\n")
    return (rank, sv, res)


@program(lambda rng: (rng.integers(0, 2, (9, 9)),))
def run_length_decode(img):
    enc = []
    for row in img:
        enc.append([(int(k), len(list(g))) for k, g in itertools.groupby(row)])
    dec = np.array([sum(([k] * c for k, c in row), []) for row in enc])
    return (enc, (dec == img).all())

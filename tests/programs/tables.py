"""Data work: text to numbers, missing values, groups, pivots, dates, reports; climate, logs, sensors, surveys."""

import io
import json
import operator
from collections import defaultdict, namedtuple
from datetime import date, timedelta

import numpy as np

from .registry import program

CSV = """station,month,temp,rain
N,1,-3.5,40
N,7,18.2,90
S,1,4.1,35
S,7,27.9,
N,4,,55
S,4,15.5,61
"""


@program(lambda rng: (CSV, rng.uniform(-1, 1)))
def read_table(text, offset):
    """A text as argument is parsed by hand; what is missing becomes NaN; a pivot."""
    lines = text.strip().splitlines()
    header = lines[0].split(",")
    columns = {name: [] for name in header}
    for line in lines[1:]:
        for name, cell in zip(header, line.split(",")):
            columns[name].append(cell)
    temp = np.array([float(c) if c else np.nan for c in columns["temp"]]) + offset
    rain = np.array([float(c or "nan") for c in columns["rain"]])
    month = np.array(columns["month"], dtype=int)
    stations = sorted(set(columns["station"]))
    pivot = np.full((len(stations), 3), np.nan)
    for s, m, t in zip(columns["station"], month, temp):
        pivot[stations.index(s), (m - 1) // 3] = t
    filled = np.where(np.isnan(temp), np.nanmean(temp), temp)
    for s, row in zip(stations, pivot):
        print(s, " ".join("   --" if np.isnan(v) else f"{v:5.1f}" for v in row))
    return pivot, filled, np.nansum(rain), np.isnan(rain).nonzero()[0]


@program(lambda rng: (rng.integers(0, 5, 30), rng.uniform(1, 20, 30), rng.integers(1, 4, 30)))
def basket_summary(customer, price, quantity):
    """groupby in four ways that must agree."""
    spend = price * quantity
    loop = defaultdict(float)
    for c, s in zip(customer, spend):
        loop[int(c)] += s
    masks = {int(c): spend[customer == c].sum() for c in np.unique(customer)}
    counted = np.bincount(customer, weights=spend, minlength=5)
    order = np.argsort(customer, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(customer[order]) != 0])
    reduced = np.add.reduceat(spend[order], starts)
    for c, r in zip(customer[order][starts], reduced):
        assert np.isclose(loop[int(c)], r) and np.isclose(masks[int(c)], counted[c])
    ranking = sorted(loop.items(), key=operator.itemgetter(1), reverse=True)
    return ranking[:3], counted, np.round(reduced / reduced.sum() * 100, 1)


@program(lambda rng: (rng.uniform(0, 100, 30), date(2024, 2, 20)))
def weekly_means(values, start):
    """Dates are computed in Python, their weeks are keys of groups."""
    weeks = {}
    for n, v in enumerate(values):
        day = start + timedelta(days=n)
        key = day.strftime("%G-W%V")
        total, count = weeks.get(key, (0.0, 0))
        weeks[key] = (total + v, count + 1)
    means = {key: total / count for key, (total, count) in weeks.items()}
    weekend = np.array([(start + timedelta(days=i)).weekday() >= 5 for i in range(len(values))])
    for key, mean in means.items():
        print(f"{key}: {mean:6.2f} {'*' * int(mean // 10)}")
    return means, values[weekend].mean() - values[~weekend].mean()


@program(
    lambda rng: ('{"layers": [4, 3, 2], "activation": "tanh", "scale": 0.5}', rng.normal(size=(5, 4)), rng.normal(size=30))
)
def network_from_json(config, x, weights):
    """json decides the shapes; getattr finds the function."""
    cfg = json.loads(config)
    act = getattr(np, cfg["activation"])
    sizes = cfg["layers"]
    offset = 0
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        W = weights[offset : offset + n_in * n_out].reshape(n_in, n_out)
        offset += W.size
        b = weights[offset : offset + n_out]
        offset += n_out
        x = act(cfg["scale"] * (x @ W + b))
    cfg["used"] = offset
    return x, json.dumps({k: cfg[k] for k in sorted(cfg)})


@program(lambda rng: (rng.normal(size=(5, 3)), rng.integers(0, 9, 4)))
def text_of_arrays(a, b):
    """What NumPy prints for arrays, in files that are in memory."""
    out = io.StringIO()
    for row in a:
        out.write(",".join("%.3f" % v for v in row) + "\n")  # noqa: UP031
    print(b, b / 4, b > 3, sep="; ", file=out)
    print(np.array2string(a, precision=2, suppress_small=True), file=out)
    text = out.getvalue()
    with np.printoptions(precision=3, suppress=True):
        print(a[0], a.mean().round(6))
    print(repr(b), str(b[0]), f"{a[0, 0]:.3e}", f"{a[1, 1]:>8.2f}|{b[1]:<6d}|")
    return len(text.splitlines()), text.count(",")


Reading = namedtuple("Reading", "time sensor value")


@program(
    lambda rng: (
        [(float(t), int(s), float(v)) for t, s, v in zip(np.arange(24.0), rng.integers(0, 3, 24), rng.normal(20, 2, 24))],
        1.5,
    )
)
def sensor_log(records, limit):
    """A list of tuples becomes named tuples, is filtered, grouped and turned into arrays."""
    readings = [Reading(*r) for r in records]
    by_sensor = {}
    for r in readings:
        by_sensor.setdefault(r.sensor, []).append(r)
    summary = {}
    for sensor in sorted(by_sensor):
        rs = by_sensor[sensor]
        values = np.array([r.value for r in rs])
        times = np.array([r.time for r in rs])
        centred = values - values.mean()
        spikes = [r.time for r, c in zip(rs, centred) if abs(c) > limit]
        rate = np.polyfit(times, values, 1)[0] if len(rs) > 1 else 0.0
        summary[sensor] = (values.mean(), rate, spikes)
    return summary


@program(lambda rng: (rng.normal(size=(6, 4)), ["a", "b", "c", "d"]))
def small_frame(data, names):
    """A data frame in 20 lines: __getitem__ with a text or a mask, __setitem__, apply, methods that chain."""

    class Frame:
        def __init__(self, columns):
            self._c = dict(columns)

        def __getitem__(self, key):
            if isinstance(key, str):
                return self._c[key]
            return Frame({n: v[key] for n, v in self._c.items()})

        def __setitem__(self, name, values):
            self._c[name] = np.broadcast_to(values, self.shape[0]).copy()

        @property
        def shape(self):
            return len(next(iter(self._c.values()))), len(self._c)

        def apply(self, f, *args, **kw):
            return Frame((n, f(v, *args, **kw)) for n, v in self._c.items())

        def to_numpy(self):
            return np.column_stack(list(self._c.values()))

    f = Frame(zip(names, data.T))
    f["e"] = f["a"] * f["b"]
    f["f"] = 1.5
    positive = f[f["a"] > 0]
    ranked = f.apply(np.argsort, kind="stable").apply(lambda v, by: v + by, by=1)
    if "z" in f._c:
        raise AssertionError
    return positive.shape[1], positive.to_numpy().sum(axis=0), ranked.to_numpy(), f.shape

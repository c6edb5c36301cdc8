"""Rows of tables as people keep them in notebooks: lists of dicts, counters, groups, joins and rankings."""

import bisect
import itertools
import math
import operator
import statistics
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from .registry import program


def orders(rng, n):
    amounts = np.round(rng.uniform(5, 90, n), 2).tolist()
    columns = zip(range(n), rng.integers(0, 5, n).tolist(), amounts, rng.integers(1, 29, n).tolist())
    return [dict(zip(("id", "customer", "amount", "day"), row)) for row in columns]


@program(lambda rng: (orders(rng, 14), float(rng.uniform(20, 40))))
def enriched_rows(rows, threshold):
    """New columns are added to each row, rows are filtered, and the columns transposed."""
    for row in rows:
        row["big"] = row["amount"] > threshold
        row["week"] = (row["day"] - 1) // 7
    kept = [row for row in rows if row["big"]]
    columns = {key: [row[key] for row in kept] for key in ("id", "amount", "week")}
    per_week = [0.0] * 4
    for row in rows:
        per_week[min(row["week"], 3)] += row["amount"]
    share = [round(w / sum(per_week), 4) for w in per_week]
    return columns, share, len(kept)


@program(lambda rng: (orders(rng, 14), {0: "north", 1: "south", 2: "north", 3: "west"}))
def join_and_pivot(rows, regions):
    """A left join with a lookup table, then a pivot of region by half of the month."""
    pivot = {}
    for row in rows:
        region = regions.get(row["customer"], "unknown")
        half = "first" if row["day"] <= 14 else "second"
        pivot.setdefault(region, {"first": 0.0, "second": 0.0})[half] += row["amount"]
    lines = []
    for region in sorted(pivot):
        cells = pivot[region]
        lines.append(f"{region:<8}|{cells['first']:>9.2f}|{cells['second']:>9.2f}")
    return "\n".join(lines), pivot


@program(lambda rng: (rng.integers(0, 4, 20).tolist(), np.round(rng.normal(50, 10, 20), 1).tolist()))
def groupby_with_itertools(keys, values):
    pairs = sorted(zip(keys, values), key=operator.itemgetter(0))
    report = []
    for key, group in itertools.groupby(pairs, key=operator.itemgetter(0)):
        members = [v for _, v in group]
        report.append({"key": key, "n": len(members), "mean": sum(members) / len(members), "top": max(members)})
    return report


@dataclass
class Column:
    name: str
    values: list = field(default_factory=list)

    def append(self, value):
        self.values.append(value)

    @property
    def missing(self):
        return sum(1 for v in self.values if math.isnan(v))

    def filled(self, how="mean"):
        known = [v for v in self.values if not math.isnan(v)]
        value = statistics.fmean(known) if how == "mean" else sorted(known)[len(known) // 2]
        return [value if math.isnan(v) else v for v in self.values]


@program(lambda rng: (np.where(rng.random((12, 3)) < 0.25, np.nan, np.round(rng.normal(5, 2, (12, 3)), 2)),))
def impute_columns(table):
    """Columns as objects that count and fill what is missing."""
    table[0] = [1.0, 2.0, 3.0]
    columns = [Column("a"), Column("b"), Column("c")]
    for row in table:
        for column, value in zip(columns, row):
            column.append(float(value))
    filled = {c.name: c.filled("mean" if k % 2 == 0 else "median") for k, c in enumerate(columns)}
    return {c.name: c.missing for c in columns}, np.array(list(filled.values())).T


Event = namedtuple("Event", "user time kind")


def clicks(rng, n):
    times = np.sort(rng.uniform(0, 200, n)).round(2).tolist()
    return [Event(*row) for row in zip(rng.integers(0, 4, n).tolist(), times, rng.integers(0, 3, n).tolist())]


@program(lambda rng: (clicks(rng, 24), 15.0))
def sessions_of_users(events, gap):
    """Clicks become sessions: a user who is away for longer than the gap begins a new one."""
    last_seen = {}
    session_of = {}
    lengths = defaultdict(list)
    for event in events:
        user = event.user
        if user not in last_seen or event.time - last_seen[user] > gap:
            session_of[user] = session_of.get(user, -1) + 1
            lengths[user].append(0)
        lengths[user][-1] += 1
        last_seen[user] = event.time
    total = sum(len(v) for v in lengths.values())
    return {u: list(v) for u, v in sorted(lengths.items())}, total, max(max(v) for v in lengths.values())


@program(lambda rng: (rng.integers(0, 6, 30).tolist(), 3))
def market_basket_pairs(items, size):
    """Pairs that are bought together, counted over baskets of a fixed size."""
    baskets = [sorted(set(items[k : k + size])) for k in range(0, len(items), size)]
    pairs = Counter()
    singles = Counter()
    for basket in baskets:
        singles.update(basket)
        for a, b in itertools.combinations(basket, 2):
            pairs[a, b] += 1
    rules = []
    for (a, b), count in pairs.items():
        lift = count * len(baskets) / (singles[a] * singles[b])
        rules.append((round(lift, 6), a, b))
    rules.sort(key=lambda rule: (-rule[0], rule[1], rule[2]))
    return rules[:3], len(baskets)


@program(lambda rng: (np.round(rng.gamma(2.0, 10.0, 40), 2),))
def latency_report(samples):
    """Percentiles, buckets by bisection, and a text histogram."""
    ordered = sorted(samples.tolist())

    def percentile(p):
        k = (len(ordered) - 1) * p / 100
        low, high = math.floor(k), math.ceil(k)
        if low == high:
            return ordered[low]
        return ordered[low] * (high - k) + ordered[high] * (k - low)

    edges = [5, 10, 20, 40, 80]
    buckets = [0] * (len(edges) + 1)
    for s in ordered:
        buckets[bisect.bisect_left(edges, s)] += 1
    bars = ["#" * b for b in buckets]
    return {f"p{p}": round(percentile(p), 3) for p in (50, 90, 99)}, buckets, bars


@program(lambda rng: (rng.integers(0, 100, 16).tolist(), rng.integers(0, 3, 16).tolist()))
def rank_within_groups(scores, groups):
    """Dense ranks within each group, and a z-score of each member of a group of more than one."""
    members = {}
    for k, g in enumerate(groups):
        members.setdefault(g, []).append(k)
    ranks = [0] * len(scores)
    z = [0.0] * len(scores)
    for g, where in members.items():
        distinct = sorted({scores[k] for k in where}, reverse=True)
        for k in where:
            ranks[k] = distinct.index(scores[k]) + 1
        if len(where) > 1:
            mean = sum(scores[k] for k in where) / len(where)
            sd = math.sqrt(sum((scores[k] - mean) ** 2 for k in where) / (len(where) - 1))
            for k in where:
                z[k] = (scores[k] - mean) / sd if sd > 0 else 0.0
    return ranks, z


@program(lambda rng: (rng.integers(1, 20, 12).tolist(), rng.integers(1, 20, 12).tolist()))
def merge_two_ledgers(left, right):
    """An outer join of two sorted ledgers, by hand, as merges are written."""
    a, b = Counter(left), Counter(right)
    keys_a, keys_b = sorted(a), sorted(b)
    i = j = 0
    merged = OrderedDict()
    while i < len(keys_a) or j < len(keys_b):
        if j == len(keys_b) or (i < len(keys_a) and keys_a[i] < keys_b[j]):
            merged[keys_a[i]] = (a[keys_a[i]], 0)
            i += 1
        elif i == len(keys_a) or keys_b[j] < keys_a[i]:
            merged[keys_b[j]] = (0, b[keys_b[j]])
            j += 1
        else:
            merged[keys_a[i]] = (a[keys_a[i]], b[keys_b[j]])
            i += 1
            j += 1
    return list(merged.items()), sum(x for x, _ in merged.values())


@program(lambda rng: (rng.integers(0, 5, (18, 2)), np.round(rng.uniform(0, 5, 18), 2)))
def nested_counts(pairs, weights):
    """A dict of dicts of what follows what, and the likeliest one of each."""
    table = {}
    for (a, b), w in zip(pairs, weights):
        a, b = int(a), int(b)
        if a not in table:
            table[a] = {}
        table[a][b] = table[a].get(b, 0.0) + float(w)
    best = {a: max(row, key=row.get) for a, row in table.items()}
    normalized = {a: {b: w / sum(row.values()) for b, w in row.items()} for a, row in table.items()}
    return best, normalized


def people(rng, n):
    heights = rng.normal(170, 9, n).round(1).tolist()
    tags = itertools.cycle([["a"], ["b", "a"], []])
    return [{"name": f"p{k}", "height": h, "tags": t} for k, (h, t) in enumerate(zip(heights, tags))]


@program(lambda rng: (people(rng, 10),))
def people_with_tags(people):
    by_tag = defaultdict(list)
    for person in people:
        for tag in person["tags"]:
            by_tag[tag].append(person["height"])
    stats = {tag: (min(v), max(v), round(statistics.mean(v), 3)) for tag, v in sorted(by_tag.items())}
    tallest = max(people, key=lambda p: p["height"])
    shortest = min(people, key=lambda p: p["height"])
    product = reduce(lambda acc, p: acc * (p["height"] / 170.0), people, 1.0)
    return stats, tallest["name"], shortest["name"], product


@program(lambda rng: (np.cumsum(rng.normal(0, 1, 24)).round(3), 5))
def rolling_columns(prices, window):
    """Rolling means, returns and drawdowns as a list of rows, as data frames give them."""
    rows = []
    peak = -math.inf
    for k, price in enumerate(prices):
        recent = prices[max(0, k - window + 1) : k + 1]
        peak = max(peak, price)
        previous = rows[-1]["price"] if rows else price
        rows.append({"price": price, "mean": recent.mean(), "change": price - previous, "drawdown": peak - price})
    worst = max(rows, key=lambda row: row["drawdown"])
    ups = sum(row["change"] > 0 for row in rows)
    return [row["mean"] for row in rows], worst["drawdown"], int(ups)


@program(lambda rng: (rng.integers(0, 50, 20).tolist(), [(0, 10, "low"), (10, 30, "mid"), (30, 50, "high")]))
def binned_by_rules(values, rules):
    names = []
    for v in values:
        for low, high, name in rules:
            if low <= v < high:
                names.append(name)
                break
    counts = Counter(names)
    order = [name for name, _ in counts.most_common()]
    changes = sum(1 for a, b in zip(names, names[1:]) if a != b)
    longest = max((len(list(g)) for _, g in itertools.groupby(names)), default=0)
    return counts, order, changes, longest

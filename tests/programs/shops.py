"""Shops and offices: stock, picking, taxes, retention, claims, auctions, forecasts."""

from collections import Counter, namedtuple
from dataclasses import dataclass

import numpy as np

from .registry import program

Order = namedtuple("Order", "arrives amount")


@program(lambda rng: (rng.poisson(8, 60), {"s": 20, "S": 60, "lead": 3, "hold": 0.1, "short": 2.0, "fixed": 15.0}))
def reorder_policy(demand, policy):
    stock, pipeline = policy["S"], []
    cost = {"holding": 0.0, "shortage": 0.0, "ordering": 0.0}
    lost = 0
    for day, wanted in enumerate(demand):
        arrived = [o for o in pipeline if o.arrives <= day]
        pipeline = [o for o in pipeline if o.arrives > day]
        stock += sum(o.amount for o in arrived)
        sold = min(stock, int(wanted))
        lost += int(wanted) - sold
        stock -= sold
        cost["shortage"] += policy["short"] * (wanted - sold)
        cost["holding"] += policy["hold"] * stock
        position = stock + sum(o.amount for o in pipeline)
        if position < policy["s"]:
            pipeline.append(Order(day + policy["lead"], policy["S"] - position))
            cost["ordering"] += policy["fixed"]
    return stock, lost, {k: round(float(v), 2) for k, v in cost.items()}


BRACKETS = [(0, 0.0), (10_000, 0.1), (30_000, 0.2), (80_000, 0.4)]


@program(lambda rng: (np.round(rng.lognormal(10.4, 0.6, 30), 2),))
def tax_brackets(incomes):
    def tax(income):
        due = 0.0
        for (low, rate), (high, _) in zip(BRACKETS, BRACKETS[1:] + [(float("inf"), 0)]):
            if income <= low:
                break
            due += rate * (min(income, high) - low)
        return round(due, 2)

    taxes = np.array([tax(v) for v in incomes])
    net = incomes - taxes
    order = np.sort(net)
    n = len(order)
    gini = (2 * np.arange(1, n + 1) - n - 1) @ order / (n * order.sum())
    by_bracket = Counter(sum(v > low for low, _ in BRACKETS) for v in incomes)
    for k in sorted(by_bracket):
        print(f"bracket {k}: {by_bracket[k]:3d} people")
    return taxes, gini, taxes.sum() / incomes.sum()


@program(lambda rng: (100 + 20 * np.sin(np.arange(36) * np.pi / 6) + rng.normal(0, 1, 36), 12, (0.3, 0.1, 0.2)))
def holt_winters(series, season, weights):
    alpha, beta, gamma = weights
    level = series[:season].mean()
    trend = (series[season : 2 * season].mean() - level) / season
    seasonal = list(series[:season] - level)
    fitted = []
    for t, value in enumerate(series):
        s = seasonal[t % season]
        fitted.append(level + trend + s)
        last = level
        level = alpha * (value - s) + (1 - alpha) * (level + trend)
        trend = beta * (level - last) + (1 - beta) * trend
        seasonal[t % season] = gamma * (value - level) + (1 - gamma) * s
    future = [level + (h + 1) * trend + seasonal[(len(series) + h) % season] for h in range(6)]
    error = np.sqrt(np.mean((np.array(fitted) - series)[season:] ** 2))
    return future, error


@dataclass
class Bid:
    who: str
    price: float
    amount: int


def bids_of_eight(rng):
    offers = zip("ABCDEFGH", rng.uniform(1, 10, 8).tolist(), rng.integers(1, 6, 8).tolist())
    return [Bid(*offer) for offer in offers]


@program(lambda rng: (bids_of_eight(rng), 14, 2.5))
def uniform_price_auction(bids, supply, reserve):
    won, left, price = {}, supply, reserve
    for bid in sorted(bids, key=lambda b: (-b.price, b.who)):
        if left == 0 or bid.price < reserve:
            price = max(reserve, bid.price)
            break
        given = min(left, bid.amount)
        won[bid.who] = given
        left -= given
    revenue = price * sum(won.values())
    return won, price, revenue, [b.who for b in bids if b.who not in won]


@program(lambda rng: (rng.exponential(4, 30), rng.exponential(7, 30), 2, rng.random(30) < 0.2))
def triage_desk(gaps, durations, nurses, urgent):
    arrivals = np.cumsum(gaps)
    free = np.zeros(nurses)
    waits = np.zeros(len(arrivals))
    waiting = list(range(len(arrivals)))
    clock = 0.0
    order = []
    while waiting:
        nurse = int(np.argmin(free))
        clock = max(free[nurse], arrivals[waiting[0]])
        here = [p for p in waiting if arrivals[p] <= clock]
        patient = min(here, key=lambda p: (not urgent[p], arrivals[p]))
        waiting.remove(patient)
        waits[patient] = clock - arrivals[patient]
        free[nurse] = clock + durations[patient]
        order.append(patient)
    return waits, order, waits[urgent].mean() if urgent.any() else None

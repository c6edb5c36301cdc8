"""Ledgers: options on trees, order books, lots, schedules, backtests with state."""

import bisect
import heapq
import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from .registry import program


@dataclass
class Option:
    strike: float
    expiry: float
    kind: str = "call"
    style: str = "european"

    def payoff(self, s):
        if self.kind == "call":
            return max(s - self.strike, 0.0)
        return max(self.strike - s, 0.0)


@program(lambda rng: (rng.uniform(80, 120), rng.uniform(0.1, 0.5), 12))
def binomial_book(spot, sigma, steps):
    options = [
        Option(95.0, 0.5),
        Option(100.0, 1.0, "put", "american"),
        Option(105.0, 1.0, kind="call", style="american"),
    ]
    rate = 0.03
    book = {}
    for number, option in enumerate(options):
        dt = option.expiry / steps
        up = math.exp(sigma * math.sqrt(dt))
        down = 1 / up
        q = (math.exp(rate * dt) - down) / (up - down)
        discount = math.exp(-rate * dt)
        values = [option.payoff(spot * up**j * down ** (steps - j)) for j in range(steps + 1)]
        exercised = 0
        for i in range(steps - 1, -1, -1):
            new = []
            for j in range(i + 1):
                hold = discount * (q * values[j + 1] + (1 - q) * values[j])
                if option.style == "american":
                    now = option.payoff(spot * up**j * down ** (i - j))
                    if now > hold:
                        exercised += 1
                        hold = now
                new.append(hold)
            values = new
        book[f"{option.kind}-{number}"] = {"price": values[0], "exercised": exercised}
    return book


@program(lambda rng: (rng.normal(size=(40, 12)), 100.0, rng.uniform(0.1, 0.4)))
def longstaff_schwartz(normals, spot, sigma):
    n, steps = normals.shape
    dt = 1.0 / steps
    r, strike = 0.05, 100.0
    paths = spot * np.exp(np.cumsum((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * normals, axis=1))
    cash = np.maximum(strike - paths[:, -1], 0)
    when = np.full(n, steps - 1)
    for t in range(steps - 2, -1, -1):
        itm = paths[:, t] < strike
        if itm.sum() < 4:
            continue
        x = paths[itm, t] / strike
        y = cash[itm] * np.exp(-r * dt * (when[itm] - t))
        A = np.column_stack([np.ones_like(x), x, x**2])
        beta, *_ = np.linalg.lstsq(A, y, rcond=None)
        cont = A @ beta
        ex = np.maximum(strike - paths[itm, t], 0)
        go = ex > cont
        idx = np.where(itm)[0][go]
        cash[idx] = ex[go]
        when[idx] = t
    return float(np.mean(cash * np.exp(-r * dt * (when + 1)))), np.bincount(when, minlength=steps)


class Order:
    __slots__ = ("price", "qty", "side", "id")

    def __init__(self, id, side, price, qty):
        self.id, self.side, self.price, self.qty = id, side, price, qty

    def __lt__(self, other):
        return (self.price, self.id) < (other.price, other.id)


class Book:
    def __init__(self):
        self.bids = []
        self.asks = []
        self.trades = []

    def submit(self, order):
        if order.side == "B":
            while order.qty and self.asks and self.asks[0][0] <= order.price:
                price, id, qty = heapq.heappop(self.asks)
                take = min(order.qty, qty)
                self.trades.append((order.id, id, price, take))
                order.qty -= take
                if qty > take:
                    heapq.heappush(self.asks, (price, id, qty - take))
            if order.qty:
                heapq.heappush(self.bids, (-order.price, order.id, order.qty))
        else:
            while order.qty and self.bids and -self.bids[0][0] >= order.price:
                price, id, qty = heapq.heappop(self.bids)
                take = min(order.qty, qty)
                self.trades.append((id, order.id, -price, take))
                order.qty -= take
                if qty > take:
                    heapq.heappush(self.bids, (price, id, qty - take))
            if order.qty:
                heapq.heappush(self.asks, (order.price, order.id, order.qty))


@program(
    lambda rng: (
        [
            ("BS"[int(s)], int(p), int(q))
            for s, p, q in zip(rng.integers(0, 2, 6), rng.integers(95, 106, 6), rng.integers(1, 9, 6))
        ],
    )
)
def order_book(messages):
    book = Book()
    for id, (side, price, qty) in enumerate(messages):
        book.submit(Order(id, side, price, qty))
    volume = sum(q for *_, q in book.trades)
    notional = sum(p * q for _, _, p, q in book.trades)
    vwap = notional / volume if volume else None
    return book.trades, sorted(book.asks)[:3], sorted(book.bids)[:3], vwap


@program(lambda rng: (round(rng.uniform(1e5, 3e5), 2), rng.uniform(0.02, 0.07), 24))
def amortization(principal, annual, months):
    rate = annual / 12
    payment = round(principal * rate / (1 - (1 + rate) ** -months), 2)
    schedule = []
    balance = principal
    month = 0
    while balance > 0.005:
        month += 1
        interest = round(balance * rate, 2)
        capital = min(payment - interest, balance)
        balance = round(balance - capital, 2)
        schedule.append({"month": month, "interest": interest, "capital": round(capital, 2), "balance": balance})
        if month > 600:
            break
    total = sum(row["interest"] for row in schedule)
    lines = [
        f"{row['month']:>3d} {row['interest']:>10.2f} {row['capital']:>10.2f} {row['balance']:>12,.2f}" for row in schedule[:3]
    ]
    return "\n".join(lines), round(total, 2), len(schedule)


@program(lambda rng: (rng.normal(0, 0.01, 50), rng.normal(0, 0.012, 50)))
def kalman_beta(market, asset):
    state = np.zeros(2)
    P = np.eye(2)
    Q = 1e-5 * np.eye(2)
    R = 1e-3
    betas, logs = [], 0.0
    for m, a in zip(market, asset):
        H = np.array([1.0, m])
        P = P + Q
        S = H @ P @ H + R
        K = P @ H / S
        innovation = a - H @ state
        state = state + K * innovation
        P = P - np.outer(K, H) @ P
        betas.append(state[1])
        logs += -0.5 * (math.log(2 * math.pi * S) + innovation**2 / S)
    return np.array(betas), logs, P


class Signal(Enum):
    FLAT = 0
    LONG = 1
    SHORT = -1


@dataclass
class State:
    cash: float = 10_000.0
    shares: int = 0
    signal: Signal = Signal.FLAT
    peak: float = 0.0
    history: list = field(default_factory=list)

    def equity(self, price):
        return self.cash + self.shares * price


class Backtest:
    def __init__(self, fast=3, slow=8, fee=0.001):
        self.fast, self.slow, self.fee = fast, slow, fee
        self.state = State()
        self.window = deque(maxlen=slow)

    def on_price(self, price):
        self.window.append(price)
        if len(self.window) < self.slow:
            return
        prices = list(self.window)
        fast = sum(prices[-self.fast :]) / self.fast
        slow = sum(prices) / self.slow
        wanted = Signal.LONG if fast > slow * 1.001 else Signal.SHORT if fast < slow * 0.999 else Signal.FLAT
        if wanted is not self.state.signal:
            self.rebalance(wanted, price)

    def rebalance(self, wanted, price):
        target = wanted.value * int(self.state.equity(price) // price)
        traded = target - self.state.shares
        self.state.cash -= traded * price + abs(traded) * price * self.fee
        self.state.shares = target
        self.state.signal = wanted
        self.state.history.append((wanted.name, target, round(price, 2)))


@program(lambda rng: (100 * np.exp(np.cumsum(rng.normal(0, 0.02, 40))),))
def moving_average_backtest(prices):
    test = Backtest()
    curve = []
    for p in prices:
        test.on_price(float(p))
        curve.append(test.state.equity(float(p)))
    curve = np.array(curve)
    drawdown = (curve / np.maximum.accumulate(curve) - 1).min()
    return test.state.history, curve[-1], drawdown, test.state.signal.name


@program(
    lambda rng: (
        [
            {
                "name": f"s{i}",
                "sector": ["tech", "bank", "oil"][i % 3],
                "weight": float(rng.random()),
                "beta": float(rng.normal(1, 0.3)),
            }
            for i in range(6)
        ],
        rng.normal(0, 0.02, (30, 6)),
    )
)
def portfolio_report(positions, returns):
    total = sum(p["weight"] for p in positions)
    for p in positions:
        p["weight"] /= total
    by_sector = defaultdict(float)
    for p in positions:
        by_sector[p["sector"]] += p["weight"]
    w = np.array([p["weight"] for p in positions])
    cov = np.cov(returns.T)
    vol = np.sqrt(w @ cov @ w)
    marginal = cov @ w / vol
    for p, m in zip(positions, marginal):
        p["risk"] = p["weight"] * m / vol
    top = sorted(positions, key=lambda p: -p["risk"])[:3]
    pnl = returns @ w
    var95 = -np.percentile(pnl, 5)
    es = -pnl[pnl <= -var95].mean()
    return dict(by_sector), [t["name"] for t in top], vol, var95, es, max(by_sector, key=by_sector.get)


@program(lambda rng: (np.sort(rng.uniform(0.5, 10, 5)), rng.uniform(0.01, 0.05, 5)))
def bootstrapped_curve(maturities, par_rates):
    """Discount factors, then bond duration through bisect and interpolation."""
    times, factors = [0.0], [1.0]
    for T, c in zip(maturities, par_rates):
        n = max(1, int(round(T)))
        annuity = 0.0
        for i in range(1, n):
            t = T * i / n
            at = bisect.bisect_left(times, t)
            if at >= len(times):
                d = factors[-1]
            else:
                w = (t - times[at - 1]) / (times[at] - times[at - 1])
                d = factors[at - 1] * (1 - w) + factors[at] * w
            annuity += d
        factors.append((1 - c * annuity) / (1 + c))
        times.append(float(T))
    zero = [-math.log(f) / t if f > 0 else float("nan") for f, t in zip(factors[1:], times[1:])]
    return times, factors, zero


@program(
    lambda rng: (
        [
            (int(d), ["AAPL", "MSFT", "XOM"][int(i)], int(q), float(p))
            for d, i, q, p in zip(
                np.sort(rng.integers(0, 90, 5)),
                rng.integers(0, 3, 5),
                rng.integers(-8, 10, 5),
                rng.uniform(50, 60, 5),
            )
        ],
    )
)
def fifo_lots(trades):
    """Realized gains by first in, first out, with a dict of deques."""
    lots = defaultdict(deque)
    realized = defaultdict(float)
    short = Counter()
    for day, symbol, qty, price in trades:
        if qty > 0:
            lots[symbol].append([qty, price, day])
        elif qty < 0:
            left = -qty
            while left > 0:
                if not lots[symbol]:
                    short[symbol] += left
                    break
                lot = lots[symbol][0]
                used = min(left, lot[0])
                realized[symbol] += used * (price - lot[1])
                lot[0] -= used
                left -= used
                if lot[0] == 0:
                    lots[symbol].popleft()
    open_ = {s: [tuple(l) for l in d] for s, d in lots.items() if d}
    return {s: round(v, 6) for s, v in realized.items()}, open_, dict(short)

"""A trading desk: strategies, risk, curves, books, simulations."""

import math
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from dataclasses import dataclass
from enum import Enum
from functools import reduce

import numpy as np

from .registry import program

TRADING_DAYS = 252


class Side(Enum):
    BUY = 1
    SELL = -1


@dataclass(frozen=True)
class Market:
    spot: float
    rate: float
    vol: float
    dividend: float = 0.0

    def forward(self, T):
        return self.spot * np.exp((self.rate - self.dividend) * T)


class Payoff(ABC):
    @abstractmethod
    def __call__(self, paths): ...

    def __add__(self, other):
        return Combined(self, other)


class Combined(Payoff):
    def __init__(self, *parts):
        self.parts = parts

    def __call__(self, paths):
        return reduce(np.add, (p(paths) for p in self.parts))


class Asian(Payoff):
    def __init__(self, strike, sign=+1):
        self.strike, self.sign = strike, sign

    def __call__(self, paths):
        return np.maximum(self.sign * (paths.mean(axis=1) - self.strike), 0)


class Barrier(Payoff):
    def __init__(self, strike, level):
        self.strike, self.level = strike, level

    def __call__(self, paths):
        alive = (paths > self.level).all(axis=1)
        out = np.zeros(len(paths))
        out[alive] = np.maximum(paths[alive, -1] - self.strike, 0.0)
        return out


@program(lambda rng: (rng.normal(size=(60, 24)), rng.uniform(90, 110), rng.uniform(0.1, 0.4)))
def exotic_options(normals, spot, vol):
    """Abstract classes, operators, antithetic paths, Greeks by bumping with dataclasses."""
    market = Market(spot, 0.02, vol)
    payoff = Asian(100.0) + Barrier(95.0, 80.0)

    def price(m, T=1.0):
        dt = T / normals.shape[1]
        z = np.concatenate([normals, -normals])
        logs = np.cumsum((m.rate - m.vol**2 / 2) * dt + m.vol * math.sqrt(dt) * z, axis=1)
        paths = m.spot * np.exp(logs)
        values = np.exp(-m.rate * T) * payoff(paths)
        return values.mean(), values.std() / np.sqrt(len(values))

    base, error = price(market)
    bumped = Market(market.spot * 1.01, market.rate, market.vol)
    delta = (price(bumped)[0] - base) / (0.01 * market.spot)
    vega = price(Market(**{**market.__dict__, "vol": market.vol + 0.01}))[0] - base
    print(f"price {base:.3f} +- {error:.3f}, delta {delta:.3f}, vega {vega:.3f}, F={market.forward(1):.2f}")
    return base, delta, vega


class Account:
    """Cash, positions by name, fees; refuses what breaks limits."""

    def __init__(self, cash, fee=0.001):
        self.cash = cash
        self.fee = fee
        self.positions = OrderedDict()
        self.trades = []

    def value(self, prices):
        return self.cash + sum(q * prices[n] for n, q in self.positions.items())

    def trade(self, name, side, quantity, price):
        cost = side.value * quantity * price
        fee = abs(cost) * self.fee
        if cost + fee > self.cash:
            raise ValueError(f"not enough cash for {quantity:.1f} {name}")
        self.cash -= cost + fee
        self.positions[name] = self.positions.get(name, 0.0) + side.value * quantity
        self.trades.append((name, side.name, quantity))


@program(lambda rng: (100 * np.exp(rng.normal(0, 0.02, (30, 3)).cumsum(axis=0)), 1000.0, np.array([0.5, 0.3, 0.2])))
def rebalance(prices, cash, target):
    """An account whose positions are in a dict; enums; exceptions that are caught and counted."""
    names = ("AAA", "BBB", "CCC")
    account = Account(cash)
    refused = 0
    equity = np.empty(len(prices))
    for day, row in enumerate(prices):
        quote = dict(zip(names, row))
        equity[day] = account.value(quote)
        if day % 5:
            continue
        for name, w in zip(names, target):
            want = w * equity[day] / quote[name]
            have = account.positions.get(name, 0.0)
            side = Side.BUY if want > have else Side.SELL
            try:
                account.trade(name, side, abs(want - have), quote[name])
            except ValueError:
                refused += 1
    returns = np.diff(np.log(equity))
    sharpe = np.sqrt(TRADING_DAYS) * returns.mean() / returns.std()
    return equity, sharpe, refused, account.cash, list(account.positions.values()), len(account.trades)


@program(lambda rng: (np.array([0.25, 0.5, 1, 2, 3, 5, 7, 10, 20, 30.0]), rng.normal(0, 0.0005, 10), rng.uniform(0.5, 2)))
def nelson_siegel(maturities, noise, tau0):
    """A grid for one parameter, least squares for the others, then refined."""
    yields = 0.04 - 0.02 * np.exp(-maturities / 2) + noise

    def loadings(tau):
        x = maturities / tau
        slope = (1 - np.exp(-x)) / x
        return np.column_stack((np.ones_like(x), slope, slope - np.exp(-x)))

    def fit(tau):
        X = loadings(tau)
        beta = np.linalg.solve(X.T @ X + 1e-10 * np.eye(3), X.T @ yields)
        return beta, ((X @ beta - yields) ** 2).sum()

    best = (None, np.inf, tau0)
    for tau in tau0 * np.geomspace(0.3, 5, 12):
        beta, sse = fit(tau)
        if sse < best[1]:
            best = (beta, sse, tau)
    step = 0.3
    while step > 1e-3:
        beta, sse, tau = best
        for candidate in (tau * (1 + step), tau / (1 + step)):
            b, s = fit(candidate)
            if s < best[1]:
                best = b, s, candidate
                break
        else:
            step /= 2
    beta, sse, tau = best
    return beta, np.sqrt(sse / len(yields)), tau, loadings(tau) @ beta


@program(lambda rng: (rng.integers(-8, 12, 25), 50 + rng.normal(0, 1, 25).cumsum()))
def first_in_first_out(quantities, prices):
    """Lots in a deque; realised profit lot by lot."""
    lots = deque()
    realised = 0.0
    for q, p in zip(quantities, prices):
        if q > 0:
            lots.append([q, p])
        while q < 0 and lots:
            lot = lots[0]
            take = min(lot[0], -q)
            realised += take * (p - lot[1])
            lot[0] -= take
            q += take
            if lot[0] == 0:
                lots.popleft()
    held = sum(lot[0] for lot in lots)
    average = sum(lot[0] * lot[1] for lot in lots) / held if held else 0.0
    return realised, held, average

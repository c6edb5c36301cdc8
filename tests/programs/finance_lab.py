"""Money: trees, bonds, risk, backtests with positions and trades, reports."""

import math
from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np

from .registry import program


def prices_of(rng, n=250, start=100.0):
    return start * np.exp(np.cumsum(rng.normal(0.0003, 0.01, n)))


@program(lambda rng: (rng.uniform(90, 110), rng.uniform(0.1, 0.4), "put", True))
def binomial_tree(spot, volatility, kind="call", american=False, *, strike=100.0, rate=0.03, years=1.0, n=60):
    dt = years / n
    up = math.exp(volatility * math.sqrt(dt))
    down = 1 / up
    p = (math.exp(rate * dt) - down) / (up - down)
    sign = {"call": 1, "put": -1}[kind]
    prices = spot * up ** np.arange(n, -n - 1, -2.0)
    values = np.maximum(sign * (prices - strike), 0)
    for step in range(n - 1, -1, -1):
        values = math.exp(-rate * dt) * (p * values[:-1] + (1 - p) * values[1:])
        if american:
            prices = spot * up ** np.arange(step, -step - 1, -2.0)
            values = np.maximum(values, sign * (prices - strike))
    return values[0]


def normal_cdf(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


@program(lambda rng: (rng.uniform(5, 15), rng.uniform(95, 105)))
def implied_volatility(price, spot):
    """Newton with a fall-back to bisection; math functions on numbers."""

    def call_price(sigma, strike=100.0, rate=0.01, t=0.75):
        d1 = (math.log(spot / strike) + (rate + sigma**2 / 2) * t) / (sigma * math.sqrt(t))
        vega = spot * math.sqrt(t) * math.exp(-(d1**2) / 2) / math.sqrt(2 * math.pi)
        d2 = d1 - sigma * math.sqrt(t)
        return spot * normal_cdf(d1) - strike * math.exp(-rate * t) * normal_cdf(d2), vega

    sigma, low, high = 0.2, 1e-4, 5.0
    for iteration in range(1, 51):
        value, vega = call_price(sigma)
        difference = value - price
        if abs(difference) < 1e-10:
            break
        if difference > 0:
            high = sigma
        else:
            low = sigma
        step = sigma - difference / vega if vega > 1e-8 else None
        sigma = step if step is not None and low < step < high else 0.5 * (low + high)
    return sigma, iteration


Bond = namedtuple("Bond", ["face", "coupon", "years", "frequency"])


def cash_flows(bond):
    periods = bond.years * bond.frequency
    flows = np.full(periods, bond.face * bond.coupon / bond.frequency)
    flows[-1] += bond.face
    return np.arange(1, periods + 1) / bond.frequency, flows


@program(lambda rng: (rng.uniform(90, 110), rng.uniform(0.02, 0.06)))
def bond_measures(price, coupon):
    """Yield, duration and convexity of a named tuple."""
    bond = Bond(100.0, coupon, 10, 2)
    times, flows = cash_flows(bond)

    def present_value(y):
        return np.sum(flows * (1 + y / bond.frequency) ** (-times * bond.frequency))

    y = coupon
    while True:
        slope = (present_value(y + 1e-6) - present_value(y - 1e-6)) / 2e-6
        new = y - (present_value(y) - price) / slope
        if abs(new - y) < 1e-12:
            break
        y = new
    weights = flows * (1 + y / 2) ** (-2 * times) / price
    macaulay = np.dot(weights, times)
    convexity = np.dot(weights, times * (times + 0.5)) / (1 + y / 2) ** 2
    bond = bond._replace(coupon=y)
    return y, macaulay, macaulay / (1 + y / 2), convexity, abs(present_value(y) - price) < 1e-8


@program(lambda rng: (np.sort(rng.uniform(0.01, 0.05, 8)),))
def bootstrap_curve(par_rates):
    """Discount factors one after the other, from those found before; forwards and a dict by maturity."""
    factors = []
    for rate in par_rates:
        factors.append((1 - rate * sum(factors)) / (1 + rate))
    factors = np.array(factors)
    zero = factors ** (-1 / np.arange(1, len(factors) + 1)) - 1
    forwards = np.append(1.0, factors[:-1]) / factors - 1
    curve = {f"{year}y": (z, f) for year, (z, f) in enumerate(zip(zero, forwards), 1)}
    return factors, curve, curve["5y"][0]


@program(lambda rng: (rng.normal(0.0005, 0.02, (250, 4)), np.array([0.4, 0.3, 0.2, 0.1])))
def risk_report(returns, weights):
    """Historical and parametric losses, drawdowns, ratios, as a table of f-strings."""
    portfolio = returns @ weights
    ordered = np.sort(portfolio)
    index = int(0.05 * len(ordered))
    var, cvar = -ordered[index], -ordered[:index].mean()
    wealth = np.cumprod(1 + portfolio)
    drawdown = 1 - wealth / np.maximum.accumulate(wealth)
    downside = np.sqrt(np.mean(np.minimum(portfolio, 0) ** 2))
    report = {
        "annual return": wealth[-1] ** (252 / len(portfolio)) - 1,
        "volatility": portfolio.std(ddof=1) * np.sqrt(252),
        "Sharpe": portfolio.mean() / portfolio.std(ddof=1) * np.sqrt(252),
        "Sortino": portfolio.mean() / downside * np.sqrt(252),
        "VaR 95": var,
        "CVaR 95": cvar,
        "max drawdown": drawdown.max(),
    }
    width = max(map(len, report))
    for name, value in report.items():
        print(f"{name:<{width}} {value:>10.4f}")
    marginal = np.cov(returns.T) @ weights
    return report, weights * marginal / (weights @ marginal)


@program(lambda rng: (rng.normal(0, 0.01, 300),))
def garch_likelihood(returns):
    """A recursion of variances, maximized on a coarse grid that narrows."""

    def negative_likelihood(omega, alpha, beta):
        if alpha + beta >= 1:
            return np.inf
        h = np.var(returns)
        total = 0.0
        for r in returns:
            total += np.log(h) + r**2 / h
            h = omega + alpha * r**2 + beta * h
        return 0.5 * total

    best = (1e-6, 0.05, 0.90)
    score = negative_likelihood(*best)
    step = np.array([5e-7, 0.03, 0.05])
    for _ in range(4):
        improved = False
        for i in range(3):
            for sign in (-1, 1):
                candidate = list(best)
                candidate[i] = max(candidate[i] + sign * step[i], 1e-8)
                value = negative_likelihood(*candidate)
                if value < score:
                    best, score, improved = tuple(candidate), value, True
        if not improved:
            step /= 2
    return best, score


@dataclass
class Account:
    cash: float = 10_000.0
    shares: int = 0
    trades: list = field(default_factory=list)

    def buy(self, price, day):
        quantity = int(self.cash // price)
        if quantity == 0:
            return
        self.cash -= quantity * price
        self.shares += quantity
        self.trades.append((day, quantity, price))

    def sell(self, price, day):
        if not self.shares:
            return
        self.cash += self.shares * price
        self.trades.append((day, -self.shares, price))
        self.shares = 0

    def value(self, price):
        return self.cash + self.shares * price


def ema(x, span):
    alpha = 2 / (span + 1)
    out = np.empty_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = alpha * x[i] + (1 - alpha) * out[i - 1]
    return out


@program(lambda rng: (prices_of(rng),))
def macd_backtest(prices):
    """Trades that an object keeps in a list, by signals that cross."""
    macd = ema(prices, 12) - ema(prices, 26)
    signal = ema(macd, 9)
    account = Account()
    for day in range(1, len(prices)):
        crossed_up = macd[day] > signal[day] and macd[day - 1] <= signal[day - 1]
        crossed_down = macd[day] < signal[day] and macd[day - 1] >= signal[day - 1]
        if crossed_up:
            account.buy(prices[day], day)
        elif crossed_down:
            account.sell(prices[day], day)
    final = account.value(prices[-1])
    return final, len(account.trades), account.trades, account.cash


@program(lambda rng: (prices_of(rng), 20, 2.0))
def bollinger_positions(prices, window, width):
    """Rolling means by cumulative sums; a position that is held between signals."""
    sums = np.cumsum(np.insert(prices, 0, 0.0))
    squares = np.cumsum(np.insert(prices**2, 0, 0.0))
    mean = (sums[window:] - sums[:-window]) / window
    std = np.sqrt(np.maximum((squares[window:] - squares[:-window]) / window - mean**2, 0))
    tail = prices[window - 1 :]
    position = np.zeros(len(tail), dtype=np.int8)
    current = 0
    for i in range(len(tail)):
        if tail[i] < mean[i] - width * std[i]:
            current = 1
        elif tail[i] > mean[i] + width * std[i]:
            current = -1
        elif current and (tail[i] - mean[i]) * current > 0:
            current = 0
        position[i] = current
    pnl = position[:-1] * np.diff(tail)
    return position, pnl.sum(), np.unique(position, return_counts=True)


@program(lambda rng: (rng.normal(size=(400, 50)), rng.uniform(0.15, 0.3)))
def longstaff_schwartz(normals, volatility):
    """Early exercise by regression on paths in the money."""
    paths, steps = normals.shape
    dt, rate, strike = 1 / steps, 0.05, 100.0
    s = 100 * np.exp(np.cumsum((rate - volatility**2 / 2) * dt + volatility * np.sqrt(dt) * normals, axis=1))
    cash = np.maximum(strike - s[:, -1], 0)
    for t in range(steps - 2, -1, -10):
        cash *= np.exp(-rate * 10 * dt)
        exercise = np.maximum(strike - s[:, t], 0)
        inside = exercise > 0
        x = s[inside, t] / strike
        basis = np.column_stack([np.ones_like(x), x, x**2])
        coefficients = np.linalg.solve(basis.T @ basis, basis.T @ cash[inside])
        continuation = basis @ coefficients
        now = exercise[inside] > continuation
        cash[inside] = np.where(now, exercise[inside], cash[inside])
    return cash.mean() * np.exp(-rate * dt), cash.std() / np.sqrt(paths)


Order = namedtuple("Order", "side price quantity")


@program(lambda rng: (rng.integers(0, 2, 30), 100 + rng.integers(-5, 6, 30), rng.integers(1, 10, 30)))
def order_book(sides, prices, quantities):
    """Volumes at prices in arrays; an order is filled level by level in a while loop."""
    bids, asks = np.zeros(21, dtype=int), np.zeros(21, dtype=int)
    traded, turnover = 0, 0
    for order in map(Order, sides, prices, quantities):
        level, remaining = order.price - 90, order.quantity
        if order.side == 0:
            while remaining > 0 and asks[: level + 1].any():
                best = np.argmax(asks > 0)
                fill = min(remaining, asks[best])
                asks[best] -= fill
                remaining -= fill
                traded += fill
                turnover += fill * (best + 90)
            bids[level] += remaining
        else:
            while remaining > 0 and bids[level:].any():
                best = len(bids) - 1 - np.argmax(bids[::-1] > 0)
                fill = min(remaining, bids[best])
                bids[best] -= fill
                remaining -= fill
                traded += fill
                turnover += fill * (best + 90)
            asks[level] += remaining
    return bids, asks, traded, turnover / max(traded, 1)


@program(lambda rng: (rng.uniform(150_000, 400_000), rng.uniform(0.02, 0.06), 120))
def mortgage_schedule(principal, rate, months):
    """A list of dicts, one for each year, with extra payments that end it early."""
    monthly = rate / 12
    payment = principal * monthly / (1 - (1 + monthly) ** -months)
    balance, paid_interest, years = principal, 0.0, []
    interest_of_year = 0.0
    for month in range(1, months + 1):
        interest = balance * monthly
        part = min(payment - interest + (500.0 if month % 12 == 0 else 0.0), balance)
        balance -= part
        paid_interest += interest
        interest_of_year += interest
        if month % 12 == 0:
            years.append({"year": month // 12, "balance": round(balance, 2), "interest": round(interest_of_year, 2)})
            interest_of_year = 0.0
    return payment, paid_interest, years

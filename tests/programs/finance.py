"""Finance: prices, rates, portfolios, trading rules."""

import math

import numpy as np

from .registry import program


def prices(rng, count=120):
    return 100 * np.exp(np.cumsum(0.02 * rng.normal(size=count)))


def normal_distribution(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


@program(
    lambda rng: (rng.uniform(80, 120), 100.0, rng.uniform(0.2, 2), 0.03, rng.uniform(0.1, 0.4), "call"),
    lambda found, spot, *rest: 0 < found[0] < spot and 0 < found[1] < 1,
)
def black_scholes(spot, strike, years, rate, volatility, kind):
    if years <= 0 or volatility <= 0:
        raise ValueError("time and volatility must be positive")
    d1 = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * math.sqrt(years))
    d2 = d1 - volatility * math.sqrt(years)
    discounted = strike * math.exp(-rate * years)
    if kind == "call":
        price = spot * normal_distribution(d1) - discounted * normal_distribution(d2)
        delta = normal_distribution(d1)
    else:
        price = discounted * normal_distribution(-d2) - spot * normal_distribution(-d1)
        delta = normal_distribution(d1) - 1
    return price, delta


@program(
    lambda rng: (rng.uniform(80, 120), 100.0, 1.0, 0.05, rng.uniform(0.1, 0.4), 60),
    lambda price, spot, strike, *rest: max(strike - spot, 0) <= price < strike,
)
def american_put(spot, strike, years, rate, volatility, steps):
    """By a binomial tree, with early exercise."""
    dt = years / steps
    up = np.exp(volatility * np.sqrt(dt))
    down = 1 / up
    p = (np.exp(rate * dt) - down) / (up - down)
    discount = np.exp(-rate * dt)
    values = np.zeros(steps + 1)
    for i in range(steps + 1):
        values[i] = max(0, strike - spot * up**i * down ** (steps - i))
    for step in range(steps - 1, -1, -1):
        for i in range(step + 1):
            hold = discount * (p * values[i + 1] + (1 - p) * values[i])
            exercise = strike - spot * up**i * down ** (step - i)
            values[i] = exercise if exercise > hold else hold
    return values[0]


@program(
    lambda rng: (np.concatenate([[-1000.0], rng.uniform(100, 300, 8)]), 1e-10),
    lambda rate, flows, tolerance: abs(np.sum(flows / (1 + rate) ** np.arange(len(flows)))) < 1e-3,
)
def internal_rate_of_return(flows, tolerance):
    """Newton's method, then bisection if that has left the range."""

    def present_value(rate):
        total = 0.0
        for t in range(len(flows)):
            total += flows[t] / (1 + rate) ** t
        return total

    rate = 0.1
    for _ in range(50):
        value = present_value(rate)
        slope = (present_value(rate + 1e-6) - value) / 1e-6
        step = value / slope
        rate -= step
        if abs(step) < tolerance:
            return round(rate, 8)
        if rate <= -0.99:
            break
    low, high = -0.9, 1.0
    while high - low > tolerance:
        middle = (low + high) / 2
        if present_value(middle) > 0:
            low = middle
        else:
            high = middle
    return round((low + high) / 2, 8)


@program(lambda rng: (prices(rng), 5, 20), lambda found, *rest: len(found[1]) == found[2] > 0)
def crossover_backtest(price, short, long):
    """Buys when the short average rises above the long one; the trades as a list of tuples."""
    cash, shares = 10_000.0, 0
    trades = []
    equity = np.empty(len(price))
    for t in range(len(price)):
        if t >= long:
            fast = price[t - short : t].mean()
            slow = price[t - long : t].mean()
            if fast > slow and shares == 0:
                shares = int(cash // price[t])
                cash -= shares * price[t]
                trades.append(("buy", t, shares))
            elif fast < slow and shares > 0:
                cash += shares * price[t]
                trades.append(("sell", t, shares))
                shares = 0
        equity[t] = cash + shares * price[t]
    return equity, trades, len(trades)


@program(
    lambda rng: (prices(rng),),
    lambda found, price: np.isclose(found["drawdown"], np.max(1 - price / np.maximum.accumulate(price))),
)
def maximum_drawdown(price):
    peak = price[0]
    worst, begin, end, peak_at = 0.0, 0, 0, 0
    for t, p in enumerate(price):
        if p > peak:
            peak, peak_at = p, t
        drop = (peak - p) / peak
        if drop > worst:
            worst, begin, end = drop, peak_at, t
    return {"drawdown": worst, "from": begin, "to": end}


@program(lambda rng: (prices(rng), 14), lambda found, price, period: np.all((found[period:] > 0) & (found[period:] < 100)))
def relative_strength(price, period):
    changes = np.diff(price)
    gains = np.where(changes > 0, changes, 0)
    losses = np.where(changes < 0, -changes, 0)
    gain, loss = gains[:period].mean(), losses[:period].mean()
    rsi = np.full(len(price), np.nan)
    for t in range(period, len(price)):
        if t > period:
            gain = (gain * (period - 1) + gains[t - 1]) / period
            loss = (loss * (period - 1) + losses[t - 1]) / period
        rsi[t] = 100.0 if loss == 0 else 100 - 100 / (1 + gain / loss)
    return rsi


@program(
    lambda rng: (float(rng.integers(100_000, 300_000)), 0.04, 10, 500.0),
    lambda found, principal, *rest: np.isclose(found[0][:, 2].sum(), principal),
)
def amortization(principal, rate, years, extra):
    """The plan of a loan, until it is paid: a list of lists."""
    monthly = rate / 12
    months = years * 12
    payment = principal * monthly / (1 - (1 + monthly) ** -months)
    balance = principal
    plan = []
    month = 0
    while balance > 0.005:
        month += 1
        interest = round(balance * monthly, 2)
        paid = min(payment + extra, balance + interest)
        balance = balance + interest - paid
        plan.append([month, interest, paid - interest, balance])
    return np.array(plan), payment


@program(
    lambda rng: (0.01 * rng.normal(size=(250, 5)) + 0.0004, 0.0002),
    lambda found, returns, target: np.isclose(found[0].sum(), 1) and np.isclose(found[2], np.std(returns @ found[0], ddof=1)),
)
def efficient_portfolio(returns, target):
    """The least variance at a wanted return, without short positions: assets below zero are taken out again and again."""
    mean = returns.mean(axis=0)
    covariance = np.cov(returns.T)
    active = list(range(len(mean)))
    while True:
        n = len(active)
        system = np.zeros((n + 1, n + 1))
        system[:n, :n] = 2 * covariance[np.ix_(active, active)]
        system[n, :n] = system[:n, n] = 1
        solution = np.linalg.solve(system, np.append(np.zeros(n), 1.0))[:n]
        if solution.min() >= 0 or n == 1:
            break
        del active[int(solution.argmin())]
    weights = np.zeros(len(mean))
    weights[active] = solution
    return weights, weights @ mean > target, np.sqrt(weights @ covariance @ weights)

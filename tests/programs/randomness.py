"""Random numbers and time, taken anew at every call."""

import random
import time

import numpy as np

from .registry import program

GENERATOR = np.random.default_rng(11)
START = GENERATOR.bit_generator.state


def restart():
    GENERATOR.bit_generator.state = START
    np.random.seed(5)
    random.seed(6)


def everything():
    return GENERATOR.bit_generator.state, np.random.get_state()[1:3], random.getstate()[1]


@program(lambda rng: (int(rng.integers(1000)), 500), lambda found, seed, count: abs(found - np.pi) < 0.3)
def estimate_pi(seed, count):
    """A generator of its own, from a seed among the arguments."""
    rng = np.random.default_rng(seed)
    inside = 0
    for _ in range(count):
        x, y = rng.random(2)
        if x * x + y * y <= 1:
            inside += 1
    return 4 * inside / count


def log_density(x):
    return -0.5 * x @ x + np.log(1 + np.exp(2 * x[0]))


@program(lambda rng: (rng.normal(size=2), 200), reset=restart, outside=everything)
def metropolis(x, steps):
    """A closed-over generator; how much is drawn depends on what is accepted."""
    chain = np.empty((steps, len(x)))
    accepted = 0
    for t in range(steps):
        proposal = x + 0.8 * GENERATOR.normal(size=len(x))
        ratio = log_density(proposal) - log_density(x)
        if ratio >= 0 or GENERATOR.random() < np.exp(ratio):
            x = proposal
            accepted += 1
        chain[t] = x
    return chain, accepted / steps


@program(lambda rng: (0, 10), reset=restart, outside=everything)
def gamblers_ruin(start, goal):
    """The global stream of NumPy, drawn from until it ends."""
    games = []
    for _ in range(20):
        money, rounds = start + 5, 0
        while 0 < money < goal:
            money += 1 if np.random.rand() < 0.5 else -1
            rounds += 1
        games.append(rounds)
    return np.mean(games), max(games), money == goal


@program(
    lambda rng: (rng.exponential(size=30), np.random.default_rng(int(rng.integers(100)))),
    lambda found, x, rng: found[0] < x.mean() < found[1],
)
def bootstrap_interval(x, rng):
    """A generator among the arguments is further on after the call."""
    means = np.zeros(200)
    for b in range(len(means)):
        sample = x[rng.integers(0, len(x), len(x))]
        means[b] = sample.mean()
    low, high = np.quantile(means, [0.025, 0.975])
    return low, high, rng.choice(x)


@program(lambda rng: (rng.normal(size=(6, 8)), 0.5), reset=restart, outside=everything)
def dropout(x, rate):
    """Another mask at every call, and at every layer."""
    for _ in range(3):
        mask = np.random.rand(*x.shape) >= rate
        x = np.maximum(x * mask / (1 - rate), 0) + np.random.normal(0, 0.01, x.shape)
    return x, int(mask.sum())


@program(
    lambda rng: (np.arange(12), 3),
    lambda found, cards, players: sorted(np.ravel(found[0])) == list(cards),
    reset=restart,
    outside=everything,
)
def deal_cards(cards, players):
    """Shuffles what it is given; the standard library's stream decides who begins."""
    np.random.shuffle(cards)
    order = np.random.permutation(players)
    hands = [[] for _ in range(players)]
    begins = random.randrange(players)
    for i, card in enumerate(cards):
        hands[order[(i + begins) % players]].append(card)
    return [sorted(hand) for hand in hands], random.choice("abc"), random.random() < 0.5


LAST = [0.0, 0.0]


def went_on():
    """Whether the clock was looked at since this was asked before."""
    LAST[1], before = LAST[0], LAST[1]
    return LAST[0] > before


@program(lambda rng: (rng.normal(size=100),), lambda found, x: found[0] and found[1], outside=went_on)
def time_itself(x):
    """Clocks go on, from call to call and within one."""
    begin = time.perf_counter()
    later = begin > LAST[0]
    total = 0.0
    while time.perf_counter() - begin < 5e-3:
        total = np.sum(np.sin(x))
    elapsed = time.perf_counter() - begin
    LAST[0] = time.perf_counter()
    return later, 5e-3 <= elapsed < 60, total, time.time() > 1.6e9


@program(lambda rng: (rng.uniform(-3, 3, 4), 300), reset=restart, outside=everything)
def simulated_annealing(x, steps):
    def energy(x):
        return np.sum(x**2 - np.cos(4 * x))

    best, best_energy = x.copy(), energy(x)
    current = best_energy
    temperature = 1.0
    for _ in range(steps):
        candidate = x.copy()
        candidate[GENERATOR.integers(len(x))] += GENERATOR.normal(0, 0.5)
        new = energy(candidate)
        if new < current or GENERATOR.random() < np.exp((current - new) / temperature):
            x, current = candidate, new
            if current < best_energy:
                best, best_energy = x.copy(), current
        temperature *= 0.98
    return best, best_energy

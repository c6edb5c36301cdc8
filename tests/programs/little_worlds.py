"""Worlds that people simulate with classes of their own: queues, shops, animals, robots, cards, elevators and machines."""

import enum
import heapq
import math
import random
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace

import numpy as np

from .registry import program


class Light(enum.Enum):
    RED = 0
    GREEN = 1
    AMBER = 2


NEXT_LIGHT = {Light.RED: Light.GREEN, Light.GREEN: Light.AMBER, Light.AMBER: Light.RED}


class Junction:
    def __init__(self, periods):
        self.periods = periods
        self.light = Light.RED
        self.timer = 0
        self.waiting = deque()
        self.delays = []

    def tick(self, now, arrivals):
        for _ in range(arrivals):
            self.waiting.append(now)
        self.timer += 1
        if self.timer >= self.periods[self.light]:
            self.light = NEXT_LIGHT[self.light]
            self.timer = 0
        if self.light is Light.GREEN and self.waiting:
            self.delays.append(now - self.waiting.popleft())


@program(lambda rng: (rng.poisson(0.5, 40),))
def traffic_light(arrivals):
    junction = Junction({Light.RED: 4, Light.GREEN: 6, Light.AMBER: 1})
    for now, count in enumerate(arrivals):
        junction.tick(now, count)
    mean = sum(junction.delays) / len(junction.delays) if junction.delays else 0.0
    return mean, len(junction.waiting), junction.light.name


@dataclass(order=True)
class Job:
    priority: int
    arrival: float
    length: float = field(compare=False)


def jobs(rng, n):
    arrivals = np.sort(rng.uniform(0, 20, n)).round(2).tolist()
    return list(zip(rng.integers(0, 3, n).tolist(), arrivals, rng.uniform(0.5, 3, n).round(2).tolist()))


@program(lambda rng: (jobs(rng, 15),))
def priority_scheduler(specs):
    """Jobs wait in a heap by priority and arrival; one machine takes the most urgent one."""
    jobs = [Job(*spec) for spec in specs]
    now, heap, finished = 0.0, [], []
    k = 0
    while k < len(jobs) or heap:
        while k < len(jobs) and jobs[k].arrival <= now:
            heapq.heappush(heap, jobs[k])
            k += 1
        if not heap:
            now = jobs[k].arrival
            continue
        job = heapq.heappop(heap)
        now += job.length
        finished.append((job.priority, now - job.arrival))
    by_priority = defaultdict(list)
    for p, wait in finished:
        by_priority[p].append(wait)
    return {p: max(w) for p, w in sorted(by_priority.items())}, now


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __iter__(self):
        yield self.x
        yield self.y


@program(lambda rng: (float(rng.uniform(0.1, 0.4)), 30))
def pursuit(dt, steps):
    """A dog runs after a rabbit that runs around a circle."""
    dog, caught = Vector(0.0, 0.0), None
    path = []
    for k in range(steps):
        angle = 0.3 * k * dt
        rabbit = 5 * Vector(math.cos(angle), math.sin(angle))
        way = rabbit - dog
        if abs(way) < 0.5 and caught is None:
            caught = k
        dog = dog + way * (1.6 * dt / max(abs(way), 1e-9))
        path.append(tuple(dog))
    return path[-1], caught, len(path)


@dataclass
class Animal:
    x: int
    y: int
    energy: float
    age: int = 0


class Meadow:
    def __init__(self, size, rng):
        self.grass = rng.uniform(0, 1, (size, size))
        self.size = size
        self.animals = []

    def step(self, rng):
        self.grass = np.minimum(1.0, self.grass + 0.05)
        born, alive = [], []
        for animal in self.animals:
            dx, dy = ((0, 1), (1, 0), (0, -1), (-1, 0))[rng.integers(4)]
            animal.x = (animal.x + dx) % self.size
            animal.y = (animal.y + dy) % self.size
            eaten = min(0.5, self.grass[animal.x, animal.y])
            self.grass[animal.x, animal.y] -= eaten
            animal.energy += eaten - 0.25
            animal.age += 1
            if animal.energy > 1.5:
                animal.energy /= 2
                born.append(Animal(animal.x, animal.y, animal.energy))
            if animal.energy > 0:
                alive.append(animal)
        self.animals = alive + born


@program(lambda rng: (int(rng.integers(1000)), 6, 12))
def grazing(seed, size, steps):
    rng = np.random.default_rng(seed)
    meadow = Meadow(size, rng)
    for k in range(4):
        meadow.animals.append(Animal(k % size, (2 * k) % size, 1.0))
    history = []
    for _ in range(steps):
        meadow.step(rng)
        history.append(len(meadow.animals))
    return history, meadow.grass.sum(), sum(a.age for a in meadow.animals)


Card = namedtuple("Card", "rank suit")


@program(lambda rng: (rng.permutation(52)[:52],))
def war_of_cards(order):
    """Two stacks of cards; the higher one takes both, and draws go to a pot."""
    deck = [Card(int(k) % 13, int(k) // 13) for k in order]
    left, right = deque(deck[::2]), deque(deck[1::2])
    rounds, pot = 0, []
    while left and right and rounds < 200:
        a, b = left.popleft(), right.popleft()
        pot += [a, b]
        if a.rank > b.rank:
            left.extend(pot)
            pot = []
        elif b.rank > a.rank:
            right.extend(sorted(pot))
            pot = []
        rounds += 1
    return rounds, len(left), len(right), len(pot)


class Inventory:
    def __init__(self, **stock):
        self.stock = dict(stock)
        self.backlog = defaultdict(int)
        self.log = []

    def sell(self, name, amount):
        have = self.stock.get(name, 0)
        sold = min(have, amount)
        self.stock[name] = have - sold
        if sold < amount:
            self.backlog[name] += amount - sold
            self.log.append(f"short {amount - sold} of {name}")
        return sold

    def deliver(self, name, amount):
        owed = min(self.backlog[name], amount)
        self.backlog[name] -= owed
        self.stock[name] += amount - owed
        return owed

    def __len__(self):
        return sum(self.stock.values())

    def __contains__(self, name):
        return self.stock.get(name, 0) > 0


@program(lambda rng: (rng.integers(0, 9, 16).tolist(), ["pen", "ink", "pad"]))
def stationery(amounts, names):
    shop = Inventory(pen=12, ink=5, pad=8)
    sold = 0
    for k, amount in enumerate(amounts):
        name = names[k % 3]
        if k % 5 == 4:
            sold += shop.deliver(name, amount)
        else:
            sold += shop.sell(name, amount)
    return sold, len(shop), "ink" in shop, shop.log, dict(shop.backlog)


class Bandit:
    def __init__(self, arms, epsilon):
        self.q = [0.0] * arms
        self.n = [0] * arms
        self.epsilon = epsilon

    def choose(self):
        if random.random() < self.epsilon:
            return random.randrange(len(self.q))
        return max(range(len(self.q)), key=lambda a: self.q[a])

    def learn(self, arm, reward):
        self.n[arm] += 1
        self.q[arm] += (reward - self.q[arm]) / self.n[arm]


@program(lambda rng: (int(rng.integers(100)), [0.2, 0.5, 0.7], 60))
def bandit_with_random(seed, means, steps):
    random.seed(seed)
    bandit, total = Bandit(len(means), 0.2), 0.0
    for _ in range(steps):
        arm = bandit.choose()
        reward = 1.0 if random.random() < means[arm] else 0.0
        bandit.learn(arm, reward)
        total += reward
    return bandit.q, bandit.n, total


@dataclass(frozen=True)
class State:
    position: int
    fuel: int

    def moved(self, step):
        return replace(self, position=self.position + step, fuel=self.fuel - abs(step))


@program(lambda rng: (rng.integers(0, 3, 25).tolist(), rng.uniform(0.5, 2, 25).round(2).tolist()))
def round_robin_queues(kinds, lengths):
    """Tasks go to one of three queues by kind, which take turns."""
    queues = [deque(), deque(), deque()]
    for kind, length in zip(kinds, lengths):
        queues[kind].append(length)
    now, done = 0.0, [0, 0, 0]
    turn = 0
    while any(len(q) > 0 for q in queues):
        queue = queues[turn % 3]
        if queue:
            left = queue.popleft()
            if left > 1.0:
                queue.append(round(left - 1.0, 2))
                now += 1.0
            else:
                now += left
                done[turn % 3] += 1
        turn += 1
    return now, done, turn


class Account:
    rate = 0.01

    def __init__(self, owner, balance=0.0):
        self.owner, self.balance = owner, balance

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError(f"{self.owner} has {self.balance:.2f}")
        self.balance -= amount

    def month(self):
        self.balance *= 1 + self.rate


class Savings(Account):
    rate = 0.03

    def __init__(self, owner, balance=0.0, limit=2):
        super().__init__(owner, balance)
        self.limit, self.used = limit, 0

    def withdraw(self, amount):
        if self.used >= self.limit:
            raise PermissionError("limit")
        super().withdraw(amount)
        self.used += 1

    def month(self):
        super().month()
        self.used = 0


@program(lambda rng: (rng.uniform(5, 80, 18).round(2).tolist(),))
def accounts_with_inheritance(amounts):
    accounts = [Account("ann", 300.0), Savings("bob", 200.0)]
    refused = {"ValueError": 0, "PermissionError": 0}
    for k, amount in enumerate(amounts):
        account = accounts[k % 2]
        try:
            account.withdraw(amount)
        except (ValueError, PermissionError) as error:
            refused[type(error).__name__] += 1
        if k % 6 == 5:
            for one in accounts:
                one.month()
    return [round(a.balance, 6) for a in accounts], refused

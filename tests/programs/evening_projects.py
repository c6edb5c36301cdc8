"""What people write for themselves in an evening: savings, chess clocks, weather stations, crosswords, small machines."""

import bisect
import enum
import itertools
import math
import random
import statistics
from collections import ChainMap, Counter, deque
from dataclasses import dataclass, field
from functools import cache, partial, reduce

import numpy as np

from .registry import program


class Op(enum.IntEnum):
    PUSH = 0
    ADD = 1
    MUL = 2
    DUP = 3
    JNZ = 4
    DEC = 5
    HALT = 6


COUNT_DOWN = [(Op.PUSH, 6), (Op.DUP, 0), (Op.JNZ, 4), (Op.HALT, 0), (Op.DEC, 0), (Op.JNZ, 1), (Op.HALT, 0)]


@program(lambda rng: (COUNT_DOWN, int(rng.integers(2, 6))))
def stack_machine(code, limit):
    """A machine with a stack of integers and a program counter."""
    stack, pc, steps = [], 0, 0
    while steps < 20 * limit:
        op, argument = code[pc]
        pc += 1
        steps += 1
        if op == Op.PUSH:
            stack.append(argument)
        elif op == Op.ADD:
            stack.append(stack.pop() + stack.pop())
        elif op == Op.MUL:
            stack.append(stack.pop() * stack.pop())
        elif op == Op.DUP:
            stack.append(stack[-1])
        elif op == Op.DEC:
            stack[-1] -= 1
        elif op == Op.JNZ:
            if stack[-1] != 0:
                pc = argument
        else:
            break
    return stack, steps, pc


@dataclass
class Goal:
    name: str
    target: float
    saved: float = 0.0
    history: list = field(default_factory=list)

    @property
    def done(self):
        return self.saved >= self.target


@program(lambda rng: (rng.uniform(50, 300, 10).round(2).tolist(), 0.2))
def savings_goals(incomes, share):
    """Money goes to the goals in turn until they are reached."""
    goals = [Goal("bike", 120.0), Goal("trip", 260.0), Goal("sofa", 90.0)]
    spare = 0.0
    for month, income in enumerate(incomes):
        budget = income * share
        for goal in goals:
            if goal.done or budget <= 0:
                continue
            part = min(budget, goal.target - goal.saved)
            goal.saved += part
            budget -= part
            goal.history.append((month, round(part, 2)))
        spare += budget
    return {g.name: (round(g.saved, 2), g.done, g.history) for g in goals}, round(spare, 2)


@program(lambda rng: (rng.normal(15, 6, 24).round(1), rng.integers(0, 360, 24)))
def weather_station(temperatures, directions):
    """Statistics of a day by hours, wind roses, and records that are kept as they come."""
    names = ["N", "E", "S", "W"]
    rose = Counter(names[int(((d + 45) % 360) // 90)] for d in directions)
    records = {"low": math.inf, "high": -math.inf}
    streak = best = 0
    for t in temperatures:
        records["low"] = min(records["low"], t)
        records["high"] = max(records["high"], t)
        streak = streak + 1 if t > 15 else 0
        best = max(best, streak)
    u = np.cos(np.radians(directions)).mean()
    v = np.sin(np.radians(directions)).mean()
    degree_days = sum(max(0.0, 18.0 - t) for t in temperatures) / len(temperatures)
    return rose.most_common(1)[0][1], records, best, math.hypot(u, v), degree_days


@program(lambda rng: (["".join(rng.choice(list("ab.#"), 5)) for _ in range(5)],))
def crossword_slots(rows):
    """Slots of a grid of characters, across and down, and where they cross."""
    size = len(rows)
    columns = ["".join(row[k] for row in rows) for k in range(size)]
    slots = []
    for direction, lines in enumerate((rows, columns)):
        for i, line in enumerate(lines):
            start = 0
            for piece in line.split("#"):
                if len(piece) > 1:
                    slots.append((direction, i, start, piece))
                start += len(piece) + 1
    crossings = sum(
        1
        for a, b in itertools.combinations(slots, 2)
        if a[0] != b[0] and b[2] <= a[1] < b[2] + len(b[3]) and a[2] <= b[1] < a[2] + len(a[3])
    )
    return slots, crossings


class Clock:
    def __init__(self, minutes, increment):
        self.left = {"white": minutes * 60.0, "black": minutes * 60.0}
        self.increment = increment
        self.turn = "white"
        self.flag = None

    def press(self, seconds):
        if self.flag is not None:
            return False
        self.left[self.turn] -= seconds
        if self.left[self.turn] <= 0:
            self.flag = self.turn
            return False
        self.left[self.turn] += self.increment
        self.turn = "black" if self.turn == "white" else "white"
        return True


@program(lambda rng: (rng.exponential(12, 14), 1, 2.0))
def chess_clock(times, minutes, increment):
    clock = Clock(minutes, increment)
    moves = sum(clock.press(t) for t in times)
    return moves, clock.flag, clock.turn, {k: round(v, 3) for k, v in clock.left.items()}


@program(lambda rng: (rng.integers(0, 5, 40).tolist(),))
def replace_pages(requests):
    """Faults of three ways to replace pages in a cache of three."""
    faults = {}
    fifo, misses = deque(), 0
    for page in requests:
        if page not in fifo:
            misses += 1
            if len(fifo) == 3:
                fifo.popleft()
            fifo.append(page)
    faults["fifo"] = misses
    recent, misses = [], 0
    for page in requests:
        if page in recent:
            recent.remove(page)
        else:
            misses += 1
            if len(recent) == 3:
                recent.pop(0)
        recent.append(page)
    faults["lru"] = misses
    uses, cached, misses = [0] * 5, [], 0
    for page in requests:
        uses[page] += 1
        if page not in cached:
            misses += 1
            if len(cached) == 3:
                cached.remove(min(cached, key=lambda p: (uses[p], p)))
            cached.append(page)
    faults["lfu"] = misses
    return faults


@program(lambda rng: (rng.uniform(1, 9, 8).round(1).tolist(), rng.uniform(1, 9, 8).round(1).tolist()))
def sports_elo(first, second):
    """Ratings of four players after games of which the scores are given, with a table by points."""
    ratings = dict.fromkeys("abcd", 1500.0)
    table = {name: {"won": 0, "lost": 0, "points": 0.0} for name in ratings}
    pairs = itertools.cycle(itertools.combinations("abcd", 2))
    for (x, y), sx, sy in zip(pairs, first, second):
        expected = 1 / (1 + 10 ** ((ratings[y] - ratings[x]) / 400))
        outcome = 1.0 if sx > sy else 0.0 if sx < sy else 0.5
        ratings[x] += 32 * (outcome - expected)
        ratings[y] -= 32 * (outcome - expected)
        winner, loser = (x, y) if outcome >= 0.5 else (y, x)
        table[winner]["won"] += 1
        table[loser]["lost"] += 1
        table[x]["points"] += sx
        table[y]["points"] += sy
    order = sorted(ratings, key=lambda name: (-table[name]["won"], -ratings[name]))
    return order, {k: round(v, 3) for k, v in ratings.items()}, table


@program(lambda rng: (rng.integers(1, 60, 18).tolist(), 3))
def median_windows(values, half):
    """Medians, modes and quantiles of windows that are kept in order by bisection."""
    window, medians = [], []
    for k, value in enumerate(values):
        bisect.insort(window, value)
        if len(window) > 2 * half + 1:
            del window[bisect.bisect_left(window, values[k - 2 * half - 1])]
        medians.append(statistics.median(window))
    spread = statistics.pstdev(values)
    ranks = [bisect.bisect_right(sorted(values), v) for v in values]
    return medians, round(spread, 9), ranks


@program(lambda rng: (int(rng.integers(50)), 7))
def dungeon_dice(seed, rooms):
    """Rooms with dice of `random`, weighted loot, and a bag that is shuffled."""
    dice = random.Random(seed)
    hp, gold, bag = 30, 0, list(range(rooms))
    dice.shuffle(bag)
    log = []
    for room in bag:
        roll = dice.randint(1, 6) + dice.randint(1, 6)
        if roll <= 4:
            hp -= roll
            log.append(("trap", room))
        elif roll >= 9:
            found = dice.choices([5, 10, 50], weights=[6, 3, 1])[0]
            gold += found
            log.append(("loot", found))
        if hp <= 0:
            break
    return hp, gold, log, round(dice.uniform(0, 1), 9)


@program(lambda rng: (rng.integers(0, 10, 9).tolist(), partial(pow, 2)))
def pipelines_of_functions(digits, power):
    @cache
    def ways(k):
        return 1 if k < 2 else ways(k - 1) + ways(k - 2)

    defaults, own = {"scale": 1, "shift": 3}, {"scale": digits[0]}
    settings = ChainMap(own, defaults)
    scaled = [d * settings["scale"] + settings["shift"] for d in digits]
    number = reduce(lambda acc, d: acc * 10 + d, digits, 0)
    runs = [(key, sum(1 for _ in group)) for key, group in itertools.groupby(digits, key=lambda d: d > 4)]
    pairs = list(itertools.pairwise(scaled))
    return scaled, number, runs, [b - a for a, b in pairs], ways(12), power(digits[1] % 5)

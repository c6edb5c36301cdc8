"""Records, labels, dates and versions, as in scripts that make a report of measurements."""

import functools
import itertools
import operator
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import cycle
from typing import Generic, TypeVar

import numpy as np

from .registry import program

T = TypeVar("T")


@program(lambda rng: (rng.normal(size=20),))
def labels_of_levels(x):
    """np.where of texts, nested; labels are counted, compared, and changed."""
    labels = np.where(x > 0.5, "high", np.where(x < -0.5, "low", "mid"))
    counts = {key: int((labels == key).sum()) for key in ("low", "mid", "high")}
    marked = labels.copy()
    marked[np.argmax(x)] = "peak"
    return labels, counts, [str(label) for label in labels[:3]], np.unique(labels), marked


@program(lambda rng: (rng.normal(size=4), np.array(["anna", "bert", "carl", "dora"])))
def ranking(points, names):
    """Names in the order of their points; the names are an argument."""
    order = np.argsort(points)[::-1]
    for place, k in enumerate(order):
        print(f"{place + 1}. {names[k]:<6s} {points[k]:6.2f}")
    return names[order], names[np.argmax(points)], dict(zip(names, points)), names[points > 0]


class Stack(Generic[T]):
    def __init__(self):
        self.held = []

    def push(self, value: T) -> None:
        self.held.append(value)

    def pop(self) -> T:
        return self.held.pop()

    def __bool__(self):
        return bool(self.held)

    def __len__(self):
        return len(self.held)


@program(lambda rng: (rng.integers(0, 9, 15),))
def rising_stack(x):
    """A class with a type parameter, whose truth is that of its list."""
    stack = Stack[int]()
    for v in x:
        if stack and stack.held[-1] > v:
            stack.pop()
        stack.push(int(v))
    return len(stack), stack.held


@functools.total_ordering
class Version:
    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts

    def __hash__(self):
        return hash(self.parts)

    def __repr__(self):
        return "v" + ".".join(map(str, self.parts))


@program(lambda rng: (rng.integers(1, 4, 3), rng.integers(0, 6, 3)))
def newest_version(major, minor):
    versions = [Version(int(i), int(j)) for i, j in zip(major, minor)]
    first, second, _ = versions
    return repr(max(versions)), repr(min(versions)), first >= second, first != second, first == Version(3, 1)


@dataclass(order=True)
class Task:
    priority: float
    name: str = field(compare=False)
    needs: list = field(default_factory=list, compare=False)


@program(lambda rng: (rng.permutation(3) + 0.5,))
def most_urgent(priorities):
    tasks = [Task(value, f"task {number}") for number, value in enumerate(priorities)]
    tasks[2].needs.append(tasks[0].name)
    ready = sum(task.priority for task in tasks if not task.needs)
    return min(tasks).name, ready, asdict(tasks[2]), replace(tasks[0], priority=9.0).priority


@program(lambda rng: ("2024-02-25", rng.normal(size=10)))
def best_day(first, x):
    """A date is parsed, and one of several is chosen."""
    begin = datetime.strptime(first, "%Y-%m-%d")  # noqa: DTZ007
    days = [begin + timedelta(days=i) for i in range(len(x))]
    best = days[int(np.argmax(x))]
    busy = np.array([day.weekday() < 5 for day in days])
    return best.isoformat(), x[busy].mean(), (best - begin).days, f"{best:%d %b %Y}"


@program(lambda rng: (rng.normal(size=12), date(2024, 1, 25), slice(2, None), functools.partial(np.clip, a_min=-1, a_max=1)))
def settings(x, day, part, limit):
    """A date, a slice and a partial application as arguments."""
    return limit(x)[part].sum(), (day + timedelta(days=len(x))).isoformat(), x[part].shape


@program(lambda rng: (rng.integers(0, 3, 40), rng.integers(0, 3, 40)))
def confusion(truth, found):
    """As many rows and columns as there are classes in the data."""
    classes = np.unique(truth)
    table = np.array([[np.sum((truth == i) & (found == j)) for j in classes] for i in classes])
    return table, table.sum(axis=1), np.trace(table) / table.sum()


@program(lambda rng: (rng.random(30),))
def shifts(x):
    """Who is on duty is asked of a cycle, as there is something to do."""
    names, done = cycle(["a", "b", "c"]), []
    numbers = itertools.count(1)
    for v in x:
        if v > 0.3:
            done.append((next(names), next(numbers), v))
    return [name for name, _, _ in done[:4]], functools.reduce(operator.add, [v for _, _, v in done]), next(numbers)

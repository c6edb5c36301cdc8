"""What goes wrong in programs, and is told, mended, counted, rolled back or handed on: exceptions as people use them."""

import contextlib
from enum import Enum

import numpy as np

from .registry import either, program


class ConfigError(ValueError):
    def __init__(self, key, value):
        super().__init__(f"bad {key}: {value}")
        self.key, self.value = key, value


def validated(rate, steps, tolerance):
    if not 0 < rate <= 1:
        raise ConfigError("rate", rate)
    if steps < 1:
        raise ConfigError("steps", steps)
    if tolerance <= 0:
        raise ConfigError("tolerance", tolerance)
    return {"rate": rate, "steps": steps}


@program(either((0.5, 3, 1e-3), (1.5, 3, 1e-3)))
def configuration(rate, steps, tolerance):
    """A class of exceptions that derives from ValueError, with a text and attributes of its own."""
    try:
        chosen = validated(rate, steps, tolerance)
    except ConfigError as error:
        return error.key, error.value, str(error)
    x = 1.0
    for _ in range(chosen["steps"]):
        x -= chosen["rate"] * x
    return "fine", x, ""


class Bank:
    def __init__(self, balances):
        self.balances = balances.copy()
        self.log = []

    def transfer(self, source, target, amount):
        old = self.balances.copy()
        try:
            self.balances[target] += amount
            if amount < 0:
                raise ValueError("negative amount")
            self.balances[source] -= amount
            if self.balances[source] < 0:
                raise ArithmeticError("overdraft")
        except (ValueError, ArithmeticError) as error:
            self.balances[:] = old
            self.log.append(str(error))
            return False
        return True


@program(lambda rng: (rng.uniform(20, 80, 3), rng.integers(0, 3, (20, 2)), rng.uniform(-5, 40, 20)))
def transfers(balances, pairs, amounts):
    """What has been done before an error is taken back by hand."""
    bank, done = Bank(balances), 0
    for (source, target), amount in zip(pairs, amounts):
        if bank.transfer(source, target, amount):
            done += 1
    return bank.balances, done, bank.log


class Phase(Enum):
    IDLE = 0
    RUNNING = 1
    DONE = 2


class Machine:
    def __init__(self):
        self.phase, self.steps, self.refused = Phase.IDLE, 0, 0

    def take(self, event):
        self.steps += 1
        if event == 0:
            if self.phase is not Phase.IDLE:
                raise RuntimeError(f"start while {self.phase.name}")
            self.phase = Phase.RUNNING
        elif event == 1:
            if self.phase is not Phase.RUNNING:
                raise RuntimeError(f"stop while {self.phase.name}")
            self.phase = Phase.DONE
        else:
            self.phase = Phase.IDLE


@program(lambda rng: (rng.integers(0, 3, 30),))
def refused_events(events):
    """A method counts before it refuses; the texts name the state."""
    machine, last = Machine(), ""
    for event in events:
        try:
            machine.take(event)
        except RuntimeError as error:
            machine.refused += 1
            last = f"{machine.steps}: {error}"
    return machine.phase.name, machine.steps, machine.refused, last


class NoConvergenceError(ArithmeticError):
    pass


def newton(f, slope, x, tolerance=1e-10, most=20):
    for k in range(most):
        d = slope(x)
        if abs(d) < 1e-12:
            raise ZeroDivisionError("flat")
        step = f(x) / d
        x -= step
        if abs(step) < tolerance:
            return x, k
    raise NoConvergenceError(f"no convergence near {x:.3f}")


@program(lambda rng: (float(rng.integers(0, 3)), float(rng.integers(-1, 4))))
def root_or_reason(x, a):
    """Exceptions of a function that takes functions; a part of a text."""
    try:
        root, rounds = newton(lambda x: x * x - a, lambda x: 2 * x, x)
    except ZeroDivisionError as error:
        return "flat", str(error), 0
    except NoConvergenceError as error:
        return "none", str(error)[:14], 0
    else:
        return "root", f"{root:.6f}", rounds


class Transaction:
    def __init__(self, store):
        self.store = store

    def __enter__(self):
        self.saved = self.store.copy()
        return self.store

    def __exit__(self, kind, error, traceback):
        if kind is not None:
            self.store[:] = self.saved
        return kind is ValueError


@program(lambda rng: (rng.uniform(0, 5, 4), rng.normal(0, 2, 12)))
def transactions(store, changes):
    """A manager that puts back what was there, and swallows the exception."""
    kept = 0
    for change in changes:
        with Transaction(store) as held:
            held += change
            if held.min() < 0:
                raise ValueError
            kept += 1
    return store, kept


@contextlib.contextmanager
def counted(counts, name):
    counts[name] += 1
    try:
        yield
    except ArithmeticError:
        counts["failed"] += 1
    else:
        counts["fine"] += 1


@program(lambda rng: (rng.integers(-2, 4, 12) * 1.0,))
def counted_failures(x):
    """A manager made of a generator, which has handlers around its yield."""
    counts = {"inverse": 0, "root": 0, "failed": 0, "fine": 0}
    total = 0.0
    for value in x:
        with counted(counts, "inverse"):
            if value == 0:
                raise ZeroDivisionError
            total += 1 / value
        with counted(counts, "root"):
            if value < 0:
                raise ArithmeticError("negative")
            total += value**0.5
    return total, counts


def place_of(x, wanted, seen):
    for place, value in enumerate(x):
        try:
            if value == wanted:
                return place
            if value < 0:
                raise ValueError("corrupt")
        finally:
            seen[0] += 1
    raise LookupError(f"{wanted} is nowhere")


@program(lambda rng: (rng.integers(-1, 30, 20) * 1.0, 7.0))
def search(x, wanted):
    """A finally clause in a loop that is left by return and by exceptions."""
    seen = np.zeros(1)
    try:
        place = place_of(x, wanted, seen)
    except LookupError as error:
        place = -1
        print("not found:", error)
    except ValueError as error:
        place = -2
        print("bad value:", error)
    return place, seen

"""What is read from outside and written to it: globals, cells, attributes, dictionaries, lists, arrays.

What stands outside is changed between the calls, by the functions that make the arguments.
"""

import os
import tempfile
import types

import numpy as np

from .registry import program

GAIN = 1.0


def with_gain(rng):
    global GAIN
    GAIN = float(rng.uniform(1, 9))
    return (rng.normal(size=5),)


@program(with_gain, lambda found, x: np.allclose(found, np.tanh(x * GAIN)))
def amplify(x):
    """A number that is bound again between calls, read by a helper."""
    return squash(x)


def squash(x):
    return np.tanh(x * GAIN)


SETTINGS = {"rate": 0.1, "method": "plain", "steps": 10, "clip": None}


def with_settings(rng):
    SETTINGS["rate"] = float(rng.uniform(0.05, 0.2))
    SETTINGS["method"] = "momentum" if rng.random() < 0.7 else "plain"
    SETTINGS["steps"] = int(rng.integers(5, 30))
    SETTINGS["clip"] = float(rng.uniform(0.3, 1)) if rng.random() < 0.7 else None
    return (rng.normal(size=6), rng.normal(size=6))


@program(with_settings, lambda found, x, target: np.abs(found - target).sum() < np.abs(x - target).sum())
def descend_as_configured(x, target):
    """Numbers, strings and None of a dictionary decide what runs."""
    velocity = np.zeros_like(x)
    for _ in range(SETTINGS["steps"]):
        gradient = x - target
        if SETTINGS["clip"] is not None:
            gradient = np.clip(gradient, -SETTINGS["clip"], SETTINGS["clip"])
        if SETTINGS["method"] == "momentum":
            velocity = 0.3 * velocity - SETTINGS["rate"] * gradient
        else:
            velocity = -SETTINGS["rate"] * gradient
        x = x + velocity
    return x


TABLE = np.arange(6.0)


def with_table(rng):
    global TABLE
    TABLE = rng.uniform(0, 9, 6)
    return (rng.integers(0, 6, 8),)


@program(with_table, lambda found, places: np.allclose(found[0], np.sqrt(TABLE[places]) + 2 * TABLE.sum()))
def look_up(places):
    """A global array in expressions, and in a condition."""
    roots = np.sqrt(TABLE)
    doubled = TABLE * 2
    label = "high" if TABLE[0] > 5 else "low"
    largest = TABLE.max()
    return roots[places] + doubled.sum(), label, largest - TABLE[places].min()


HEAT = np.zeros(8)


@program(
    lambda rng: (rng.uniform(0, 1, 8), 0.2),
    reset=lambda: HEAT.fill(0),
    outside=lambda: HEAT,
)
def heat_rod(source, rate):
    """A global array is written in place, at every call further."""
    for _ in range(3):
        HEAT[1:-1] += rate * (HEAT[2:] - 2 * HEAT[1:-1] + HEAT[:-2])
        HEAT[:] = HEAT + source
    HEAT[0] = HEAT[-1] = 0
    return HEAT.mean()


LOG = []


@program(
    lambda rng: (rng.normal(size=20),),
    reset=LOG.clear,
    outside=lambda: LOG,
)
def keep_log(x):
    """Appends to an outer list at every call, and looks at what the calls before have left there."""
    total = 0.0
    for i, value in enumerate(x):
        total += value
        if total > 1:
            LOG.append((i, float(total)))
            total = 0.0
    LOG.append("end")
    return len(LOG)


class Tracker:
    def __init__(self):
        self.clear()

    def clear(self):
        self.best = np.inf
        self.where = None
        self.calls = 0
        self.history = []


TRACKER = Tracker()


@program(
    lambda rng: (rng.normal(size=4),),
    reset=TRACKER.clear,
    outside=lambda: TRACKER,
)
def remember_best(x):
    """Attributes of an outer object: counted, compared, bound again."""
    TRACKER.calls += 1
    value = np.sum(x**2) + 0.1 * TRACKER.calls
    if value < TRACKER.best:
        TRACKER.best = value
        TRACKER.where = x.copy()
    TRACKER.history.append(TRACKER.best)
    return TRACKER.best, TRACKER.calls


def accumulator():
    total = 0.0
    count = 0

    def clear():
        nonlocal total, count
        total, count = 0.0, 0

    @program(
        lambda rng: (rng.uniform(0, 1, 10),),
        lambda mean, x: np.isclose(mean, x.mean()),
        reset=clear,
        outside=lambda: (total, count),
    )
    def running_mean(x):
        """A closure whose cells it changes itself."""
        nonlocal total, count
        for value in x:
            total += value
            count += 1
        return total / count

    return running_mean


running_mean = accumulator()


SHARED = np.zeros(5)


def shared_argument(rng):
    SHARED[:] = rng.normal(size=5)
    return (SHARED,)


@program(shared_argument, lambda found, x: np.allclose(found, 10 * x), outside=lambda: SHARED)
def written_under_two_names(x):
    """The argument and a global are the same array: what is written to the one is read from the other."""
    x *= 2
    doubled = SHARED * 1.0
    SHARED[:] += doubled
    return x + SHARED + doubled


def transform(x):
    return x


def with_method(rng):
    global transform
    transform = [np.square, np.abs, lambda v: v + 100.0][int(rng.integers(3))]
    return (rng.normal(size=7),)


@program(with_method, lambda found, x: np.allclose(found, np.cumsum(transform(x))))
def transformed_sum(x):
    """A helper that is defined anew between calls, as in a notebook."""
    out = np.zeros(len(x))
    total = 0
    for i in range(len(x)):
        total += transform(x[i])
        out[i] = total
    return out


MODEL = types.SimpleNamespace(weights=np.zeros(3), bias=0.0, names=["a", "b", "c"], updates=0)


def clear_model():
    MODEL.weights, MODEL.bias, MODEL.updates = np.zeros(3), 0.0, 0


def with_model(rng):
    MODEL.names = MODEL.names[1:] + MODEL.names[:1]
    return (rng.normal(size=(12, 3)), rng.normal(size=12))


@program(with_model, reset=clear_model, outside=lambda: MODEL)
def fit_further(X, y):
    """Trains an outer model on: attributes are new arrays and numbers after every call, and read by the next."""
    for row, target in zip(X, y):
        error = row @ MODEL.weights + MODEL.bias - target
        MODEL.weights = MODEL.weights - 0.05 * error * row
        MODEL.bias -= 0.05 * error
        MODEL.updates += 1
    return {name: weight for name, weight in zip(MODEL.names, MODEL.weights)}


def with_seen(rng):
    return (rng.integers(0, 12, 10),)


SEEN = {}


@program(with_seen, reset=SEEN.clear, outside=lambda: SEEN)
def count_values(values):
    """A dictionary with the values themselves as keys."""
    fresh = 0
    for value in values.tolist():
        if value not in SEEN:
            SEEN[value] = 0
            fresh += 1
        SEEN[value] += 1
    return fresh, max(SEEN.values())


FILE = tempfile.NamedTemporaryFile(suffix=".txt")


def with_file(rng):
    np.savetxt(FILE.name, rng.normal(size=(4, 3)))
    os.environ["PHLOX_PROGRAMS_SCALE"] = str(rng.integers(2, 9))
    return (rng.normal(size=3),)


@program(with_file, lambda found, x: np.allclose(found, np.loadtxt(FILE.name) @ x * int(os.environ["PHLOX_PROGRAMS_SCALE"])))
def read_surroundings(x):
    """A file and an environment variable, which are others at the next call."""
    matrix = np.loadtxt(FILE.name)
    scale = int(os.environ.get("PHLOX_PROGRAMS_SCALE", "1"))
    return scale * (matrix @ x)

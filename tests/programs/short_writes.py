"""Functions of a few lines that write something outside, or take from a stream there."""

import collections
import itertools
import random
import time
import types

import numpy as np

from .registry import program

OUTSIDE = types.SimpleNamespace()
NUMBER = 0
NUMBERS = np.zeros(5)


def clear():
    global NUMBER
    NUMBER = 0
    OUTSIDE.__dict__.clear()
    OUTSIDE.__dict__.update(
        count=0,
        total=0.0,
        array=np.zeros(5),
        falling=np.arange(5.0)[::-1].copy(),
        items=[],
        table={},
        members=set(),
        queue=collections.deque(),
        numbers=itertools.count(),
        generator=np.random.default_rng(7),
    )
    np.random.seed(8)
    random.seed(9)


def state():
    """What is outside, with what a generator or iterator gives next in its place."""
    values = {name: value for name, value in vars(OUTSIDE).items() if name not in ("numbers", "generator")}
    streams = OUTSIDE.generator.bit_generator.state, np.random.get_state()[1:3], random.getstate()[1]
    return values, streams, repr(OUTSIDE.numbers), NUMBER


def writes(function):
    return program(lambda rng: (rng.normal(size=5),), reset=clear, outside=state)(function)


@writes
def count_calls(x):
    OUTSIDE.count += 1
    return x * OUTSIDE.count


@writes
def count_globally(x):
    global NUMBER
    NUMBER += 1
    return x * NUMBER


@writes
def add_globally(x):
    global NUMBER
    NUMBER = NUMBER + x.sum()
    return NUMBER


@writes
def attribute(x):
    OUTSIDE.total = x.sum()


@writes
def attribute_to_argument(x):
    OUTSIDE.array = x


@writes
def attribute_to_array(x):
    OUTSIDE.array = OUTSIDE.array + x * 2


@writes
def attribute_by_name(x):
    setattr(OUTSIDE, "total", OUTSIDE.total + x[0])  # noqa: B010


@writes
def array_in_place(x):
    OUTSIDE.array += x


@writes
def array_from_itself(x):
    OUTSIDE.array[:] = OUTSIDE.array + 1
    return x


@writes
def array_element(x):
    OUTSIDE.array[1] += x[1]
    OUTSIDE.array[2] += 1
    return OUTSIDE.array.sum()


@writes
def array_by_methods(x):
    OUTSIDE.falling.sort()
    OUTSIDE.array.fill(x[0])


@writes
def array_by_functions(x):
    np.add(x, OUTSIDE.array, out=OUTSIDE.array)
    np.copyto(OUTSIDE.falling, x)
    np.add.at(OUTSIDE.array, [0, 0, 1], x[:3])


@writes
def array_by_view(x):
    view = OUTSIDE.array[1:3]
    view += x[:2] + 1


@writes
def append(x):
    OUTSIDE.items.append(1)
    return x * len(OUTSIDE.items)


@writes
def append_value(x):
    OUTSIDE.items.append(x.sum())


@writes
def append_array(x):
    OUTSIDE.items.append(x * 2)


@writes
def dictionary_item(x):
    OUTSIDE.table["sum"] = OUTSIDE.table.get("sum", 0) + x.sum()


@writes
def dictionary_count(x):
    OUTSIDE.table["calls"] = OUTSIDE.table.get("calls", 0) + 1
    return x * OUTSIDE.table["calls"]


@writes
def set_and_queue(x):
    OUTSIDE.members.add(len(OUTSIDE.members))
    OUTSIDE.queue.append(len(OUTSIDE.queue))
    return x


@writes
def iterator(x):
    return x * next(OUTSIDE.numbers)


@program(lambda rng: (rng.normal(size=5),), reset=lambda: mutable_default.__defaults__[0].clear())
def mutable_default(x, seen=[]):  # noqa: B006
    seen.append(1)
    return x * len(seen)


@writes
def before_an_exception(x):
    OUTSIDE.count += 1
    OUTSIDE.array[0] = 7
    x += 1
    raise ValueError("after all of this")


# --- under two names


def same_array(rng):
    NUMBERS[:] = rng.normal(size=5)
    return (NUMBERS,)


def part_of_array(rng):
    NUMBERS[:] = rng.normal(size=5)
    return (NUMBERS[1:4],)


@program(same_array, outside=lambda: NUMBERS)
def argument_written_outside_read(x):
    before = NUMBERS.sum()
    x *= 2
    return before, NUMBERS.sum()


@program(part_of_array, outside=lambda: NUMBERS)
def part_written_whole_read(x):
    x += 1
    return NUMBERS * 1.0


@program(part_of_array, outside=lambda: NUMBERS)
def outside_written_argument_read(x):
    NUMBERS[2:] += 1
    return x * 1.0


@writes
def array_in_a_list(x):
    if not OUTSIDE.items:
        OUTSIDE.items.append(np.zeros(5))
    total = x + OUTSIDE.items[0]
    OUTSIDE.items[0] = np.full(5, float(len(OUTSIDE.items)))
    OUTSIDE.items.append(None)
    return total


# --- streams


@writes
def numpy_stream(x):
    return x + np.random.rand(), np.random.normal(size=3), np.random.randint(10), np.random.permutation(4)


@writes
def numpy_stream_of_arguments(x):
    return np.random.normal(x, 1.0), np.random.choice(x), np.random.permutation(x)


@writes
def numpy_shuffle(x):
    np.random.shuffle(x)


@writes
def generator(x):
    return x + OUTSIDE.generator.random(), OUTSIDE.generator.normal(size=3), OUTSIDE.generator.integers(10)


@writes
def generator_of_arguments(x):
    return OUTSIDE.generator.normal(x, 1.0), OUTSIDE.generator.choice(x), OUTSIDE.generator.permutation(x)


@writes
def standard_stream(x):
    return x + random.random(), random.choice([1, 2, 3, 4, 5, 6, 7]), random.sample(range(9), 3)


@writes
def seeded(x):
    np.random.seed(3)
    return np.random.rand(5) + x


@writes
def clock(x):
    earlier = OUTSIDE.table.pop("clock", 0)
    later = time.perf_counter_ns()
    OUTSIDE.table["ticks"] = OUTSIDE.table.get("ticks", 0) + (later > earlier)
    return x

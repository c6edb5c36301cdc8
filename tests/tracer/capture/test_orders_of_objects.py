"""``sorted``, ``min`` and ``max`` of objects that compare themselves, in lists of known length and of others."""

import heapq
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from .test_keys import check

CALLS = [
    (np.array(values),) for values in ([0.25, 0.75, -0.5, 0.125, 1.5], [0.5] * 5, [-1.0, -2.0, -3.0, -4.0, 2.0], [-1.0] * 5)
]
PROGRAMS = []


@dataclass(order=True)
class Event:
    time: float
    place: int = field(compare=False)


class Downwards:
    def __init__(self, value):
        self.square, self.value = value * value, value

    def __lt__(self, other):
        return self.value > other.value


class Upwards:
    def __init__(self, value):
        self.negated, self.value = -value, value

    def __lt__(self, other):
        return self.value < other.value

    def __gt__(self, other):
        return self.value > other.value


class Unordered:
    def __init__(self, value):
        self.value = value


@dataclass(order=True)
class Task:
    name: float = field(compare=False)
    value: float


@dataclass(order=True)
class Pair:
    value: float
    name: float


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


def positive(x, kind):
    found = []
    for value in x:
        if value > 0:
            found.append(kind(value))
    return found


def values_of(items):
    return [item.value for item in items]


@program
def less_is_greater(x):
    found = positive(x, Downwards)
    found.sort()
    return values_of(found), values_of(sorted(found, reverse=True))


@program
def other_attributes_first(x):
    found = positive(x, Upwards)
    return values_of(sorted(found)), min(found).value, max(found).value


@program
def of_known_length(x):
    found = [Upwards(value) for value in x]
    return values_of(sorted(found)), min(found).value, max(found).value


@program
def in_tuples(x):
    found = [(round(one.value), one) for one in positive(x, Downwards)]
    return [(number, one.value) for number, one in sorted(found)]


@program
def by_a_key(x):
    found = positive(x, Upwards)
    return values_of(sorted(found, key=lambda one: Downwards(one.value))), values_of(sorted(found, key=lambda one: one.negated))


@program
def without_an_order(x):
    return values_of(sorted(positive(x, Unordered)))


@program
def of_some_fields(x):
    found = [Task(one.value, -one.value) for one in positive(x, Unordered)]
    return values_of(sorted(found)), min(found).value


@program
def of_all_fields(x):
    found = [Pair(one.value, -one.value) for one in positive(x, Unordered)]
    return values_of(sorted(found)), max(found).value


@program
def dicts(x):
    found = [{"value": one.value} for one in positive(x, Unordered)]
    return sorted(found, key=lambda one: one["value"]), sorted(found)


@program
def equal_ones_keep_their_order(x):
    found = []
    for place, value in enumerate(x):
        if value > -2:
            found.append((Upwards(round(value)), place))
    return [place for _, place in sorted(found, key=lambda pair: pair[0])]


class Arrival(NamedTuple):
    time: float
    kind: str
    number: int


@program
def sorted_by_keys_of_the_program(x):
    records = [{"name": name, "value": value} for name, value in zip("abcde", x)]
    records.sort(key=lambda one: one["value"], reverse=True)
    people = [Unordered(value) for value in x]
    people.sort(key=lambda one: -one.value)
    people[0].value = 7.0
    names, places = list("abcde"), [4, 3, 2, 1, 0]
    names.sort(key=lambda name: x["abcde".index(name)])
    places.sort(key=lambda place: x[place])
    return records[0], [one["name"] for one in records], [one.value for one in people], names, places


@program
def named_tuples_in_a_heap(x):
    events = [Arrival(float(time), "arrival", number) for number, time in enumerate(x[:3])]
    is_less, first = events[0] < events[1], min(events)
    heapq.heapify(events)
    event = heapq.heappop(events)
    heapq.heappush(events, Arrival(event.time + 1.5, "end", event.number))
    return is_less, first, event, events[0].kind


@program
def in_a_heap(x):
    waiting, order = [Event(value, place) for place, value in enumerate(x)], []
    heapq.heapify(waiting)
    while waiting:
        event = heapq.heappop(waiting)
        order.append(event.place)
        if event.time < 0.5:
            heapq.heappush(waiting, Event(event.time + 1, event.place))
    return order


@pytest.mark.parametrize("function", PROGRAMS)
def test_order_of_objects(function):
    check(function, CALLS)

"""What `functools.total_ordering` adds to a class; the order of elements that only they can compare, and of lists."""

import numpy as np


def in_order(items, keys):
    """The items in the ascending order of their keys, those of equal ones in theirs."""
    count, doublings = len(keys), 0
    while 1 << doublings < count:
        doublings += 1
    order, merged = np.arange(count), np.arange(count)
    width, first, middle, second, high = 1, 0, 0, 0, 0
    for _ in range(doublings):
        for place in range(count):
            if place % (2 * width) == 0:  # two runs begin
                first, middle, high = place, min(place + width, count), min(place + 2 * width, count)
                second = middle
            if second == high or first < middle and not keys[order[second]] < keys[order[first]]:
                merged[place] = order[first]
                first += 1
            else:
                merged[place] = order[second]
                second += 1
        order[...] = merged
        width *= 2
    return [items[place] for place in order]


def position_of_least(items):
    best = 0
    for place in range(1, len(items)):
        if items[place] < items[best]:
            best = place
    return best


def position_of_greatest(items):
    best = 0
    for place in range(1, len(items)):
        if items[place] > items[best]:
            best = place
    return best


def gt_from_lt(self, other):
    return not self < other and not self == other  # noqa: SIM201


def le_from_lt(self, other):
    return self < other or self == other


def ge_from_lt(self, other):
    return not self < other


def ge_from_le(self, other):
    return not self <= other or self == other


def lt_from_le(self, other):
    return self <= other and not self == other  # noqa: SIM201


def gt_from_le(self, other):
    return not self <= other


def lt_from_gt(self, other):
    return not self > other and not self == other  # noqa: SIM201


def ge_from_gt(self, other):
    return self > other or self == other


def le_from_gt(self, other):
    return not self > other


def le_from_ge(self, other):
    return not self >= other or self == other


def gt_from_ge(self, other):
    return self >= other and not self == other  # noqa: SIM201


def lt_from_ge(self, other):
    return not self >= other

"""What `functools.total_ordering` adds to a class; the order of elements that only they themselves can compare."""


def in_order(items, keys):
    """The items in the ascending order of their keys, those of equal ones in theirs."""
    count = len(keys)
    order = list(range(count))
    width = 1
    while width < count:
        merged = []
        while len(merged) < count:
            first = len(merged)
            middle = second = min(first + width, count)
            high = min(middle + width, count)
            while first < middle or second < high:
                if second == high or first < middle and not keys[order[second]] < keys[order[first]]:
                    merged.append(order[first])
                    first += 1
                else:
                    merged.append(order[second])
                    second += 1
        order = merged
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

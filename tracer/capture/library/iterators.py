"""``itertools``, ``functools.reduce`` and ``in``: what is gone over twice, or from its second element on, is a sequence.

The classes stand for iterators that captured loops and branches ask for elements.
"""


def accumulate(sequence, function):
    if len(sequence):
        total = sequence[0]
        yield total
        for place in range(1, len(sequence)):
            total = function(total, sequence[place])
            yield total


def accumulate_of(iterable, function):
    total, is_first = None, True
    for value in iterable:
        total = value if is_first else function(total, value)
        is_first = False
        yield total


def accumulate_from(initial, iterable, function):
    total = initial
    yield total
    for value in iterable:
        total = function(total, value)
        yield total


def reduce(function, sequence):
    if not len(sequence):
        raise TypeError("reduce() of empty iterable with no initial value")
    total = sequence[0]
    for place in range(1, len(sequence)):
        total = function(total, sequence[place])
    return total


def reduce_from(function, iterable, initial):
    total = initial
    for value in iterable:
        total = function(total, value)
    return total


def pairwise(sequence):
    for place in range(len(sequence) - 1):
        yield sequence[place], sequence[place + 1]


def pairwise_of(iterable):
    before, is_first = None, True
    for value in iterable:
        if not is_first:
            yield before, value
        before, is_first = value, False


def single_combinations(sequence):
    for value in sequence:
        yield (value,)


def pairs(sequence):
    for first in range(len(sequence)):
        for second in range(first + 1, len(sequence)):
            yield sequence[first], sequence[second]


def triples(sequence):
    for first in range(len(sequence)):
        for second in range(first + 1, len(sequence)):
            for third in range(second + 1, len(sequence)):
                yield sequence[first], sequence[second], sequence[third]


def product_of_two(first, second):
    for one in first:
        for other in second:
            yield one, other


def product_of_three(first, second, third):
    for one in first:
        for two in second:
            for three in third:
                yield one, two, three


def chain(*iterables):
    for iterable in iterables:
        yield from iterable


def from_iterable(iterables):
    for iterable in iterables:
        yield from iterable


def islice(sequence, start, stop, step):
    stop = len(sequence) if stop is None else min(stop, len(sequence))
    for place in range(start, stop, step):
        yield sequence[place]


def islice_of(iterable, start, stop, step):
    place = 0
    if stop is None or stop > 0:
        for value in iterable:
            if place >= start and (place - start) % step == 0:
                yield value
            place += 1
            if stop is not None and place >= stop:
                return


def takewhile(predicate, iterable):
    for value in iterable:
        if not predicate(value):
            return
        yield value


def dropwhile(predicate, iterable):
    is_dropping = True
    for value in iterable:
        if is_dropping and predicate(value):
            continue
        is_dropping = False
        yield value


def filterfalse(predicate, iterable):
    for value in iterable:
        if not (value if predicate is None else predicate(value)):
            yield value


def compress(data, selectors):
    for value, selector in zip(data, selectors):
        if selector:
            yield value


def starmap(function, iterable):
    for arguments in iterable:
        yield function(*arguments)


def groupby(sequence, key):
    """The groups are lists, as nobody can tell who asks for them at once."""
    begin = 0
    while begin < len(sequence):
        value = sequence[begin] if key is None else key(sequence[begin])
        group = [sequence[begin]]
        end = begin + 1
        while end < len(sequence):
            other = sequence[end] if key is None else key(sequence[end])
            if other != value:
                break
            group.append(sequence[end])
            end += 1
        begin = end
        yield value, group


def groupby_of(iterable, key):
    group, before = [], None
    for item in iterable:
        value = item if key is None else key(item)
        if group and value != before:
            yield before, group
            group = []
        before = value
        group.append(item)
    if group:
        yield before, group


def holds(item, iterable):
    for value in iterable:
        if value is item or value == item:
            return True
    return False


def next_or(iterator, default):
    try:
        return next(iterator)
    except StopIteration:
        return default


class Iterating:
    """What `iter` gives, with its position in a number."""

    def __init__(self, sequence):
        self.sequence, self.position = sequence, 0

    def __iter__(self):
        while self.position < len(self.sequence):
            self.position += 1
            yield self.sequence[self.position - 1]

    def __next__(self):
        if self.position >= len(self.sequence):
            raise StopIteration
        self.position += 1
        return self.sequence[self.position - 1]

    def following(self, default):
        return self.__next__() if self.position < len(self.sequence) else default


class Cycle:
    def __init__(self, sequence):
        self.sequence, self.position = sequence, 0

    def __iter__(self):
        while len(self.sequence):
            yield self.__next__()

    def __next__(self):
        if not len(self.sequence):
            raise StopIteration
        value = self.sequence[self.position]
        self.position = (self.position + 1) % len(self.sequence)
        return value


class Count:
    def __init__(self, start, step):
        self.following, self.step = start, step

    def __iter__(self):
        while True:
            yield self.__next__()

    def __next__(self):
        value = self.following
        self.following = value + self.step
        return value

"""Dicts that are elements of lists, or values of dicts, and are changed there: objects that hold their entries in a list.

Such objects are records (`..lists.records`), as those for sets are (`listed_sets`). Each line that makes dicts has a class of
its own, with what it gives where a key is missing (`..keys.listed_dicts`). What does not change a dict is done with one that
has the same entries.
"""

from collections import Counter, OrderedDict, defaultdict

from .listed import Listed


class ListedDict(Listed):
    """Stands for a dict that the function has made."""

    listed_as = dict

    def __init__(self):
        self.entries = no_entries(self)

    def __getitem__(self, key):
        place = place_of(self.entries, key)
        if place < 0:
            return self.missing(key)
        return self.entries[place][1]

    def missing(self, key):
        raise KeyError(key)

    def __setitem__(self, key, value):
        place = place_of(self.entries, key)
        if place < 0:
            self.entries.append(entry(key, value))
        else:
            self.entries[place] = entry(key, value)

    def __delitem__(self, key):
        self.entries.pop(required(place_of(self.entries, key), key))

    def __len__(self):
        return len(self.entries)

    def __contains__(self, key):
        return place_of(self.entries, key) >= 0

    def __iter__(self):
        return as_dict(self)

    def __repr__(self):
        return repr(as_dict(self))

    def __eq__(self, other):
        return as_dict(self) == as_dict(other)

    def __ne__(self, other):
        return as_dict(self) != as_dict(other)

    def __or__(self, other):
        return as_dict(self) | as_dict(other)

    def __ror__(self, other):
        return as_dict(other) | as_dict(self)

    def __ior__(self, other):
        self.update(other)
        return self

    def get(self, key, default=None):
        place = place_of(self.entries, key)
        return default if place < 0 else self.entries[place][1]

    def setdefault(self, key, default=None):
        place = place_of(self.entries, key)
        if place < 0:
            self.entries.append(entry(key, default))
            return default
        return self.entries[place][1]

    def pop(self, key, *default):
        if default:
            place = place_of(self.entries, key)
            return default[0] if place < 0 else self.entries.pop(place)[1]
        return self.entries.pop(required(place_of(self.entries, key), key))[1]

    def popitem(self, last=True):
        if not self.entries:
            raise KeyError("popitem(): dictionary is empty")
        return self.entries.pop() if last else self.entries.pop(0)

    def move_to_end(self, key):
        self.entries.append(self.entries.pop(required(place_of(self.entries, key), key)))

    def clear(self):
        self.entries.clear()

    def update(self, *others, **more):
        for key, value in pairs_of(*others):
            self[key] = value
        for key, value in more.items():
            self[key] = value

    def items(self):
        return as_dict(self).items()

    def keys(self):
        return as_dict(self).keys()

    def values(self):
        return as_dict(self).values()

    def copy(self):
        return as_dict(self).copy()


class ListedCounter(ListedDict):
    """Stands for a ``collections.Counter``."""

    listed_as = Counter

    @staticmethod
    def fill(made, held):
        made.update(dict(held))

    def missing(self, key):
        return 0

    def __delitem__(self, key):
        place = place_of(self.entries, key)
        if place >= 0:
            self.entries.pop(place)

    def __add__(self, other):
        return as_dict(self) + as_dict(other)

    def __sub__(self, other):
        return as_dict(self) - as_dict(other)

    def add(self, iterable, sign):
        if is_any_dict(iterable):
            for key, count in as_dict(iterable).items():
                self[key] += sign * count
        else:
            for key in iterable:
                self[key] += sign

    def update(self, *others, **more):
        for other in others:
            self.add(other, 1)
        for key, count in more.items():
            self[key] += count

    def subtract(self, *others, **more):
        for other in others:
            self.add(other, -1)
        for key, count in more.items():
            self[key] -= count

    def most_common(self, n=None):
        return as_dict(self).most_common(n)

    def total(self):
        return as_dict(self).total()

    def elements(self):
        return as_dict(self).elements()


class ListedOrderedDict(ListedDict):
    """Stands for a ``collections.OrderedDict``."""

    listed_as = OrderedDict


class ListedDefaultDict(ListedDict):
    """Stands for a ``collections.defaultdict``; its class has the factory, in a tuple, as it is no method of the class."""

    listed_as = defaultdict
    factory = (None,)

    @property
    def default_factory(self):
        return type(self).factory[0]

    @classmethod
    def empty(cls):
        return defaultdict(cls.factory[0])

    def missing(self, key):
        value = made_by_factory(self)
        self.entries.append(entry(key, value))
        return value


def no_entries(holder):
    return []


def place_of(entries, key):
    """The place of the entry with this key, -1 where there is none."""
    return next((place for place, (other, _) in enumerate(entries) if other == key), -1)


def required(place, key):
    """The place of an entry, which has to be there."""
    if place < 0:
        raise KeyError(key)
    return place


def entry(key, value):
    return (key, value)


def made_by_factory(holder):
    """What a defaultdict puts under a key that is missing."""


def as_dict(value):
    """A dict of the entries of such an object; anything else as it is."""
    return value


def is_any_dict(value):
    return isinstance(value, (dict, ListedDict))


def pairs_of(other=()):
    """The items of a dict, or the pairs that are given in its place."""
    return as_dict(other).items() if is_any_dict(other) else other

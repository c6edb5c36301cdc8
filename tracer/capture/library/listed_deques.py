"""Deques that are elements of lists, or values of dicts, and are changed there: objects that hold their elements in a list.

Such objects are records (`..lists.records`), as those for sets are (`listed_sets`); each line that makes deques has a class
of its own, with their greatest length (`..lists.listed_deques`).
"""

from collections import deque

from .listed import Listed


class ListedDeque(Listed):
    """Stands for a deque that the function has made."""

    listed_as = deque
    maxlen = None

    @classmethod
    def empty(cls):
        return deque(maxlen=cls.maxlen)

    @staticmethod
    def fill(made, held):
        made.extend(held)

    def __init__(self):
        self.elements = no_elements(self)

    def append(self, value):
        self.elements.append(value)
        if self.maxlen is not None and len(self.elements) > self.maxlen:
            self.elements.pop(0)

    def appendleft(self, value):
        self.elements.insert(0, value)
        if self.maxlen is not None and len(self.elements) > self.maxlen:
            self.elements.pop()

    def extend(self, values):
        for value in values:
            self.append(value)

    def extendleft(self, values):
        for value in values:
            self.appendleft(value)

    def pop(self):
        if not self.elements:
            raise IndexError("pop from an empty deque")
        return self.elements.pop()

    def popleft(self):
        if not self.elements:
            raise IndexError("pop from an empty deque")
        return self.elements.pop(0)

    def rotate(self, count=1):
        if self.elements:
            first = -count % len(self.elements)
            self.elements[:] = self.elements[first:] + self.elements[:first]

    def remove(self, value):
        self.elements.remove(value)

    def insert(self, place, value):
        if self.maxlen is not None and len(self.elements) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        self.elements.insert(place, value)

    def clear(self):
        self.elements.clear()

    def reverse(self):
        self.elements.reverse()

    def index(self, value):
        return as_deque(self).index(value)

    def count(self, value):
        return self.elements.count(value)

    def copy(self):
        return as_deque(self).copy()

    def __getitem__(self, place):
        return self.elements[place]

    def __setitem__(self, place, value):
        self.elements[place] = value

    def __delitem__(self, place):
        del self.elements[place]

    def __len__(self):
        return len(self.elements)

    def __contains__(self, value):
        return value in self.elements

    def __iter__(self):
        return as_deque(self)

    def __reversed__(self):
        return reversed(as_deque(self))

    def __repr__(self):
        return repr(as_deque(self))

    def __eq__(self, other):
        return as_deque(self) == as_deque(other)

    def __ne__(self, other):
        return as_deque(self) != as_deque(other)

    def __iadd__(self, values):
        self.extend(values)
        return self


def no_elements(holder):
    return []


def as_deque(value):
    """A deque of the elements of such an object; anything else as it is."""
    return value

"""Sets that are elements of lists, or values of dicts, and are changed there: objects that hold their elements in a list.

Such objects are records (`..lists.records`), so what is changed of one of them is seen wherever it is held. What does not
change them is done with a set of the same elements.
"""

from .listed import Listed


class ListedSet(Listed):
    """Stands for a set that the function has made."""

    listed_as = set

    def __init__(self):
        self.elements = no_elements()

    def add(self, value):
        require_key(value)
        if value not in self.elements:
            self.elements.append(value)

    def discard(self, value):
        require_key(value)
        note_gap()
        if value in self.elements:
            self.elements.remove(value)

    def remove(self, value):
        require_key(value)
        note_gap()
        if value not in self.elements:
            raise KeyError(value)
        self.elements.remove(value)

    def pop(self):
        value = as_set(self).pop()
        note_gap()
        self.elements.remove(value)
        return value

    def clear(self):
        self.elements.clear()

    def update(self, *others):
        for other in others:
            for value in other:
                self.add(value)
            if is_any_set(other):
                note_gap()

    def difference_update(self, *others):
        for other in others:
            for value in other:
                self.discard(value)

    def __len__(self):
        return len(self.elements)

    def __contains__(self, value):
        require_key(value)
        return value in self.elements

    def __iter__(self):
        return as_set(self)

    def __repr__(self):
        return repr(as_set(self))

    def __eq__(self, other):
        return as_set(self) == as_set(other)

    def __ne__(self, other):
        return as_set(self) != as_set(other)

    def __le__(self, other):
        return as_set(self) <= as_set(other)

    def __lt__(self, other):
        return as_set(self) < as_set(other)

    def __ge__(self, other):
        return as_set(self) >= as_set(other)

    def __gt__(self, other):
        return as_set(self) > as_set(other)

    def __or__(self, other):
        return as_set(self) | as_set(other)

    def __ror__(self, other):
        return as_set(other) | as_set(self)

    def __and__(self, other):
        return as_set(self) & as_set(other)

    def __rand__(self, other):
        return as_set(other) & as_set(self)

    def __sub__(self, other):
        return as_set(self) - as_set(other)

    def __rsub__(self, other):
        return as_set(other) - as_set(self)

    def __xor__(self, other):
        return as_set(self) ^ as_set(other)

    def __rxor__(self, other):
        return as_set(other) ^ as_set(self)

    def __ior__(self, other):
        self.update(require_set(other))
        return self

    def __isub__(self, other):
        self.difference_update(require_set(other))
        return self

    def __iand__(self, other):
        self.intersection_update(require_set(other))
        return self

    def intersection_update(self, *others):
        note_gap()
        kept = as_set(self).intersection(*others)
        self.elements[:] = [value for value in self.elements if value in kept]

    def union(self, *others):
        return as_set(self).union(*others)

    def intersection(self, *others):
        return as_set(self).intersection(*others)

    def difference(self, *others):
        return as_set(self).difference(*others)

    def symmetric_difference(self, other):
        return as_set(self).symmetric_difference(other)

    def issubset(self, other):
        return as_set(self).issubset(other)

    def issuperset(self, other):
        return as_set(self).issuperset(other)

    def isdisjoint(self, other):
        return as_set(self).isdisjoint(other)

    def copy(self):
        return as_set(self).copy()


ListedSet.__name__ = "set"


def no_elements():
    return []


def as_set(value):
    """A set of the elements of such an object; anything else as it is."""
    return value


def is_any_set(value):
    return isinstance(value, (set, frozenset, ListedSet))


def require_key(value):
    """Raises TypeError for what can be no element of a set."""


def require_set(value):
    """Raises TypeError for what is no set."""


def note_gap():
    """To be called where an element is taken out, so that the order is not that in which elements were put there."""

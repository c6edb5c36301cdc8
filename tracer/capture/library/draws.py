"""What is drawn of as many elements as the program decides: numbers one after the other, as NumPy fills an array, and orders;
and texts.
"""

import random

import numpy as np

from ...calls.random_generators import number_below


def one_by_one(generator, name, keywords, size, dtype):
    """An array of what the method returns without a size, as often as there are elements."""
    found = np.empty(size, dtype).reshape(-1)
    for place in range(found.shape[0]):
        found[place] = getattr(generator, name)(**keywords)
    return found.reshape(size)


def chosen(generator, elements, keywords):
    """What ``choice`` gives of texts: those at the positions that it chooses."""
    return elements[generator.choice(len(elements), **keywords)]


def reordered(elements, order):
    """Put the elements of a list, of whichever kinds they are, into this order."""
    elements[:] = [elements[place] for place in order]


def order(generator, count):
    """The numbers from 0 to below the count, in the order that ``shuffle`` puts them in."""
    found = np.arange(count)
    for last in range(count - 1, 0, -1):
        other = place_up_to(generator, last)
        moved = found[last]
        found[last] = found[other]
        found[other] = moved
    return found


def place_up_to(generator, last):
    """One of the numbers from 0 to the last one: those bits of a word that it has, until they are not above it."""
    if isinstance(generator, random.Random):
        return number_below(generator, last + 1)
    draw = generator.integers if isinstance(generator, np.random.Generator) else generator.randint
    mask = last
    for distance in (1, 2, 4, 8, 16):
        mask |= mask >> distance
    place = int(draw(0, 2**32, dtype=np.uint32)) & mask
    while place > last:
        place = int(draw(0, 2**32, dtype=np.uint32)) & mask
    return place


def shuffled(generator, elements, axis=0):
    """Put the elements of a list, or of an array, into a random order."""
    if axis != 0:
        raise NotImplementedError("Axis argument is only supported on ndarray objects")
    places = order(generator, len(elements))
    if isinstance(elements, list):
        reordered(elements, places)
    else:
        elements[:] = elements[places]


def permutation(generator, elements):
    """The numbers below this one, or a copy of an array, in a random order."""
    return order(generator, elements) if np.ndim(elements) == 0 else elements[order(generator, len(elements))]


def element(generator, elements):
    """What ``choice`` of Python's generators gives of a list."""
    if len(elements) == 0:
        raise IndexError("Cannot choose from an empty sequence")
    return elements[number_below(generator, len(elements))]


def between(generator, start, stop, beyond, by_python):
    """An integer from the first on and below the second, or so many beyond it, as Python's generators draw it.

    Where there is none Python says what is wrong.
    """
    start, stop = int(start), int(stop) + beyond
    return start + number_below(generator, stop - start) if start < stop else by_python()


def permuted(generator, rows):
    """A copy of an array of two dimensions, each of whose rows is in a random order of its own."""
    found = np.empty_like(rows)
    for row in range(rows.shape[0]):
        found[row] = rows[row][generator.permutation(rows.shape[1])]
    return found

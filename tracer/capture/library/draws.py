"""Arrays of random numbers whose size the program decides, drawn one after the other, as NumPy fills an array; and texts."""

import numpy as np


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

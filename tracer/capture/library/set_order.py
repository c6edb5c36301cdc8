"""The order in which CPython goes over a set whose elements were put into an empty one, one after the other.

As `set_add_entry`, `set_table_resize` and `set_insert_clean` of CPython's Objects/setobject.c have it: up to ten places in a
row before the next probe; a table of which three fifths are full grows fourfold, a large one twofold.
"""

import numpy as np

PROBES = 9
LEAST_SIZE = 8
MANY = 50_000


def put(table, mask, hashes, element):
    """Put an element that the table has not into the first free place."""
    perturb = hashes[element]
    start = int(perturb & np.uint64(mask))
    is_put = False
    while not is_put:
        last = start + PROBES if start + PROBES <= mask else start
        place = start
        while place < last and table[place] >= 0:
            place += 1
        if table[place] < 0:
            table[place] = element
            is_put = True
        else:
            perturb = perturb >> np.uint64(5)
            start = int((np.uint64(start) * np.uint64(5) + np.uint64(1) + perturb) & np.uint64(mask))


def size_for(count):
    """The size of the table in which so many elements are put anew."""
    wanted = count * 2 if count > MANY else count * 4
    size = LEAST_SIZE
    while size <= wanted:
        size *= 2
    return size


def in_order(hashes, count, most):
    """The elements by their hashes, of which there are so many, in the order of a table that has at most this size."""
    table = np.full(most, -1)
    mask = LEAST_SIZE - 1
    for element in range(count):
        put(table, mask, hashes, element)
        if (element + 1) * 5 >= mask * 3:
            before = table.copy()
            size = size_for(element + 1)
            table[:] = -1
            for place in range(mask + 1):
                if before[place] >= 0:
                    put(table, size - 1, hashes, before[place])
            mask = size - 1
    order = np.zeros(hashes.shape[0], np.int64)
    number = 0
    for place in range(mask + 1):
        if table[place] >= 0:
            order[number] = table[place]
            number += 1
    return order

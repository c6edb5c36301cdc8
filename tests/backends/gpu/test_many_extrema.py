"""Long code without branches in which integers are compared: the driver's compiler ends the process over it as it is."""

import numpy as np
from gpu_backends import processor_backend
from phlox import device_put, jit
from phlox.backends.registry import in_place_of
from thinning import left_to_ci


def folded(size, sequence):
    """Loops of a known number of rounds, which become one block of code."""

    def match(first, second):
        if first + second == 3:
            return 1
        else:
            return 0

    table = np.zeros((size, size), np.int32)
    for i in range(size - 1, -1, -1):
        for j in range(i + 1, size):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < size:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < size:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match(sequence[i], sequence[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@left_to_ci
def test_a_table_of_extrema():
    backend, sequence = processor_backend(), np.random.default_rng(1).integers(0, 4, 14)
    with in_place_of("opencl", backend):
        found = jit(folded)(14, device_put(sequence, "opencl"))
        np.testing.assert_array_equal(np.asarray(found), folded(14, sequence))

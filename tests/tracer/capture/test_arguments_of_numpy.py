"""Lists and tuples of traced values, given to functions of NumPy's that take anything an array can be made of."""

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import check

FUNCTIONS = [
    lambda x: (np.mean([x[0], x[1]]), np.std((x[0], 3)), np.max([v * 2 for v in x]), np.ptp([x[0], 2.5])),
    lambda x: (np.sum([x, -x], axis=0), np.argmax([x, -x], axis=0), np.mean(a=[x, x**2], axis=1)),
    lambda x: (np.sqrt([x[0], x[1]]), np.hypot((x[0], 3), 2), np.add([x[0], 1], [1, 2])),
    lambda x: (np.maximum.reduce([x, 2 * x, x - 1]), np.logical_and.reduce((x > 1, x < 3)), np.add.outer([x[0]], [1, 2])),
    lambda x: (np.linalg.norm([x[0] - 1, x[1]]), np.linalg.solve([[x[1], 2], [3, x[2]]], [1, 2]), np.dot([x[0], 1], [3, 4])),
    lambda x: (np.concatenate([[x[0]], [x[1], 2]]), np.hstack(([x[0]], [x[1], 2])), np.vstack([[x[0], 2], [x[1], 2]])),
    lambda x: (np.block([[x[0], 2], [x[1], 2]]), np.column_stack([[x[0], 2], [x[1], 2]]), np.concatenate(([0], x, [1, 2]))),
    lambda x: (np.interp([x[0], x[1]], [0, 1, 2], [3, 4, 5]), np.polyval([x[0], x[1], 3], 2.0), np.sort([x[2], x[1]])[::-1]),
    lambda x: (np.any([x[0] > 1, x[1] > 0]), np.where([x[0] > 1, True], 1, 2), np.unique([x[0], x[1], x[0]])),
    lambda x: (np.select([x > 1, x > 0], [x, -x], 7), np.lexsort([x, -x]), np.shape([x, x]), np.fft.fft([x[0], x[1]])),
]


def many(x):
    totals, rows = [], []
    for i in range(1000):
        totals.append(x.sum() * i)
        rows.append(x * i)
    return np.mean(totals), np.std(totals[1:]), np.diff(totals).max(), np.mean(rows, axis=0), np.transpose(rows).shape


@pytest.mark.parametrize("function", [*FUNCTIONS, many])
def test_lists_are_arrays_to_numpy(function):
    jitted = check(function, np.arange(4.0))
    check(jitted, np.array([3.0, 0.5, 2.0, 7.0]))


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="inhomogeneous shape"):
        jit(lambda x: np.mean([x, x[:2]]))(np.ones(3))

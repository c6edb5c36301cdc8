"""Forms of NumPy's functions that few use, of arrays whose sizes are known at run time only: decorated as undecorated."""

from __future__ import annotations

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

from ..support.extents import check

TABLE = np.array([[3, 1, 2], [0, 0, 0], [4, 6, 5]])
KEPT = np.array([True, False, True])
MASK, WEIGHTS, EVEN = np.array([[True, False, True], [False, True, True]]), np.array([0.5, 2, 1]), TABLE % 2 == 0

# Of a table of integers, of which the program leaves out a row, and a line of it.
CASES = {
    "integers without NaN": lambda x, y: [
        np.nansum(x), np.nanprod(x, axis=0), np.nansum(y, initial=2), np.nanprod(x > 1), np.nanmax(x, 0), np.nansum(x, 1, float)
    ],
    "whole quantiles": lambda x, y: [np.quantile(x, 1), np.nanquantile(y, 0), np.percentile(x, 100), np.quantile(x, 1.0)],
    "bools": lambda x, y: [np.vecdot(x > 1, x > 1), np.vdot(y > 1, y > 1), np.correlate(y > 1, y > 1)],
    "masks of reductions": lambda x, y: [
        np.sum(x, where=MASK), np.max(x, axis=1, where=MASK[0], initial=0), np.any(x, axis=0, where=MASK),
        np.mean(x, where=MASK), np.nansum(x * 0.5, axis=1, where=MASK), np.nanmean(y * 0.5, where=MASK[0]),
    ],
    "a mask of another size": lambda x, y: np.sum(x, where=EVEN),
    "orders": lambda x, y: [x.ravel("c"), x.flatten(None), x.reshape(-1, order="f"), np.ravel(x, "f")],
    "an order that is none": lambda x, y: x.flatten("X"),
    "an order of no reshape": lambda x, y: x.reshape(-1, order="K"),
    "transposed": lambda x, y: [y.transpose(0), x.transpose([1, 0]), np.transpose(x, (-1, 0))],
    "an axis twice": lambda x, y: x.transpose(0, 0),
    "triangles": lambda x, y: [np.triu(y), np.tril(y, 1), np.triu(x, 1)],
    "broadcast to": lambda x, y: [np.broadcast_to(y, (2, 3)), np.broadcast_to(x, (2, 2, 3))],
    "broadcast to nothing": lambda x, y: np.broadcast_to(y, ()),
    "broadcast to fewer dimensions": lambda x, y: np.broadcast_to(x, (3,)),
    "broadcast to one": lambda x, y: np.broadcast_to(y, (3, 1)),
    "diagonals": lambda x, y: x.diagonal(0, 2, -1),
    "the diagonal of one axis": lambda x, y: np.diagonal(x, 0, 1, -1),
    "a mask for each row": lambda x, y: np.putmask(x, y > 1, 9),
    "masked floats": lambda x, y: np.putmask(x, x > 1, x * 0.5),
    "placed floats": lambda x, y: np.place(y, y > 1, y * 0.5),
    "a masked complex number": lambda x, y: np.putmask(y, y > 1, 1j),
    "placed complex numbers": lambda x, y: np.place(y, y > 1, [1j]),
    "put complex numbers": lambda x, y: np.put(y, [0], 1j),
    "inserted complex numbers": lambda x, y: np.insert(y, 1, [1j]),
    "weights": lambda x, y: [np.histogram(y, 3, weights=WEIGHTS)[0], np.histogram2d(y, WEIGHTS, 2)[0]],
    "weights of another shape": lambda x, y: np.histogram(x, 3, weights=WEIGHTS),
    "outputs": lambda x, y: [
        np.cumsum(WEIGHTS, out=y * 1.0), np.nanmedian(MASK * WEIGHTS, axis=0, out=y * 1.0), np.sum(MASK, axis=0, out=y),
        np.fix(WEIGHTS, out=y * 1.0), np.argmax(MASK, 0, out=y), np.fft.fft(WEIGHTS, out=y * 1j),
    ],
    "gradients": lambda x, y: [np.gradient(x), np.gradient(x, axis=1), np.trim_zeros(np.where(x > 3, x, 0), axis=1)],
}  # fmt: skip


@pytest.mark.parametrize("name", one_in(4, CASES))
def test_as_undecorated(name):
    def function(x, line, rows, columns):
        return CASES[name](x[rows], line[columns])

    check(function, TABLE, TABLE[0], KEPT, np.ones(3, bool), backends=("reference",))


def test_masks_of_unknown_sizes_beside_known_ones_are_refused():
    with pytest.raises(NotImplementedError, match="where= whose size is known at run time only"):
        jit(lambda x, y: np.sum(x, where=y[y < 2] < 1))(WEIGHTS[:2], WEIGHTS)


def test_quantiles_in_a_number_known_at_run_time_are_refused():
    with pytest.raises(NotImplementedError, match=r"np\.nanquantile with a further argument"):
        jit(lambda x, q: np.quantile(x, q[q < 1]))(WEIGHTS, WEIGHTS)

"""Slices of lists whose length the program decides are deleted: what is behind them moves, and nothing else."""

import re

import numpy as np
from list_programs import check
from phlox import jit
from thinning import left_to_ci


def slices_are_deleted(x):
    out = [value + k for k in range(20) for value in x if value > -100]
    for value in x:
        del out[int(value) : 3 * int(value)]
        del out[-3:-1]
        out.insert(2, value)
        del out[5:2]
    return out


@left_to_ci
def test_as_undecorated():
    check(slices_are_deleted)


def test_the_list_stays_where_it_is():
    def deleted(x):
        out = [value for value in x if value > -100]
        for value in x:
            del out[int(value) : int(value) + 2]
        return out

    text = jit(deleted).compile(np.arange(300.0)).as_text()
    assert all(int(size) < 300 for size in re.findall(r"f64\[(\d+)\]\S* concatenate", text))

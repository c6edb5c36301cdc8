"""NumPy's functions, given lists of what the program computes, and arrays that they make of what is known."""

import numpy as np
import pytest

from ...support.undecorated import check

LINE = np.array([0.5, -1.5, 2.5, 3.5])


def shapes_that_are_computed(x):
    side = int(np.sqrt(len(x)))
    z, w, v = x.copy(), x.copy(), x.copy().reshape(2, 2)
    z.reshape(side, -1)[0] = 9
    w.reshape(np.array([2, 2]))[1] = 8
    v.reshape(np.array(4))[0] = 7
    z.shape = np.array([2, 2])
    return z, w, v, np.transpose(v, np.array([1, 0]))


def elements_of_a_long_list(x):
    found = []
    for i in range(1000):
        found.append(x[0] * i)
    return np.mean(found), np.argmax(found), np.sort(found)[3], np.cumsum(found), np.fromiter(found, np.float32)


def rows_of_a_long_list(x):
    found = []
    for i in range(1000):
        found.append(x * i)
    return np.mean(found, axis=0), np.vstack(found), np.concatenate(found), np.stack(found, axis=1)


def elements_of_an_open_list(x):
    found = []
    for i in range(500):
        if x[i % 4] > 0:
            found.append(x[i % 4] * i)
    return np.median(found), np.argmin(found)


def masks_and_indices_in_lists(x):
    flags = [v > 0 for v in x]
    places = [int(abs(x[0])), 2]
    y, z, m = x.copy(), x.copy(), np.zeros((3, 3))
    y[flags] = 0
    z[places] = 7.0
    m[[0, places[0]], [1, 1]] = x[1]
    return x[flags], x[places], y, z, m, sum(flags)


def simplex(x):
    corners = [x[:2], x[1:3], x[2:4]]
    values = [corner.sum() for corner in corners]
    for _ in range(50):
        order = np.argsort(values)
        corners, values = [corners[i] for i in order], [values[i] for i in order]
        corners[-1] = np.mean(corners[:-1], axis=0) * 0.9
        values[-1] = corners[-1].sum()
    return corners, values


def made_and_written(make):
    def program(x):
        made = make()
        made[0] = x[0]
        return made

    return program


FUNCTIONS_OF_LISTS = {
    "mean": lambda x: (np.mean([x[0], x[1]]), np.std((x[0], 2.0, x[1])), np.mean(a=[x[0], x[1]])),
    "nested": lambda x: np.sum([[x[0], x[1]], [x[2], 0.0]], axis=0),
    "order": lambda x: (
        np.argsort([x[0], x[1]]),
        np.sort([x[0], x[1]]),
        np.unique([x[0], x[0], x[1]]),
        np.argmin([x[1], x[0]]),
    ),
    "ufuncs": lambda x: (
        np.sqrt([abs(x[0]), abs(x[1])]),
        np.add([x[0], 1], [1, x[1]]),
        np.multiply.outer([x[0], 1], [2, x[1]]),
    ),
    "reduced": lambda x: (np.add.reduce([x[0], x[1]]), np.maximum.accumulate([x[0], x[1]])),
    "where": lambda x: np.where([x[0] > 0, x[1] > 0], [x[0], x[1]], 0.0),
    "joined": lambda x: (np.concatenate([[x[0]], [x[1]]]), np.hstack([x[0], x[1]]), np.vstack([[x[0], x[1]], [x[1], x[2]]])),
    "appended": lambda x: (np.append([x[0]], x[1]), np.append([], x[1]), np.insert([x[0], x[1]], 1, 2.0)),
    "products": lambda x: (
        np.dot([x[0], 1.0], [x[1], 2.0]),
        np.matmul([[x[0], 1], [2, x[1]]], [x[0], x[1]]),
        np.cross(x[:3], [1, x[1], 3]),
    ),
    "matrices": lambda x: (np.linalg.norm([x[0], x[1]]), np.linalg.solve([[2.0, x[0]], [0.0, 3.0]], [x[0], 1.0])),
    "truths": lambda x: (np.any([x[0] > 0, x[1] > 0]), np.all([x[0] > 0]), np.allclose([x[0]], x[0])),
    "statistics": lambda x: (
        np.median([x[0], x[1], x[2]]),
        np.percentile([x[0], x[1]], 30),
        np.average([x[0], x[1]], weights=[1, x[2]]),
    ),
    "shapes": lambda x: (np.shape([x[0], x[1]]), np.reshape([x[0], x[1]], (2, 1)), np.transpose([[x[0], x[1]]])),
    "out": lambda x: np.add([x[0], 1, 2], [1, 2, x[1]], out=np.zeros(3)),
    "fromiter": lambda x: (np.fromiter((v * 2 for v in x if v > 0), float), np.fromiter(map(abs, x), np.float32, 3)),
}

MAKERS = {
    "repeat": lambda: np.repeat(0.0, 5),
    "tile": lambda: np.tile([0.0, 1.0], 3),
    "diag": lambda: np.diag([1.0, 2.0]),
    "logspace": lambda: np.logspace(0, 1, 3),
    "indices": lambda: np.indices((2, 2))[0],
    "fromfunction": lambda: np.fromfunction(lambda i, j: i * j * 1.0, (2, 2)),
    "fromiter": lambda: np.fromiter((i * 1.0 for i in range(4)), float),
    "ndarray": lambda: np.ndarray(1, dtype=np.float32),
    "ndarray of integers": lambda: np.ndarray(shape=(1, 2), dtype=int, order="F"),
    "broadcast_to": lambda: np.broadcast_to([1.0, 2], (2, 2)).copy(),
    "outer": lambda: np.outer([1.0, 2], [1.0, 2]),
    "triu": lambda: np.triu([[1.0, 2], [1.0, 2]]),
}

PROGRAMS = [
    shapes_that_are_computed, elements_of_a_long_list, rows_of_a_long_list, elements_of_an_open_list,
    masks_and_indices_in_lists, simplex,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_whole_programs(program):
    check(program, LINE)


@pytest.mark.parametrize("name", FUNCTIONS_OF_LISTS)
def test_lists_are_arrays(name):
    check(FUNCTIONS_OF_LISTS[name], LINE)


@pytest.mark.parametrize("name", MAKERS)
def test_what_numpy_makes_can_be_written_to(name):
    check(made_and_written(MAKERS[name]), LINE)

"""Programs whose speed on a device is looked at, at the sizes that count: each is of a few kernels."""

import ml_dtypes
import numpy as np
from phlox import jit

SIZE = 4096
FLOATS = 1 << 24


def table(dtype=np.float32, rows=SIZE, columns=SIZE):
    """What is never read: only its shape and type count."""
    return np.empty((rows, columns), dtype)


def line(dtype=np.float32):
    return np.empty(FLOATS, dtype)


def axpy(a, x, y):
    return a * x + y


def chain(x):
    return np.log1p(np.exp(-np.abs(x))) * np.tanh(x) + np.sqrt(x * x + 1)


def sum_of_all(x):
    return x.sum()


def sums_of_rows(x):
    return x.sum(axis=1)


def sums_of_columns(x):
    return x.sum(axis=0)


def argmax_of_rows(x):
    return x.argmax(axis=1)


def softmax(x):
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def layer_norm(x, gain, bias):
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(1e-5)) * gain + bias


def transpose(x):
    return np.ascontiguousarray(x.T)


def bias_and_activation(x, bias):
    return np.maximum(x + bias, 0)


def product(x, y):
    return x @ y


def layer_with_residual(x, weights, bias, before):
    y = x @ weights + bias
    cube = np.float32(0.044715) * y * y * y
    return before + np.float32(0.5) * y * (1 + np.tanh(np.float32(0.7978845608) * (y + cube)))


def matrix_times_vector(x, v):
    return x @ v


def gather_of_rows(x, places):
    return x[places]


def padded(x):
    return np.pad(x, 1)


def stencil(x):
    return 4 * x[1:-1, 1:-1] - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]


def added_at(x, places, updates):
    total = x.copy()
    np.add.at(total, places, updates)
    return total


_ROW = np.empty(SIZE, np.float32)

# By name: the function and its arguments.
HOT_PROGRAMS = {
    "axpy": (axpy, (np.float32(2), line(), line())),
    "chain": (chain, (line(),)),
    "sum_of_all": (sum_of_all, (line(),)),
    "sums_of_rows": (sums_of_rows, (table(),)),
    "sums_of_columns": (sums_of_columns, (table(),)),
    "argmax_of_rows": (argmax_of_rows, (table(),)),
    "softmax": (softmax, (table(),)),
    "layer_norm": (layer_norm, (table(), _ROW, _ROW)),
    "transpose": (transpose, (table(),)),
    "bias_and_activation": (bias_and_activation, (table(), _ROW)),
    "product_f32": (product, (table(), table())),
    "product_f64": (product, (table(np.float64), table(np.float64))),
    "product_bf16": (product, (table(ml_dtypes.bfloat16), table(ml_dtypes.bfloat16))),
    "layer_f32": (layer_with_residual, (table(), table(), _ROW, table())),
    "layer_bf16": (layer_with_residual, (table(ml_dtypes.bfloat16), table(ml_dtypes.bfloat16), _ROW, table())),
    "matrix_times_vector": (matrix_times_vector, (table(), _ROW)),
    "gather_of_rows": (gather_of_rows, (table(), np.zeros(SIZE, np.int64))),
    "gather_of_narrow_rows": (gather_of_rows, (table(columns=16), np.zeros(FLOATS // 16, np.int64))),
    "padded": (padded, (table(),)),
    "stencil": (stencil, (table(),)),
    "added_at": (added_at, (line(), np.zeros(FLOATS, np.int64), line())),
    "added_at_few": (added_at, (_ROW, np.zeros(FLOATS, np.int64), line())),
    "rows_added_at": (added_at, (table(columns=64), np.zeros(FLOATS // 64, np.int64), table(rows=FLOATS // 64, columns=64))),
}


def hot_module(name):
    """The HLO module of one of them."""
    function, arguments = HOT_PROGRAMS[name]
    return jit(function).lower(*arguments).module

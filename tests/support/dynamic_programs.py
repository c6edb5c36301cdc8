"""Programs with dynamic dimensions, and what they mean in NumPy on arrays of the actual sizes."""

import numpy as np
from phlox import load_hlo

BACKENDS = ("reference", "cpu")

COMPUTATIONS = """
HloModule m

add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
multiply { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] multiply(a, b) }
largest { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
second { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(b, b) }
twice_sum {
  a = f32[] parameter(0)  b = f32[] parameter(1)
  s = f32[] add(a, b)  t = f32[] multiply(a, b)  ROOT r = f32[] add(s, t)
}
below { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
below2 {
  a = f32[] parameter(0)  b = f32[] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=GT
}
not_below { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }
argmax {
  a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  keep = pred[] compare(a, b), direction=GE
  x = f32[] select(keep, a, b)  k = s32[] select(keep, i, j)
  ROOT r = (f32[], s32[]) tuple(x, k)
}
square { a = f32[] parameter(0)  ROOT r = f32[] multiply(a, a) }
"""


def load(entry, backend, before=""):
    return load_hlo(f"{COMPUTATIONS}{before}\nENTRY main {{\n{entry}\n}}", backend)


def numbers(*sizes, seed=0):
    return np.random.default_rng(seed).integers(-9, 10, sizes).astype(np.float32)


def check(results, expected):
    results, expected = (value if isinstance(value, tuple) else (value,) for value in (results, expected))
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        assert np.shape(result) == np.shape(wanted)
        np.testing.assert_allclose(np.asarray(result), np.asarray(wanted), rtol=1e-5, atol=1e-5)


def select_and_scatter(x, sent):
    """Windows of three that start one before each element; of equal elements the first one is selected."""
    result = np.ones_like(x)
    for place, value in enumerate(sent):
        low = max(0, place - 1)
        result[low + np.argmax(x[low : place + 2])] += value
    return result


def scatter_of_windows(a, updates):
    """Those that lie inside of the actual sizes."""
    result = a.copy()
    for (row, column), update in zip(((1, 0), (0, 2), (3, 1)), updates):
        if row + 2 <= len(a) and column + 3 <= a.shape[1]:
            result[row : row + 2, column : column + 3] = 2 * update
    return result


def scatter_of_columns(a, updates):
    result = a.copy()
    for column, update in zip((1, 4), updates):
        if column < a.shape[1]:
            result[:3, column] = 2 * update
    return result


def batch_norm_training(x, scale, offset):
    mean = x.sum(0) / np.float32(len(x))
    variance = ((x - mean) ** 2).sum(0) / np.float32(len(x))
    return scale * (x - mean) / np.sqrt(variance + 0.5) + offset, mean, variance


def batch_norm_grad(x, scale, grad_output):
    """The mean is the scale, the variance is 4."""
    normalized = (x - scale) / 2
    grad_scale, grad_offset = (grad_output * normalized).sum(0), grad_output.sum(0)
    rest = grad_output - grad_offset / len(x) - normalized * grad_scale / len(x)
    return scale / 2 * rest, grad_scale, grad_offset


# Of each case: the program; sizes of its f32 arguments in which n and m stand for sizes up to 10 and 6; the meaning in NumPy.
X, Y = "x = f32[<=10] parameter(0)", "y = f32[<=10] parameter(1)"
A, B = "a = f32[<=10,6] parameter(0)", "b = f32[4,<=6] parameter(1)"
AB = "a = f32[<=10,<=6] parameter(0)"
ZERO = "z = f32[] constant(0)"

CASES = {
    "unary": (f"{X}  ROOT r = f32[<=10] negate(x)", ["n"], lambda x: -x),
    "binary": (f"{X}  {Y}  ROOT r = f32[<=10] add(x, y)", ["n", "n"], lambda x, y: x + y),
    "with static": (
        f"{X}  y = f32[10] parameter(1)  ROOT r = f32[<=10] subtract(y, x)", ["n", 10], lambda x, y: y[: len(x)] - x),
    "convert": (f"{X}  i = s32[<=10] convert(x)  ROOT r = f32[<=10] convert(i)", ["n"], lambda x: x),
    "compare, select": (
        f"{X}  {Y}  p = pred[<=10] compare(x, y), direction=LT  ROOT r = f32[<=10] select(p, x, y)", ["n", "n"], np.minimum),
    "clamp": (f"{X}  {ZERO}  t = f32[] constant(3)  ROOT r = f32[<=10] clamp(z, x, t)", ["n"], lambda x: np.clip(x, 0, 3)),
    "map": (f"{X}  ROOT r = f32[<=10] map(x), dimensions={{0}}, to_apply=square", ["n"], lambda x: x * x),
    "broadcast": (
        f"{X}  ROOT r = f32[3,<=10] broadcast(x), dimensions={{1}}", ["n"], lambda x: np.broadcast_to(x, (3, len(x)))),
    "transpose": (f"{AB}  ROOT r = f32[<=6,<=10] transpose(a), dimensions={{1,0}}", ["nm"], np.transpose),
    "reverse": (f"{AB}  ROOT r = f32[<=10,<=6] reverse(a), dimensions={{0,1}}", ["nm"], lambda a: a[::-1, ::-1]),
    "full slice": (f"{AB}  ROOT r = f32[<=10,<=3] slice(a), slice={{[0:10], [0:3]}}", ["nm"], lambda a: a[:, :3]),
    "strided slice": (f"{X}  ROOT r = f32[<=4] slice(x), slice={{[1:9:2]}}", ["n"], lambda x: x[1:9:2]),
    "slice of one": (
        f"{X}  ROOT r = f32[1] slice(x), slice={{[3:4]}}", ["n"], lambda x: x[3:4] if len(x) > 3 else np.zeros(1, np.float32)),
    "pad": (
        f"{X}  p = f32[] constant(7)  ROOT r = f32[<=23] pad(x, p), padding=1_3_1", ["n"],
        lambda x: np.concatenate([[7], np.stack([x, 0 * x + 7], 1).ravel()[: max(0, 2 * len(x) - 1)], [7] * 3])),
    "pad by less than nothing": (
        f"{X}  p = f32[] constant(7)  ROOT r = f32[<=7] pad(x, p), padding=-1_-2_0", ["n"],
        lambda x: x[1:][: max(0, len(x) - 3)]),
    "concatenate": (
        f"{X}  {Y}  s = f32[2] constant({{5, 6}})  ROOT r = f32[<=22] concatenate(x, s, y), dimensions={{0}}", ["n", "m"],
        lambda x, y: np.concatenate([x, [5, 6], y])),
    "concatenate, other": (
        f"{AB}  ROOT r = f32[<=10,<=12] concatenate(a, a), dimensions={{1}}", ["nm"], lambda a: np.concatenate([a, a], 1)),
    "reshape, outermost": (f"{A}  ROOT r = f32[<=60] reshape(a)", ["n6"], np.ravel),
    "reshape, split": (f"{A}  ROOT r = f32[<=10,2,3] reshape(a)", ["n6"], lambda a: a.reshape(-1, 2, 3)),
    "reshape, innermost": (
        "a = f32[4,<=6] parameter(0)  ROOT r = f32[<=24] reshape(a)", ["4m"], np.ravel),
    "reshape, two": (f"{AB}  ROOT r = f32[<=60] reshape(a)", ["nm"], np.ravel),
    "reshape, transposing": ("a = f32[2,<=6] parameter(0)  ROOT r = f32[<=6,2] reshape(a)", ["2m"], lambda a: a.reshape(-1, 2)),
    "reshape, one": (f"{X}  ROOT r = f32[1,<=10,1] reshape(x)", ["n"], lambda x: x.reshape(1, -1, 1)),
    "dynamic-reshape": (
        f"{AB}  i = s32[] get-dimension-size(a), dimensions={{0}}  j = s32[] get-dimension-size(a), dimensions={{1}}\n"
        "ROOT r = f32[<=6,<=10] dynamic-reshape(a, j, i)", ["nm"], lambda a: a.reshape(a.shape[::-1])),
    "dynamic-slice": (
        f"{X}  i = s32[] constant(8)  ROOT r = f32[3] dynamic-slice(x, i), dynamic_slice_sizes={{3}}", ["n"],
        lambda x: np.concatenate([x[-3:], [0] * 3])[:3]),
    "dynamic-update-slice": (
        f"{X}  u = f32[<=6] parameter(1)  i = u8[] constant(2)  ROOT r = f32[<=10] dynamic-update-slice(x, u, i)", ["n+6", "m"],
        lambda x, u: np.concatenate([x[:2], u, x[2 + len(u) :]]) if len(x) >= len(u) + 2 else
        np.concatenate([x[: len(x) - len(u)], u])),
    "update of static size": (
        f"{X}  u = f32[2] constant({{50, 60}})  i = s32[] constant(9)  ROOT r = f32[<=10] dynamic-update-slice(x, u, i)",
        ["n+2"], lambda x: np.concatenate([x[:-2], [50, 60]])),
    "reduce": (f"{AB}  {ZERO}  ROOT r = f32[<=10] reduce(a, z), dimensions={{1}}, to_apply=add", ["nm"], lambda a: a.sum(1)),
    "reduce, all": (
        f"{AB}  i = f32[] constant(2)  ROOT r = f32[] reduce(a, i), dimensions={{0,1}}, to_apply=add", ["nm"],
        lambda a: a.sum() + 2),
    "reduce, product": (
        f"{X}  i = f32[] constant(1)  ROOT r = f32[] reduce(x, i), dimensions={{0}}, to_apply=multiply", ["n"], np.prod),
    "reduce, maximum": (
        f"{AB}  i = f32[] constant(-inf)  ROOT r = f32[<=6] reduce(a, i), dimensions={{0}}, to_apply=largest", ["nm"],
        lambda a: a.max(0, initial=-np.inf)),
    "reduce, other computation": (
        f"{AB}  {ZERO}  ROOT r = f32[<=10] reduce(a, z), dimensions={{1}}, to_apply=twice_sum", ["nm"],
        lambda a: np.prod(a + 1, axis=1) - 1),
    "reduce, two": (
        f"{X}  k = s32[10] iota(), iota_dimension=0  i = f32[] constant(-inf)  j = s32[] constant(-1)\n"
        "ROOT r = (f32[], s32[]) reduce(x, k, i, j), dimensions={0}, to_apply=argmax", ["n"],
        lambda x: (x.max(), np.argmax(x)) if len(x) else (-np.inf, -1)),
    "reduce-window": (
        f"{X}  {ZERO}  ROOT r = f32[<=5] reduce-window(x, z), window={{size=3 stride=2 pad=1_1}}, to_apply=add", ["n"],
        lambda x: np.array([np.pad(x, 1)[i : i + 3].sum() for i in range(0, len(x), 2) if i + 3 <= len(x) + 2])),
    "reduce-window, other computation": (
        f"{X}  {ZERO}  ROOT r = f32[<=9] reduce-window(x, z), window={{size=2}}, to_apply=twice_sum", ["n"],
        lambda x: (x[1:] + 1) * (x[:-1] + 1) - 1),
    "cumulative sum": (
        f"{X}  {ZERO}  ROOT r = f32[<=10] reduce-window(x, z), window={{size=10 pad=0_9}}, to_apply=add", ["n"],
        lambda x: np.cumsum(x[::-1])[::-1]),
    "select-and-scatter": (
        f"{A}  s = f32[<=10,3] parameter(1)  {ZERO}\n"
        "ROOT r = f32[<=10,6] select-and-scatter(a, s, z), window={size=1x2 stride=1x2}, select=not_below, scatter=add",
        ["n6", "n3"], lambda a, s: np.where(
            np.arange(2) == (a.reshape(-1, 3, 2)[..., :1] < a.reshape(-1, 3, 2)[..., 1:]), s[..., None], 0).reshape(a.shape)),
    "select-and-scatter, sliding": (
        f"{X}  s = f32[<=9] parameter(1)  i = f32[] constant(1)\n"
        "ROOT r = f32[<=10] select-and-scatter(x, s, i), window={size=3 stride=1 pad=1_0}, select=not_below, scatter=add",
        ["n", "k"], select_and_scatter),
    "batch-norm-training": (
        f"{A}  s = f32[6] parameter(1)  o = f32[6] parameter(2)\n"
        "ROOT r = (f32[<=10,6], f32[6], f32[6]) batch-norm-training(a, s, o), epsilon=0.5, feature_index=1", ["n6", "6", "6"],
        batch_norm_training),
    "batch-norm-inference": (
        f"{AB}  s = f32[<=6] parameter(1)  o = f32[<=6] parameter(2)\n"
        "ROOT r = f32[<=10,<=6] batch-norm-inference(a, s, o, o, s), epsilon=99, feature_index=1", ["nm", "m", "m"],
        lambda a, s, o: s * (a - o) / np.sqrt(s + 99) + o),
    "batch-norm-grad": (
        f"{A}  s = f32[6] parameter(1)  y = f32[<=10,6] parameter(2)  c = f32[] constant(4)\n"
        "o = f32[6] broadcast(c), dimensions={}\n"
        "ROOT r = (f32[<=10,6], f32[6], f32[6]) batch-norm-grad(a, s, s, o, y), epsilon=0, feature_index=1", ["n6", "6", "n6"],
        batch_norm_grad),
    "dot, free": (
        f"{A}  b = f32[6,4] parameter(1)\n"
        "ROOT r = f32[<=10,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        ["n6", "64"], np.matmul),
    "dot, contracted": (
        f"{AB}  {B}  ROOT r = f32[<=10,4] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}",
        ["nm", "4m"], lambda a, b: a @ b.T),
    "dot, one contracted": (
        f"{AB}  b = f32[6] parameter(1)  ROOT r = f32[<=10] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
        ["nm", "6"], lambda a, b: a @ b[: a.shape[1]]),
    "dot, batch": (
        f"{X}  {Y}  ROOT r = f32[<=10] dot(x, y), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}", ["n", "n"], np.multiply),
    "convolution": (
        "x = f32[2,<=10,3] parameter(0)  k = f32[2,3,4] parameter(1)\n"
        "ROOT r = f32[2,<=10,4] convolution(x, k), window={size=2 pad=1_0}, dim_labels=b0f_0io->b0f", ["2n3", "234"],
        lambda x, k: np.stack([np.einsum("bwi,wio->bo", np.pad(x, ((0, 0), (1, 0), (0, 0)))[:, i : i + 2], k)
                               for i in range(x.shape[1])], 1) if x.shape[1] else np.zeros((2, 0, 4), np.float32)),
    "sort": (
        f"{AB}  ROOT r = f32[<=10,<=6] sort(a), dimensions={{1}}, to_apply=below", ["nm"], lambda a: np.sort(a, 1)),
    "sort, two": (
        f"{X}  k = s32[10] iota(), iota_dimension=0\n"
        "ROOT r = (f32[<=10], s32[<=10]) sort(x, k), dimensions={0}, is_stable=true, to_apply=below2", ["n"],
        lambda x: (-np.sort(-x), np.argsort(-x, kind="stable"))),
    "topk": (
        f"{X}  ROOT r = (f32[2], s32[2]) topk(x), k=2, largest=true", ["n+2"],
        lambda x: (-np.sort(-x)[:2], np.argsort(-x, kind="stable")[:2])),
    "topk, batch": (
        f"{A}  ROOT r = (f32[<=10,2], s32[<=10,2]) topk(a), k=2, largest=false", ["n6"],
        lambda a: (np.sort(a, 1)[:, :2], np.argsort(a, 1, kind="stable")[:, :2])),
    "gather, clamped": (
        f"{A}  i = s32[3] constant({{0, 9, -1}})\n"
        "ROOT r = f32[3,6] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
        "slice_sizes={1,6}", ["n6"], lambda a: a[[0, -1, 0]] if len(a) else np.zeros((3, 6), np.float32)),
    "gather, indices": (
        "x = f32[9] parameter(0)  i = f32[<=10] parameter(1)  k = s32[<=10] convert(i)\n"
        "ROOT r = f32[<=10] gather(x, k), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
        "slice_sizes={1}", ["9", "n"], lambda x, i: x[np.clip(i.astype(int), 0, 8)]),
    "gather, whole slices": (
        f"{AB}  i = s32[2] constant({{1, 0}})\n"
        "ROOT r = f32[<=10,2] gather(a, i), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, "
        "index_vector_dim=1, slice_sizes={10,1}", ["nm+2"], lambda a: a[:, [1, 0]]),
    "scatter": (
        "x = f32[9] parameter(0)  i = f32[<=10] parameter(1)  k = s32[<=10] convert(i)\n"
        "ROOT r = f32[9] scatter(x, k, i), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        "index_vector_dim=1, to_apply=add", ["9", "n"],
        lambda x, i: x + [sum(v for v in i if v == place) for place in range(9)]),
    "scatter of rows": (
        f"{AB}  u = f32[2,<=6] parameter(1)  k = s32[2] constant({{0, 7}})\n"
        "ROOT r = f32[<=10,<=6] scatter(a, k, u), update_window_dims={1}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second", ["nm", "2m"],
        lambda a, u: np.stack([2 * u[[0, 7].index(i)] if i in (0, 7) else row for i, row in enumerate(a)])
        if len(a) else a),
    "scatter of windows": (
        f"{AB}  u = f32[4,2,3] parameter(1)  k = s32[4,2] constant({{{{1, 0}}, {{0, 2}}, {{3, 1}}, {{-1, 0}}}})\n"
        "ROOT r = f32[<=10,<=6] scatter(a, k, u), update_window_dims={1,2}, inserted_window_dims={}, "
        "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=second", ["nm+3", "423"], scatter_of_windows),
    "scatter of columns": (
        f"{AB}  u = f32[2,3] parameter(1)  k = s64[2] constant({{1, 4}})\n"
        "ROOT r = f32[<=10,<=6] scatter(a, k, u), update_window_dims={1}, inserted_window_dims={1}, "
        "scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=second", ["nm+3", "23"], scatter_of_columns),
    "cholesky": (
        "x = f32[<=6] parameter(0)  i = f32[<=6,6] broadcast(x), dimensions={0}  j = f32[6,<=6] broadcast(x), dimensions={1}\n"
        "o = f32[<=6,<=6] multiply(i, j)  t = s32[6,6] iota(), iota_dimension=0  u = s32[6,6] iota(), iota_dimension=1\n"
        "e = pred[6,6] compare(t, u), direction=EQ  f = f32[6,6] convert(e)  s = f32[<=6,<=6] add(o, f)\n"
        "ROOT r = f32[<=6,<=6] cholesky(s), lower=true", ["m"],
        lambda x: np.linalg.cholesky(np.outer(x, x) + np.eye(len(x))) if len(x) else np.zeros((0, 0))),
    "triangular-solve": (
        "x = f32[<=6] parameter(0)  c = f32[<=6,1] reshape(x)  k = f32[] constant(0.5)\n"
        "l = f32[6,6] broadcast(k), dimensions={}\n"
        "t = s32[6,6] iota(), iota_dimension=0  u = s32[6,6] iota(), iota_dimension=1  n = s32[] get-dimension-size(x), "
        "dimensions={0}\n"
        "p = f32[<=6,6] set-dimension-size(l, n), dimensions={0}  a = f32[<=6,<=6] set-dimension-size(p, n), dimensions={1}\n"
        "ROOT r = f32[<=6,1] triangular-solve(a, c), left_side=true, lower=false", ["m"],
        lambda x: np.linalg.solve(np.triu(np.full((len(x), len(x)), 0.5)), x[:, None])),
    "fft": (
        "x = f32[<=10,4] parameter(0)  c = c64[<=10,4] convert(x)  f = c64[<=10,4] fft(c), fft_type=FFT, fft_length={4}\n"
        "ROOT r = f32[<=10,4] real(f)", ["n4"], lambda x: np.fft.fft(x).real),
    "constant": (f"{X}  k = f32[<=4] constant({{1, 2, 3}})  ROOT r = (f32[<=4], f32[<=10]) tuple(k, x)", ["n"],
                 lambda x: (np.float32([1, 2, 3]), x)),
    "bitcast-convert": (
        f"{X}  i = s32[<=10] bitcast-convert(x)  ROOT r = f32[<=10] bitcast-convert(i)", ["n"], lambda x: x),
    "remove": (
        f"{X}  n = s32[] constant(10)  s = f32[10] set-dimension-size(x, n), dimensions={{0}}  ROOT r = f32[10] negate(s)",
        [10], lambda x: -x),
}  # fmt: skip


def sizes_of(text, n, m):
    """``"nm+2"`` is (n, m, at least 2 each)."""
    letters, _, least = str(text).partition("+")
    if letters == "10":
        return (10,)
    return tuple(max(int(least or 0), int({"n": n, "m": m, "k": max(0, n - 1)}.get(letter, letter))) for letter in letters)

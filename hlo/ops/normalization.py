"""Batch normalization: training, inference and gradient.

Source of the semantics: "BatchNormTraining", "BatchNormInference" and "BatchNormGrad" in XLA's Operation Semantics, after Ioffe
and Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift" (2015).
"""

from __future__ import annotations

import numpy as np

from ..attributes import Float32, Integer
from ..element_type import BF16, F16, F32, F64, S32
from ..errors import require
from ..operation import ACTUAL_SIZES, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape
from .constraints import require_kind


def _check(opcode: str, operand: Shape, feature_index: int, **of_features: Shape) -> Shape:
    """Raise ShapeError unless the operand has that feature dimension and the others one element for each feature."""
    require_kind(opcode, "operand", operand, ("float",))
    in_range = 0 <= feature_index < operand.rank
    require(in_range, f"{opcode}: feature_index must be a dimension of the operand {operand}, got {feature_index}")
    wanted = operand.with_dimensions((operand.dimensions[feature_index],), (operand.is_dynamic(feature_index),))
    for name, shape in of_features.items():
        require_kind(opcode, name, shape, ("float",))
        fits = shape.without_layout() == wanted
        require(fits, f"{opcode}: {name} must have one element for each feature of the operand, {wanted}, got {shape}")
    return wanted


@operation(
    "batch-norm-training", "operand", "scale", "offset", dynamic=ACTUAL_SIZES,
    epsilon=Float32(), feature_index=Integer()
)  # fmt: skip
def batch_norm_training(operand, scale, offset, *, epsilon, feature_index):
    """BatchNormTraining(operand, scale, offset, epsilon, feature_index): normalizes each feature by its mean and variance.

    The result is the tuple (scale * (x - mean) / sqrt(variance + epsilon) + offset, mean, variance), mean and variance over all
    dimensions but that of the features; the variance is that of the population. ``feature_index`` is the dimension of the
    features; scale and offset, and the mean and variance of the result, have one element for each of them.
    """
    features = _check("batch-norm-training", operand, feature_index, scale=scale, offset=offset)
    return TupleShape((operand.without_layout(), features, features))


@operation(
    "batch-norm-inference", "operand", "scale", "offset", "mean", "variance", dynamic=ACTUAL_SIZES,
    epsilon=Float32(), feature_index=Integer()
)  # fmt: skip
def batch_norm_inference(operand, scale, offset, mean, variance, *, epsilon, feature_index):
    """BatchNormInference(operand, scale, offset, mean, variance, epsilon, feature_index): normalizes by a given mean and
    variance.

    The result is scale * (x - mean) / sqrt(variance + epsilon) + offset, of the operand's shape. scale, offset, mean and
    variance have one element for each feature, along dimension ``feature_index`` of the operand.
    """
    _check("batch-norm-inference", operand, feature_index, scale=scale, offset=offset, mean=mean, variance=variance)
    return operand.without_layout()


@operation(
    "batch-norm-grad", "operand", "scale", "mean", "variance", "grad_output", dynamic=ACTUAL_SIZES,
    epsilon=Float32(), feature_index=Integer()
)  # fmt: skip
def batch_norm_grad(operand, scale, mean, variance, grad_output, *, epsilon, feature_index):
    """BatchNormGrad(operand, scale, mean, variance, grad_output, epsilon, feature_index): the gradients of
    batch-norm-training with respect to operand, scale and offset, as a tuple.

    ``mean`` and ``variance`` are those of the operand, ``grad_output`` is the gradient with respect to the normalized result,
    of its shape. The gradients of scale and offset have one element for each feature, as scale has.
    """
    features = _check("batch-norm-grad", operand, feature_index, scale=scale, mean=mean, variance=variance)
    require_kind("batch-norm-grad", "grad_output", grad_output, ("float",))
    fits = grad_output.without_layout() == operand.without_layout()
    require(fits, f"batch-norm-grad: grad_output must have the shape of the operand {operand}, got {grad_output}")
    return TupleShape((operand.without_layout(), features, features))


# --- semantics ---


class _Features:
    """Arithmetic along the features of an operand, floats of 16 bits computed in f32."""

    def __init__(self, operand: np.ndarray, feature_index: int) -> None:
        self.dtype = np.asarray(operand).dtype
        self.wide = self.dtype if self.dtype.itemsize >= 4 else np.dtype(np.float32)
        self.axis, rank = feature_index, np.ndim(operand)
        self.others = tuple(d for d in range(rank) if d != feature_index)
        self.column = tuple(-1 if d == feature_index else 1 for d in range(rank))

    def along(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Arrays with one element for each feature, in line with the operand's features."""
        return [np.asarray(array).astype(self.wide).reshape(self.column) for array in arrays]

    def total(self, array: np.ndarray) -> np.ndarray:
        return np.sum(array, axis=self.others, keepdims=True, dtype=self.wide)

    def count(self, array: np.ndarray) -> np.ndarray:
        """Elements of one feature."""
        return self.wide.type(np.prod([array.shape[d] for d in self.others], dtype=np.int64))

    def narrow(self, array: np.ndarray) -> np.ndarray:
        return array.astype(self.dtype)

    def flat(self, array: np.ndarray) -> np.ndarray:
        return self.narrow(array).reshape(-1)


@batch_norm_training.evaluation
def _(operand, scale, offset, *, epsilon, feature_index):
    f = _Features(operand, feature_index)
    x = np.asarray(operand).astype(f.wide)
    gamma, beta = f.along(scale, offset)
    with np.errstate(all="ignore"):
        mean = f.total(x) / f.count(x)
        variance = f.total((x - mean) ** 2) / f.count(x)
        normalized = gamma * ((x - mean) / np.sqrt(variance + f.wide.type(epsilon))) + beta
        return f.narrow(normalized), f.flat(mean), f.flat(variance)


@batch_norm_inference.evaluation
def _(operand, scale, offset, mean, variance, *, epsilon, feature_index):
    f = _Features(operand, feature_index)
    x = np.asarray(operand).astype(f.wide)
    gamma, beta, mu, sigma_squared = f.along(scale, offset, mean, variance)
    with np.errstate(all="ignore"):
        return f.narrow(gamma * ((x - mu) / np.sqrt(sigma_squared + f.wide.type(epsilon))) + beta)


@batch_norm_grad.evaluation
def _(operand, scale, mean, variance, grad_output, *, epsilon, feature_index):
    f = _Features(operand, feature_index)
    x, dy = np.asarray(operand).astype(f.wide), np.asarray(grad_output).astype(f.wide)
    gamma, mu, sigma_squared = f.along(scale, mean, variance)
    with np.errstate(all="ignore"):
        deviation = np.sqrt(sigma_squared + f.wide.type(epsilon))
        normalized = (x - mu) / deviation
        grad_scale, grad_offset = f.total(dy * normalized), f.total(dy)
        count = f.count(x)
        grad_operand = gamma / deviation * (dy - grad_offset / count - normalized * (grad_scale / count))
        return f.narrow(grad_operand), f.flat(grad_scale), f.flat(grad_offset)


# --- samples ---


def _numbers(element_type, *rows):
    return [np.array(row, element_type.dtype) for row in rows]


@batch_norm_training.sampling
def _():
    # One feature with mean 2 and variance 1, one with mean 0 and variance 9.
    attributes = {"epsilon": 0.0, "feature_index": 1}
    for element_type in (F32, F64, F16, BF16):
        x, scale, offset = _numbers(element_type, [[1, 3], [3, -3], [1, -3], [3, 3]], [2, 1], [10, -1])
        normalized = [[8, 0], [12, -2], [8, -2], [12, 0]]
        expected = tuple(_numbers(element_type, normalized, [2, 0], [1, 9]))
        yield Sample([x, scale, offset], attributes, expected=expected)
    x, scale, offset = _numbers(F32, [5, 6, 7], [1, 1, 1], [1, 2, 3])
    # Without other dimensions every element is its own mean.
    expected = tuple(_numbers(F32, [1, 2, 3], [5, 6, 7], [0, 0, 0]))
    yield Sample([x, scale, offset], {"epsilon": 0.25, "feature_index": 0}, expected=expected)
    for element_type, sizes, feature_index in (
        (F32, (7, 5, 6, 3), 3), (F32, (4, 17, 9), 1), (F64, (33, 4), 0), (F16, (8, 3, 5), 1), (BF16, (9, 8), 1),
        (F32, (2, 3, 0, 4), 3), (F32, (2, 3, 0), 2), (F64, (2, 1, 3, 2, 4), 2),
    ):  # fmt: skip
        features = Shape(element_type, (sizes[feature_index],))
        attributes = {"epsilon": 1e-3, "feature_index": feature_index}
        yield Sample([Shape(element_type, sizes), features, features], attributes)
    x, four = Shape(F32, (2, 4)), Shape(F32, (4,))
    good = {"epsilon": 1e-3, "feature_index": 1}
    yield InvalidSample([Shape(S32, (2, 4)), four, four], good, "operand must have a floating-point element type")
    yield InvalidSample([x, four, four], {**good, "feature_index": 2}, "feature_index must be a dimension of the operand")
    yield InvalidSample([x, four, four], {**good, "feature_index": -1}, "feature_index must be a dimension of the operand")
    yield InvalidSample([Shape(F32), four, four], {**good, "feature_index": 0}, "feature_index must be a dimension")
    yield InvalidSample([x, Shape(F32, (2,)), four], good, r"scale must have one element for each feature.*f32\[4\]")
    yield InvalidSample([x, four, Shape(F32, (4, 1))], good, "offset must have one element for each feature")
    yield InvalidSample([x, four, Shape(F64, (4,))], good, "offset must have one element for each feature")
    yield InvalidSample([x, four, four], {"feature_index": 1}, "attribute epsilon is required")
    yield InvalidSample([x, four, four], {**good, "epsilon": "small"}, "a number is required")
    yield InvalidSample([x, four, four], {**good, "epsilon": float("nan")}, "a finite number of type f32 is required")
    yield InvalidSample([x, four, four], {**good, "epsilon": 1e300}, "a finite number of type f32 is required")


@batch_norm_inference.sampling
def _():
    for element_type in (F32, F64, F16, BF16):
        rows = [[1, 3], [5, 7]], [2, 3], [10, 20], [1, 2], [3, 8]
        attributes = {"epsilon": 1.0, "feature_index": 1}
        expected = np.array([[10, 21], [14, 25]], element_type.dtype)
        yield Sample(_numbers(element_type, *rows), attributes, expected=expected)
    for element_type, sizes, feature_index in (
        (F32, (7, 5, 6, 3), 3), (F32, (4, 17, 9), 1), (F64, (33, 4), 0), (F16, (8, 3, 5), 1), (F32, (2, 3, 0), 1),
        (F32, (9,), 0),
    ):  # fmt: skip
        features = np.arange(1, sizes[feature_index] + 1).astype(element_type.dtype)
        attributes = {"epsilon": 1e-3, "feature_index": feature_index}
        yield Sample([Shape(element_type, sizes), features, -features, features / 2, features * 4], attributes)
    x, four = Shape(F32, (2, 4)), Shape(F32, (4,))
    good = {"epsilon": 1e-3, "feature_index": 1}
    yield InvalidSample([x, four, four, Shape(F32, (2,)), four], good, "mean must have one element for each feature")
    yield InvalidSample([x, four, four, four, Shape(S32, (4,))], good, "variance must have a floating-point element type")
    yield InvalidSample([x, four, four, four, four], {**good, "feature_index": 7}, "feature_index must be a dimension")


@batch_norm_grad.sampling
def _():
    # x = -1, 1 has mean 0 and variance 1: the gradient loses its mean and its part along x, here all of it.
    attributes = {"epsilon": 0.0, "feature_index": 1}
    for element_type in (F32, F64, F16, BF16):
        x, scale, mean, variance, grad = _numbers(element_type, [[-1], [1]], [3], [0], [1], [[5], [9]])
        expected = tuple(_numbers(element_type, [[0], [0]], [4], [14]))
        yield Sample([x, scale, mean, variance, grad], attributes, expected=expected)
    # Three elements leave one direction: x = -2, 1, 1 and dy = 0, -1, 1.
    x, scale, mean, variance, grad = _numbers(F32, [[-2, 1, 1]], [4], [0], [3], [[0, -1, 1]])
    expected = tuple(_numbers(F32, [[0, -2, 2]], [0], [0]))
    yield Sample([x, scale, mean, variance, grad], {"epsilon": 1.0, "feature_index": 0}, expected=expected)
    for element_type, sizes, feature_index in (
        (F32, (7, 5, 6, 3), 3), (F32, (4, 17, 9), 1), (F64, (33, 4), 0), (F16, (8, 3, 5), 1), (F32, (2, 3, 0, 4), 3)
    ):  # fmt: skip
        features = np.arange(1, sizes[feature_index] + 1).astype(element_type.dtype)
        attributes = {"epsilon": 1e-3, "feature_index": feature_index}
        shape = Shape(element_type, sizes)
        yield Sample([shape, features, features / 2, features * 4, shape], attributes)
    x, four = Shape(F32, (2, 4)), Shape(F32, (4,))
    good = {"epsilon": 1e-3, "feature_index": 1}
    yield InvalidSample([x, four, four, four, Shape(F32, (4, 2))], good, "grad_output must have the shape of the operand")
    yield InvalidSample([x, four, four, four, Shape(F64, (2, 4))], good, "grad_output must have the shape of the operand")
    yield InvalidSample([x, four, four, Shape(F32, (3,)), x], good, "variance must have one element for each feature")
    yield InvalidSample([x, four, four, four, x], {**good, "feature_index": 2}, "feature_index must be a dimension")

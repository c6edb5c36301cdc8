"""Batch normalization against its formulas in double precision, its gradient against differences; builder and text."""

import numpy as np
import pytest
from phlox import hlo
from phlox.backends.registry import get_backend
from phlox.hlo import F32, HloSyntaxError, Shape, ShapeError, TupleShape
from phlox.xla_builder import XlaBuilder

BACKENDS = ["reference", "cpu"]


def run(backend, opcode, *operands, **attributes):
    b = XlaBuilder(opcode)
    root = b.emit(opcode, *(b.parameter(hlo.shape_of(operand)) for operand in operands), **attributes)
    return get_backend(backend).compile(b.build_module(root))(*operands)


def moments(x, feature_index):
    others = tuple(d for d in range(x.ndim) if d != feature_index)
    x = x.astype(np.float64)
    return np.mean(x, others), np.var(x, others)


def normalized(x, scale, offset, mean, variance, epsilon, feature_index):
    column = [-1 if d == feature_index else 1 for d in range(x.ndim)]
    scale, offset, mean, variance = (np.asarray(v, np.float64).reshape(column) for v in (scale, offset, mean, variance))
    return scale * (x.astype(np.float64) - mean) / np.sqrt(variance + epsilon) + offset


def operands(dtype, sizes, feature_index):
    random = np.random.default_rng(len(sizes))
    x = random.normal(3, 2, sizes).astype(dtype)
    scale, offset = random.uniform(0.5, 2, (2, sizes[feature_index])).astype(dtype)
    return x, scale, offset


CASES = [((8, 5, 6, 3), 3), ((4, 17, 9), 1), ((3, 40), 0), ((50,), 0), ((2, 3, 2, 4, 5), 2), ((64, 70), 1)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("sizes", "feature_index"), CASES)
def test_training_and_inference(backend, dtype, sizes, feature_index):
    x, scale, offset = operands(dtype, sizes, feature_index)
    attributes = {"epsilon": 0.125, "feature_index": feature_index}
    y, mean, variance = run(backend, "batch-norm-training", x, scale, offset, **attributes)
    expected = moments(x, feature_index)
    tolerance = {"rtol": 0, "atol": 40 * np.finfo(dtype).eps}
    np.testing.assert_allclose(mean, expected[0], **tolerance)
    np.testing.assert_allclose(variance, expected[1], **tolerance)
    np.testing.assert_allclose(y, normalized(x, scale, offset, *expected, 0.125, feature_index), **tolerance)
    assert y.dtype == mean.dtype == variance.dtype == dtype
    (same,) = run(backend, "batch-norm-inference", x, scale, offset, mean, variance, **attributes)
    np.testing.assert_allclose(same, y, **tolerance)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("sizes", "feature_index"), CASES)
def test_gradient(backend, sizes, feature_index):
    """The change of sum(dy * y) under small changes of operand, scale and offset."""
    x, scale, offset = operands(np.float64, sizes, feature_index)
    random = np.random.default_rng(5)
    dy, epsilon = random.normal(size=sizes), 0.5
    mean, variance = moments(x, feature_index)
    attributes = {"epsilon": epsilon, "feature_index": feature_index}
    gradients = run(backend, "batch-norm-grad", x, scale, mean, variance, dy, **attributes)

    def loss(x, scale, offset):
        return np.sum(dy * normalized(x, scale, offset, *moments(x, feature_index), epsilon, feature_index))

    step = 1e-5
    for position, gradient in enumerate(gradients):
        direction = random.normal(size=gradient.shape)
        moved = []
        for signed in (step, -step):
            arguments = [x, scale, offset]
            arguments[position] = arguments[position] + signed * direction
            moved.append(arguments)
        forth, back = moved
        difference = (loss(*forth) - loss(*back)) / (2 * step)
        np.testing.assert_allclose(np.sum(gradient * direction), difference, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_variance_of_numbers_far_from_zero(backend):
    """The mean of squares less the square of the mean would lose all digits."""
    x = np.float32(30000) + np.array([[1.0], [2], [3], [6]], np.float32)
    one = np.ones(1, np.float32)
    _, mean, variance = run(backend, "batch-norm-training", x, one, one, epsilon=0, feature_index=1)
    np.testing.assert_array_equal(mean, [30003])
    np.testing.assert_array_equal(variance, [3.5])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("element_type", [hlo.F16, hlo.BF16], ids=str)
def test_narrow_types_are_summed_in_single_precision(backend, element_type):
    x = np.full((3000, 1), 1, element_type.dtype)
    one = np.ones(1, element_type.dtype)
    y, mean, variance = run(backend, "batch-norm-training", x, one, one, epsilon=1, feature_index=1)
    assert float(mean[0]) == 1 and float(variance[0]) == 0 and (y.astype(np.float32) == 1).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_elements(backend):
    y, mean, variance = run(
        backend, "batch-norm-training", *(np.ones(s, np.float32) for s in ((0, 3), (3,), (3,))), epsilon=1, feature_index=1
    )
    assert y.shape == (0, 3) and np.isnan(mean).all() and np.isnan(variance).all()


def test_builder_and_text():
    b = XlaBuilder("f")
    x, of_features = b.parameter(Shape(F32, (2, 5, 4))), b.parameter(Shape(F32, (4,)))
    training = b.BatchNormTraining(x, of_features, of_features, 0.001, 2)
    features = Shape(F32, (4,))
    assert training.shape == TupleShape((Shape(F32, (2, 5, 4)), features, features))
    inference = b.BatchNormInference(x, of_features, of_features, of_features, of_features, epsilon=0, feature_index=2)
    gradient = b.BatchNormGrad(x, of_features, of_features, of_features, x, 0.1, 2)
    text = b.build_module(b.Tuple([training, inference, gradient])).as_text()
    # As XLA prints them: epsilon in the digits that f32 needs.
    assert "batch-norm-training(%parameter, %parameter.1, %parameter.1), epsilon=0.001, feature_index=2" in text
    assert "batch-norm-inference(" in text and "epsilon=0, feature_index=2" in text
    assert "batch-norm-grad(" in text and "epsilon=0.1, feature_index=2" in text
    assert hlo.parse_module(text).as_text() == text
    with pytest.raises(HloSyntaxError, match="a number expected"):
        hlo.parse_module(text.replace("epsilon=0.001", "epsilon=small"))
    with pytest.raises(ShapeError, match="batch-norm-training: attribute epsilon: a number is required, 'x' given"):
        b.BatchNormTraining(x, of_features, of_features, "x", 2)

"""Batch normalization as reductions and elementwise operations."""

from __future__ import annotations

import numpy as np

from ... import hlo
from ...hlo import F32, Instruction, scalar_computation
from .table import expansion


class _Features:
    """Arithmetic along the features of an operand, floats of 16 bits computed in f32."""

    def __init__(self, normalization: Instruction, operand: Instruction) -> None:
        self.shape = operand.shape
        self.element_type = self.shape.element_type if self.shape.element_type.bits >= 32 else F32
        self.axis = normalization.attributes["feature_index"]
        self.epsilon = self.number(normalization.attributes["epsilon"])
        self.others = tuple(d for d in range(self.shape.rank) if d != self.axis)
        static = [d for d in self.others if not self.shape.is_dynamic(d)]
        self.count = self.number(np.prod([self.shape.dimensions[d] for d in static], dtype=np.float64))
        for dimension in self.others:
            if self.shape.is_dynamic(dimension):
                size = hlo.convert(hlo.get_dimension_size(operand, dimensions=(dimension,)), self.element_type)
                self.count = hlo.multiply(self.count, hlo.broadcast(size, self.count.shape.dimensions, ()))

    def number(self, value: float) -> Instruction:
        """The number, for each feature."""
        return hlo.broadcast(hlo.constant(value, self.element_type), (self.shape.dimensions[self.axis],), ())

    def wide(self, *operands: Instruction) -> list[Instruction]:
        return [hlo.convert(operand, self.element_type) for operand in operands]

    def narrow(self, *results: Instruction) -> list[Instruction]:
        return [hlo.convert(result, self.shape.element_type) for result in results]

    def spread(self, of_features: Instruction) -> Instruction:
        return hlo.broadcast(of_features, self.shape.dimensions, (self.axis,))

    def total(self, operand: Instruction) -> Instruction:
        zero = hlo.constant(0, self.element_type)
        return hlo.reduce(operand, zero, dimensions=self.others, to_apply=scalar_computation("add", self.element_type))

    def mean(self, operand: Instruction) -> Instruction:
        return hlo.divide(self.total(operand), self.count)

    def deviation(self, variance: Instruction) -> Instruction:
        return hlo.sqrt(hlo.add(variance, self.epsilon))

    def normalized(self, deviations: Instruction, variance: Instruction) -> Instruction:
        """The operand's distances from the mean in units of the standard deviation."""
        return hlo.divide(deviations, self.spread(self.deviation(variance)))


@expansion("batch-norm-training")
def expand_training(training: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """The mean of x, then that of (x - mean)^2, then scale * (x - mean) / sqrt(variance + epsilon) + offset."""
    f = _Features(training, operands[0])
    x, scale, offset = f.wide(*operands)
    mean = f.mean(x)
    distances = hlo.subtract(x, f.spread(mean))
    variance = f.mean(hlo.multiply(distances, distances))
    result = hlo.add(hlo.multiply(f.spread(scale), f.normalized(distances, variance)), f.spread(offset))
    return hlo.tuple(*f.narrow(result, mean, variance))


@expansion("batch-norm-inference")
def expand_inference(inference: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """scale * (x - mean) / sqrt(variance + epsilon) + offset."""
    f = _Features(inference, operands[0])
    x, scale, offset, mean, variance = f.wide(*operands)
    normalized = f.normalized(hlo.subtract(x, f.spread(mean)), variance)
    return f.narrow(hlo.add(hlo.multiply(f.spread(scale), normalized), f.spread(offset)))[0]


@expansion("batch-norm-grad")
def expand_gradient(gradient: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """With n = (x - mean) / deviation: scale / deviation * (dy - mean(dy) - n * mean(n * dy)), and sums of n * dy and dy."""
    f = _Features(gradient, operands[0])
    x, scale, mean, variance, grad_output = f.wide(*operands)
    normalized = f.normalized(hlo.subtract(x, f.spread(mean)), variance)
    grad_scale, grad_offset = f.total(hlo.multiply(grad_output, normalized)), f.total(grad_output)
    factor = f.spread(hlo.divide(scale, f.deviation(variance)))
    rest = hlo.subtract(grad_output, f.spread(hlo.divide(grad_offset, f.count)))
    rest = hlo.subtract(rest, hlo.multiply(normalized, f.spread(hlo.divide(grad_scale, f.count))))
    return hlo.tuple(*f.narrow(hlo.multiply(factor, rest), grad_scale, grad_offset))

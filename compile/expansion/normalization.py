"""Batch normalization as reductions and elementwise operations."""

from __future__ import annotations

import numpy as np

from ...hlo import F32, Builder, Instruction, scalar_computation
from .table import expansion


class _Features:
    """Arithmetic along the features of an operand, floats of 16 bits computed in f32."""

    def __init__(self, b: Builder, normalization: Instruction, operand: Instruction) -> None:
        self.b, self.shape = b, operand.shape
        self.element_type = self.shape.element_type if self.shape.element_type.bits >= 32 else F32
        self.axis = normalization.attributes["feature_index"]
        self.epsilon = self.number(normalization.attributes["epsilon"])
        self.others = tuple(d for d in range(self.shape.rank) if d != self.axis)
        static = [d for d in self.others if not self.shape.is_dynamic(d)]
        self.count = self.number(np.prod([self.shape.dimensions[d] for d in static], dtype=np.float64))
        for dimension in self.others:
            if self.shape.is_dynamic(dimension):
                size = b.convert(b.GetDimensionSize(operand, dimension), self.element_type)
                self.count = b.Mul(self.count, b.broadcast(size, self.count.shape.dimensions, ()))

    def number(self, value: float) -> Instruction:
        """The number, for each feature."""
        return self.b.broadcast(self.b.constant(value, self.element_type), (self.shape.dimensions[self.axis],), ())

    def wide(self, *operands: Instruction) -> list[Instruction]:
        return [self.b.convert(operand, self.element_type) for operand in operands]

    def narrow(self, *results: Instruction) -> list[Instruction]:
        return [self.b.convert(result, self.shape.element_type) for result in results]

    def spread(self, of_features: Instruction) -> Instruction:
        return self.b.broadcast(of_features, self.shape.dimensions, (self.axis,))

    def total(self, operand: Instruction) -> Instruction:
        zero = self.b.constant(0, self.element_type)
        return self.b.Reduce(operand, zero, scalar_computation("add", self.element_type), self.others)

    def mean(self, operand: Instruction) -> Instruction:
        return self.b.Div(self.total(operand), self.count)

    def deviation(self, variance: Instruction) -> Instruction:
        return self.b.Sqrt(self.b.Add(variance, self.epsilon))

    def normalized(self, deviations: Instruction, variance: Instruction) -> Instruction:
        """The operand's distances from the mean in units of the standard deviation."""
        return self.b.Div(deviations, self.spread(self.deviation(variance)))


@expansion("batch-norm-training")
def expand_training(b: Builder, training: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """The mean of x, then that of (x - mean)^2, then scale * (x - mean) / sqrt(variance + epsilon) + offset."""
    f = _Features(b, training, operands[0])
    x, scale, offset = f.wide(*operands)
    mean = f.mean(x)
    distances = b.Sub(x, f.spread(mean))
    variance = f.mean(b.Mul(distances, distances))
    result = b.Add(b.Mul(f.spread(scale), f.normalized(distances, variance)), f.spread(offset))
    return b.emit("tuple", *f.narrow(result, mean, variance))


@expansion("batch-norm-inference")
def expand_inference(b: Builder, inference: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """scale * (x - mean) / sqrt(variance + epsilon) + offset."""
    f = _Features(b, inference, operands[0])
    x, scale, offset, mean, variance = f.wide(*operands)
    normalized = f.normalized(b.Sub(x, f.spread(mean)), variance)
    return f.narrow(b.Add(b.Mul(f.spread(scale), normalized), f.spread(offset)))[0]


@expansion("batch-norm-grad")
def expand_gradient(b: Builder, gradient: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """With n = (x - mean) / deviation: scale / deviation * (dy - mean(dy) - n * mean(n * dy)), and sums of n * dy and dy."""
    f = _Features(b, gradient, operands[0])
    x, scale, mean, variance, grad_output = f.wide(*operands)
    normalized = f.normalized(b.Sub(x, f.spread(mean)), variance)
    grad_scale, grad_offset = f.total(b.Mul(grad_output, normalized)), f.total(grad_output)
    factor = f.spread(b.Div(scale, f.deviation(variance)))
    rest = b.Sub(grad_output, f.spread(b.Div(grad_offset, f.count)))
    rest = b.Sub(rest, b.Mul(normalized, f.spread(b.Div(grad_scale, f.count))))
    return b.emit("tuple", *f.narrow(b.Mul(factor, rest), grad_scale, grad_offset))

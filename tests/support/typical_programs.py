"""Small programs as people write them, as functions of a builder, and what such functions use."""

import numpy as np
from phlox import hlo
from phlox.hlo import F32, Shape, scalar_computation
from phlox.xla_builder import XlaBuilder


def parameters(b, *shapes):
    return [b.parameter(Shape(F32, dimensions), f"x{n}") for n, dimensions in enumerate(shapes)]


def full(b, value, dimensions):
    return b.BroadcastInDim(b.constant(np.float32(value)), dimensions, ())


def total(b, x, dimensions, opcode="add", init=0.0):
    return b.Reduce(x, b.constant(np.float32(init)), scalar_computation(opcode, F32), dimensions)


def module_of(build):
    b = XlaBuilder(build.__name__.strip("<>"))
    module = b.build_module(build(b))
    hlo.verify(module)
    return module


def softmax(b):
    (x,) = parameters(b, (8, 16))
    shifted = b.Sub(x, b.BroadcastInDim(total(b, x, (1,), "maximum", -np.inf), (8, 16), (0,)))
    weights = b.Exp(shifted)
    return b.Div(weights, b.BroadcastInDim(total(b, weights, (1,)), (8, 16), (0,)))


def layer_norm(b):
    x, gain, bias = parameters(b, (8, 32), (32,), (32,))
    mean = b.Div(total(b, x, (1,)), full(b, 32, (8,)))
    centred = b.Sub(x, b.BroadcastInDim(mean, (8, 32), (0,)))
    variance = b.Div(total(b, b.Mul(centred, centred), (1,)), full(b, 32, (8,)))
    scale = b.Rsqrt(b.Add(variance, full(b, 1e-5, (8,))))
    normal = b.Mul(centred, b.BroadcastInDim(scale, (8, 32), (0,)))
    return b.Add(b.Mul(normal, b.BroadcastInDim(gain, (8, 32), (1,))), b.BroadcastInDim(bias, (8, 32), (1,)))


def mlp_training_step(b):
    """One step of gradient descent on |tanh(x @ w1 + b1) @ w2 - y|**2."""
    x, y, w1, b1, w2 = parameters(b, (16, 4), (16, 2), (4, 8), (8,), (8, 2))
    rate = b.constant(np.float32(0.125))
    hidden = b.Tanh(b.Add(b.Dot(x, w1), b.BroadcastInDim(b1, (16, 8), (1,))))
    error = b.Sub(b.Dot(hidden, w2), y)
    loss = total(b, b.Mul(error, error), (0, 1))
    d_w2 = b.Dot(b.Trans(hidden), error)
    d_hidden = b.Mul(b.Dot(error, b.Trans(w2)), b.Sub(full(b, 1, (16, 8)), b.Mul(hidden, hidden)))
    d_w1, d_b1 = b.Dot(b.Trans(x), d_hidden), total(b, d_hidden, (0,))
    return b.Tuple(
        [loss]
        + [b.Sub(w, b.Mul(b.BroadcastInDim(rate, w.shape.dimensions, ()), d)) for w, d in ((w1, d_w1), (b1, d_b1), (w2, d_w2))]
    )


def periodic_stencil(b):
    u = b.parameter(Shape(F32, (30, 40)), "u")
    dt = b.parameter(Shape(F32), "dt")
    v = b.ConcatInDim([b.Slice(u, (29, 0), (30, 40)), u, b.Slice(u, (0, 0), (1, 40))], 0)
    v = b.ConcatInDim([b.Slice(v, (0, 39), (32, 40)), v, b.Slice(v, (0, 0), (32, 1))], 1)
    shifted = [b.Slice(v, (1 + i, 1 + j), (31 + i, 41 + j)) for i, j in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    around = b.Add(b.Add(b.Add(shifted[0], shifted[1]), shifted[2]), shifted[3])
    return b.Add(u, b.Mul(b.Sub(around, b.Mul(u, b.constant(np.float32(4)))), dt))


def rows_written_in_a_loop(b):
    """``for i in range(10): rows[i] = tanh(rows[i] * i + weights); total += rows[i].sum()``"""
    rows, weights = parameters(b, (10, 64), (64,))
    init = b.Tuple([b.constant(np.int32(0)), rows, weights, b.constant(np.float32(0))])
    c = XlaBuilder("below")
    condition = c.build(c.Lt(c.GetTupleElement(c.parameter(init.shape, "state"), 0), c.constant(np.int32(10))))
    c = XlaBuilder("body")
    state = c.parameter(init.shape, "state")
    i, rows, weights, running = (c.GetTupleElement(state, n) for n in range(4))
    zero = c.constant(np.int32(0))
    row = c.Reshape(c.DynamicSlice(rows, [i, zero], (1, 64)), (64,))
    row = c.Tanh(c.Add(c.Mul(row, c.ConvertElementType(i, F32)), weights))
    rows = c.DynamicUpdateSlice(rows, c.Reshape(row, (1, 64)), [i, zero])
    body = c.build(c.Tuple([c.Add(i, c.constant(np.int32(1))), rows, weights, c.Add(running, total(c, row, (0,)))]))
    loop = b.While(condition, body, init)
    return b.Tuple([b.GetTupleElement(loop, 1), b.GetTupleElement(loop, 3)])


TYPICAL_PROGRAMS = [softmax, layer_norm, mlp_training_step, periodic_stencil, rows_written_in_a_loop]

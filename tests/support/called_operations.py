"""An operation inside of every kind of computation that another operation calls."""

import numpy as np
from phlox.hlo import F32, S32, TOKEN, Shape, TupleShape, make_instruction, scalar_computation
from phlox.hlo.window import WindowDimension
from phlox.xla_builder import XlaBuilder
from retyped_samples import operand_shape
from sample_values import value_of

FLOAT = Shape(F32)
HUGE = 1e30


def operand_of(b, value, shape, always):
    """A value as an instruction that constant folding does not see through: ``always`` is a pred that is true."""
    if isinstance(shape, TupleShape):
        return b.emit("tuple", *(operand_of(b, v, s, always) for v, s in zip(value, shape.elements)))
    if shape.element_type is TOKEN:
        return b.emit("after-all")
    value = np.asarray(value)
    return b.emit("select", always, b.constant(value), b.constant(np.zeros_like(value)))


def summary(b, value):
    """A number, f32[], of at most 100 for each element of a value."""
    if value.shape.is_tuple:
        parts = [summary(b, b.GetTupleElement(value, number)) for number in range(len(value.shape.elements))]
        total = b.constant(np.float32(0))
        for part in parts:
            total = b.Add(total, part)
        return total
    if value.shape.element_type is TOKEN:
        return b.constant(np.float32(0))
    if value.shape.element_type.is_complex:
        return b.Add(summary(b, b.Real(value)), summary(b, b.Imag(value)))
    x = b.ConvertElementType(value, F32)
    seven = b.constant(np.float32(7))
    x = b.emit("select", b.Ne(x, x), b.BroadcastInDim(seven, x.shape.dimensions, ()), x)
    x = b.emit("clamp", b.constant(np.float32(-100)), x, b.constant(np.float32(100)))
    if not x.shape.rank:
        return x
    return b.Reduce(x, b.constant(np.float32(0)), scalar_computation("add", F32), range(x.shape.rank))


def applied(b, opcode, sample, values, number):
    """The summary of the operation's result on the sample's values; ``number`` is any f32[] of the computation."""
    always = b.Eq(number, number)
    shapes = [operand_shape(one) for one in sample.operands]
    operands = [operand_of(b, value, shape, always) for value, shape in zip(values, shapes)]
    return summary(b, b.append(make_instruction(opcode, operands, sample.attributes, sample.shape)))


class Kinds:
    """Modules of one argument, f32[4], whose result depends on the operation in a computation of one kind."""

    def __init__(self, opcode, sample, seed=0):
        random = np.random.default_rng(seed)
        self.opcode, self.sample = opcode, sample
        self.values = [value_of(operand, random, tame=True) for operand in sample.operands]

    def apply(self, b, number):
        return applied(b, self.opcode, self.sample, self.values, number)

    def unary(self):
        b = XlaBuilder("callee")
        x = b.parameter(FLOAT)
        return b.build(b.Add(x, self.apply(b, x)))

    def larger(self):
        """The larger of two numbers and the operation's."""
        b = XlaBuilder("callee")
        x, y = b.parameter(FLOAT), b.parameter(FLOAT)
        return b.build(b.Max(b.Max(x, y), self.apply(b, x)))

    def comparison(self, opcode):
        b = XlaBuilder("callee")
        x, y = b.parameter(FLOAT), b.parameter(FLOAT)
        ordered = getattr(b, opcode)(x, y)
        return b.build(b.And(ordered, b.Lt(self.apply(b, x), b.constant(np.float32(HUGE)))))

    def module(self, kind):
        b = XlaBuilder("main")
        x = b.parameter(Shape(F32, (4,)))
        return b.build_module(getattr(self, kind)(b, x))

    # --- computations on scalars ---

    def map(self, b, x):
        return b.emit("map", x, dimensions=(0,), to_apply=self.unary())

    def reduce(self, b, x):
        return b.Reduce(x, b.constant(np.float32(-1000)), self.larger(), [0])

    def reduce_window(self, b, x):
        windows = (WindowDimension(2, 1, 0, 0),)
        return b.emit("reduce-window", x, b.constant(np.float32(-1000)), window=windows, to_apply=self.larger())

    def scatter(self, b, x):
        indices, numbers = b.constant(np.array([1, 3, 1], np.int32)), b.constant(np.float32([-1000, 5, 6]))
        return b.Scatter(
            x, indices, numbers, self.larger(), index_vector_dim=1, update_window_dims=(), inserted_window_dims=(0,),
            scatter_dims_to_operand_dims=(0,),
        )  # fmt: skip

    def _select_and_scatter(self, b, x, select, scatter):
        sent = b.constant(np.float32([3, 4]))
        windows = (WindowDimension(2, 2, 0, 0),)
        return b.emit(
            "select-and-scatter", x, sent, b.constant(np.float32(-1000)), window=windows, select=select, scatter=scatter
        )

    def select(self, b, x):
        return self._select_and_scatter(b, x, self.comparison("Ge"), scalar_computation("add", F32))

    def select_and_scatter(self, b, x):
        plain = XlaBuilder("ge")
        y, z = plain.parameter(FLOAT), plain.parameter(FLOAT)
        return self._select_and_scatter(b, x, plain.build(plain.Ge(y, z)), self.larger())

    def sort(self, b, x):
        return b.emit("sort", x, dimensions=(0,), is_stable=True, to_apply=self.comparison("Lt"))

    # --- computations on arrays and tuples ---

    def _loop(self, b, in_condition, in_body):
        state = TupleShape((Shape(S32), FLOAT))

        def parts(builder):
            packed = builder.parameter(state)
            return builder.GetTupleElement(packed, 0), builder.GetTupleElement(packed, 1)

        condition, body = XlaBuilder("condition"), XlaBuilder("body")
        i, _ = parts(condition)
        goes_on = condition.Lt(i, condition.constant(np.int32(2)))
        if in_condition:
            found = self.apply(condition, _)
            goes_on = condition.And(goes_on, condition.Lt(found, condition.constant(np.float32(HUGE))))
        i, total = parts(body)
        added = self.apply(body, total) if in_body else body.constant(np.float32(1))
        root = body.emit("tuple", body.Add(i, body.constant(np.int32(1))), body.Add(total, added))
        return condition.build(goes_on), body.build(root)

    def _while(self, b, x, in_condition, in_body):
        first = b.Reshape(b.Slice(x, [0], [1]), ())
        init = b.emit("tuple", b.constant(np.int32(0)), first)
        condition, body = self._loop(b, in_condition, in_body)
        return b.GetTupleElement(b.emit("while", init, condition=condition, body=body), 1)

    def while_condition(self, b, x):
        return self._while(b, x, True, False)

    def while_body(self, b, x):
        return self._while(b, x, False, True)

    def branch(self, b, x):
        first = b.Reshape(b.Slice(x, [0], [1]), ())
        other = XlaBuilder("other")
        y = other.parameter(FLOAT)
        chosen = b.Gt(first, b.constant(np.float32(0)))
        branches = {"true_computation": self.unary(), "false_computation": other.build(other.Neg(y))}
        return b.emit("conditional", chosen, first, first, **branches)

    def _array_callee(self):
        b = XlaBuilder("callee")
        x = b.parameter(Shape(F32, (4,)))
        found = self.apply(b, b.Reshape(b.Slice(x, [0], [1]), ()))
        return b.build(b.Add(x, b.BroadcastInDim(found, (4,), ())))

    def call(self, b, x):
        return b.emit("call", x, to_apply=self._array_callee())

    def fusion(self, b, x):
        return b.emit("fusion", x, kind="kLoop", calls=self._array_callee())

    def scan(self, b, x):
        callee = XlaBuilder("callee")
        element, carry = callee.parameter(FLOAT), callee.parameter(FLOAT)
        total = callee.Add(carry, callee.Add(element, self.apply(callee, element)))
        root = callee.emit("tuple", total, total)
        scanned = b.emit(
            "scan", x, b.constant(np.float32(0)), dimensions=(0,), num_carries=1, to_apply=callee.build(root)
        )  # fmt: skip
        return b.emit("tuple", b.GetTupleElement(scanned, 0), b.GetTupleElement(scanned, 1))

    def asynchronous(self, b, x):
        callee = self._array_callee()
        started = TupleShape((TupleShape((x.shape,)), x.shape))
        start = b.emit("async-start", x, calls=callee, shape=started)
        return b.emit("async-done", start, shape=x.shape)


SCALAR_KINDS = ("map", "reduce", "reduce_window", "scatter", "select", "select_and_scatter", "sort")
ARRAY_KINDS = ("while_condition", "while_body", "branch", "call", "fusion", "scan", "asynchronous")
KINDS = SCALAR_KINDS + ARRAY_KINDS

"""Random programs, and how to compare what becomes of them with what they mean.

The programs are made so that every pass must keep every bit: sums and dot products are of integers, whose order does not
matter.
"""

from random import Random

import numpy as np
from hypothesis import strategies as st
from phlox import hlo
from phlox.hlo import F32, F64, PRED, S8, S32, U8, Shape, scalar_computation
from phlox.xla_builder import XlaBuilder

TYPES = (F32, F32, F32, S32, S32, F64, U8, S8, PRED)
FLOAT_UNARY = ("negate", "abs", "exponential", "tanh", "floor", "sign", "sqrt", "logistic")
FLOAT_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder")
INTEGER_BINARY = (*FLOAT_BINARY, "and", "or", "xor", "shift-left", "shift-right-arithmetic", "shift-right-logical")
CONSTANTS = {
    "float": (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, np.inf, np.nan), "signed": (0, 1, -1, 2, 3, 64), "unsigned": (0, 1, 2, 7,
    16, 255),
    "pred": (True, False),
}  # fmt: skip


class RandomProgram:
    """Instructions chosen by a random source, on the values made so far.

    Subclasses choose from other types, operations (``KINDS`` are names of methods) and sizes.
    """

    TYPES = TYPES
    FLOAT_UNARY = FLOAT_UNARY
    SIZES = (1, 2, 3)
    LARGEST = 400

    def __init__(self, random, builder, depth=0):
        self.random, self.b, self.depth = random, builder, depth
        self.pool = []

    def choose(self, *wanted):
        """A value for which all conditions hold, or None; later ones are likelier."""
        fitting = [value for value in self.pool if not value.shape.is_tuple and all(check(value.shape) for check in wanted)]
        return fitting[-1 - min(int(self.random.expovariate(0.35)), len(fitting) - 1)] if fitting else None

    def like(self, shape):
        found = self.choose(lambda other: other == shape)
        return found if found is not None and self.random.random() < 0.8 else self.full(shape)

    def full(self, shape):
        scalar = self.b.constant(self.random.choice(CONSTANTS[shape.element_type.kind]), shape.element_type)
        return self.b.BroadcastInDim(scalar, shape.dimensions, ()) if shape.dimensions else scalar

    def index(self):
        found = self.choose(lambda shape: shape == Shape(S32))
        return found if found is not None and self.random.random() < 0.6 else self.b.constant(self.random.randint(-1, 4), S32)

    def grow(self, steps):
        for _ in range(steps):
            made = getattr(self, self.random.choice(self.KINDS))()
            for value in made if isinstance(made, list) else [made]:
                if value is not None and value.shape.size <= self.LARGEST:
                    self.pool.append(value)

    KINDS = (
        "unary", "unary", "binary", "binary", "binary", "with_constant", "compare", "select", "convert", "clamp",
        "broadcast", "broadcast",
        "reshape", "transpose", "slice", "pad", "concatenate", "reverse", "constant", "iota", "dynamic_slice", "update",
        "reduce", "reduce",
        "dot", "loop", "branch", "call", "map",
    )  # fmt: skip

    def unary(self):
        x = self.choose()
        kind = x.shape.element_type.kind
        opcode = {"float": self.random.choice(self.FLOAT_UNARY), "pred": "not"}.get(kind) or self.random.choice(
            ("negate", "abs", "not")
        )
        return self.b.emit(opcode, x)

    def _binary_opcode(self, shape):
        kind = shape.element_type.kind
        if kind == "pred":
            return self.random.choice(("and", "or", "xor", "add", "maximum"))
        return self.random.choice(FLOAT_BINARY if kind == "float" else INTEGER_BINARY)

    def binary(self):
        x = self.choose()
        return self.b.emit(self._binary_opcode(x.shape), x, self.like(x.shape))

    def with_constant(self):
        x = self.choose()
        operands = [x, self.full(x.shape)]
        self.random.shuffle(operands)
        return self.b.emit(self._binary_opcode(x.shape), *operands)

    def compare(self):
        x = self.choose()
        return self.b.Compare(x, self.like(x.shape), self.random.choice(("EQ", "NE", "LT", "LE", "GT", "GE")))

    def select(self):
        x = self.choose()
        scalar = self.random.random() < 0.3
        predicate = self.like(Shape(PRED, () if scalar else x.shape.dimensions))
        return self.b.Select(predicate, x, self.like(x.shape))

    def convert(self):
        x = self.choose()
        return self.b.ConvertElementType(x, self.random.choice(self.TYPES))

    def clamp(self):
        x = self.choose(lambda shape: shape.element_type is not PRED)
        if x is None:
            return None
        bound = x.shape if self.random.random() < 0.5 else Shape(x.shape.element_type)
        return self.b.Clamp(self.like(bound), x, self.like(bound))

    def broadcast(self):
        x = self.choose(lambda shape: shape.rank <= 2)
        if x is None:
            return None
        sizes = list(x.shape.dimensions)
        mapping = list(range(len(sizes)))
        for _ in range(self.random.randint(0 if sizes else 1, 2)):
            place = self.random.randint(0, len(sizes))
            sizes.insert(place, self.random.choice(self.SIZES))
            mapping = [d + (d >= place) for d in mapping]
        return self.b.BroadcastInDim(x, sizes, mapping)

    def reshape(self):
        x = self.choose()
        sizes = [size for size in x.shape.dimensions if size != 1]
        if self.random.random() < 0.3:
            sizes = [int(np.prod(sizes, dtype=int))]
        for _ in range(self.random.randint(0, 2)):
            sizes.insert(self.random.randint(0, len(sizes)), 1)
        return self.b.emit("reshape", x, shape=x.shape.with_dimensions(tuple(sizes)))

    def transpose(self):
        x = self.choose()
        order = list(range(x.shape.rank))
        self.random.shuffle(order)
        return self.b.Transpose(x, dimensions=order)

    def slice(self):
        x = self.choose(lambda shape: shape.rank > 0)
        if x is None:
            return None
        ranges = []
        for size in x.shape.dimensions:
            start = self.random.randint(0, min(1, size))
            limit = self.random.randint(max(start, size - 1), size)
            ranges.append((start, limit, self.random.choice((1, 1, 2))))
        return self.b.emit("slice", x, slice=ranges)

    def pad(self):
        x = self.choose(lambda shape: shape.rank > 0)
        if x is None:
            return None
        padding = [
            (self.random.randint(-1 if size > 1 else 0, 2), self.random.randint(0, 1), self.random.choice((0, 0, 1)))
            for size in x.shape.dimensions
        ]
        return self.b.Pad(x, self.like(Shape(x.shape.element_type)), padding=padding)

    def concatenate(self):
        x = self.choose(lambda shape: shape.rank > 0)
        if x is None:
            return None
        others = [self.like(x.shape) for _ in range(self.random.randint(0, 2))]
        return self.b.ConcatInDim([x, *others], self.random.randrange(x.shape.rank))

    def reverse(self):
        x = self.choose()
        return self.b.Rev(x, dimensions=[d for d in range(x.shape.rank) if self.random.random() < 0.5])

    def constant(self):
        element_type = self.random.choice(self.TYPES)
        values = CONSTANTS[element_type.kind]
        dimensions = self.random.choice(((), (3,), (2, 3), (1,)))
        return self.b.constant(
            np.array([self.random.choice(values) for _ in range(int(np.prod(dimensions)))]).reshape(dimensions), element_type
        )

    def iota(self):
        return self.b.Iota(Shape(self.random.choice((F32, S32)), (2, 3)), self.random.randint(0, 1))

    def dynamic_slice(self):
        x = self.choose(lambda shape: shape.rank > 0)
        if x is None:
            return None
        return self.b.DynamicSlice(
            x, [self.index() for _ in x.shape.dimensions], [self.random.randint(0, n) for n in x.shape.dimensions]
        )

    def update(self):
        x = self.choose(lambda shape: shape.rank > 0)
        if x is None:
            return None
        sizes = tuple(self.random.randint(0, n) for n in x.shape.dimensions)
        return self.b.DynamicUpdateSlice(x, self.like(Shape(x.shape.element_type, sizes)), [self.index() for _ in sizes])

    def reduce(self):
        x = self.choose(lambda shape: shape.rank > 0)
        if x is None:
            return None
        kind = x.shape.element_type.kind
        opcode = self.random.choice(
            ("maximum", "minimum") if kind == "float" else ("or", "and") if kind == "pred" else ("add", "maximum")
        )
        init = self.b.constant(self.random.choice(CONSTANTS[kind]), x.shape.element_type)
        dimensions = [d for d in range(x.shape.rank) if self.random.random() < 0.6]
        return self.b.Reduce(x, init, scalar_computation(opcode, x.shape.element_type), dimensions)

    def dot(self):
        x = self.choose(lambda shape: shape.rank in (1, 2) and shape.element_type is S32)
        if x is None:
            return None
        size = x.shape.dimensions[-1]
        y = self.choose(lambda shape: shape.rank in (1, 2) and shape.element_type is S32 and shape.dimensions[0] == size)
        return self.b.Dot(x, y if y is not None else self.full(Shape(S32, (size, 2))))

    def _inner(self, name, shape):
        """A program inside: on the elements of a tuple."""
        inner = type(self)(self.random, XlaBuilder(name), self.depth + 1)
        state = inner.b.parameter(shape, "state")
        inner.elements = [inner.b.GetTupleElement(state, i) for i in range(len(shape.elements))]
        inner.pool = list(inner.elements)
        inner.grow(self.random.randint(0, 6))
        return inner

    def loop(self):
        if self.depth >= 2:
            return None
        picked = [self.choose() for _ in range(self.random.randint(1, 3))]
        init = self.b.Tuple([self.b.constant(np.int32(0)), *picked])
        c = XlaBuilder("condition")
        limit = c.constant(np.int32(self.random.randint(0, 3)))
        condition = c.build(c.Lt(c.GetTupleElement(c.parameter(init.shape), 0), limit))
        inner = self._inner("body", init.shape)
        inner.pool = inner.pool[1:] + inner.pool[:1]
        results = [inner.like(x.shape) if self.random.random() < 0.7 else inner.elements[n + 1] for n, x in enumerate(picked)]
        count = inner.b.Add(inner.elements[0], inner.b.constant(np.int32(1)))
        body = inner.b.build(inner.b.Tuple([count, *results]))
        return self.b.GetTupleElement(self.b.While(condition, body, init), self.random.randint(0, len(picked)))

    def branch(self):
        if self.depth >= 2:
            return None
        operand = self.b.Tuple([self.choose() for _ in range(self.random.randint(1, 3))])
        result = self.choose().shape
        branches = []
        for name in ("one", "two"):
            inner = self._inner(name, operand.shape)
            branches.append(inner.b.build(inner.b.Tuple([inner.like(result), inner.like(result)])))
        pair = self.b.Conditional(self.like(Shape(PRED)), operand, branches[0], operand, branches[1])
        return self.b.GetTupleElement(pair, self.random.randint(0, 1))

    def call(self):
        if self.depth >= 2:
            return None
        arguments = self.b.Tuple([self.choose(), self.choose()])
        inner = self._inner("callee", arguments.shape)
        return self.b.Call(inner.b.build(inner.choose()), [arguments])

    def map(self):
        x = self.choose(lambda shape: shape.element_type is not PRED)
        if x is None:
            return None
        scalar = Shape(x.shape.element_type)
        c = XlaBuilder("mapped")
        a, b = c.parameter(scalar), c.parameter(scalar)
        return self.b.Map(x, self.like(x.shape), to_apply=c.build(c.Max(c.Mul(a, b), c.constant(3, scalar.element_type))))


@st.composite
def modules(draw):
    return random_module(draw(st.integers(0, 2**32)), draw(st.integers(5, 30)))


def random_module(seed, steps):
    random = Random(seed)
    program = RandomProgram(random, XlaBuilder("random"))
    shapes = [Shape(F32, (2, 3)), Shape(S32, (3,)), Shape(F32), Shape(S32), Shape(PRED), Shape(F32, (3, 1, 4))]
    program.pool = [program.b.parameter(shape, f"p{n}") for n, shape in enumerate(shapes)]
    program.grow(steps)
    results = [value for value in program.pool[len(shapes) :] if random.random() < 0.4] or [program.pool[-1]]
    return program.b.build_module(program.b.Tuple(results))


def arguments(module, seed):
    generator = np.random.default_rng(seed)
    values = []
    for shape in module.entry.parameter_shapes:
        special = generator.choice(np.array(CONSTANTS[shape.element_type.kind]), shape.dimensions)
        ordinary = generator.integers(-4, 5, shape.dimensions)
        values.append(np.where(generator.random(shape.dimensions) < 0.3, special, ordinary).astype(shape.dtype))
    return values


def results(module, seed):
    with np.errstate(all="ignore"):
        return hlo.evaluate(module.entry, *arguments(module, seed))

"""Random programs with what is hard for native code: many types and sizes, nested control flow, shared and exchanged state.

Every operation is exact, or rounds correctly, so that native code has to agree with the reference to the last bit.
"""

import numpy as np
from phlox.compile.traversal import on_operands, transform_computations
from phlox.hlo import (
    BF16,
    C64,
    F16,
    F32,
    F64,
    PRED,
    S8,
    S16,
    S32,
    S64,
    U8,
    U32,
    U64,
    Instruction,
    Layout,
    Shape,
    rebuild,
    scalar_computation,
)
from phlox.hlo.instruction import tuple_of
from phlox.xla_builder import XlaBuilder
from random_programs import CONSTANTS, RandomProgram

COMPLEX_CONSTANTS = (0, 1, -1, 1j, 2 - 3j, complex("nan"))


def in_some_layout(random, shape):
    order = list(range(shape.rank))
    random.shuffle(order)
    return Shape(shape.element_type, shape.dimensions, Layout(tuple(order)))


def stating_layouts(module, random):
    """The module with layouts stated for some of the values, which says nothing about them."""

    def stated(instruction, operands):
        shape = instruction.shape
        if instruction.opcode == "tuple":
            shape = tuple_of(operands)
        elif instruction.opcode == "parameter" or shape.is_tuple or shape.rank < 2 or shape.layout or random.random() >= 0.15:
            return on_operands(instruction, operands)
        else:
            shape = in_some_layout(random, shape)
        return Instruction(instruction.operation, operands, instruction.attributes, shape, instruction.name)

    return transform_computations(module, lambda computation: rebuild(computation, stated))


class ControlFlowProgram(RandomProgram):
    """Types of 1 to 64 bits, sizes around the vector widths, and control flow whose state is moved about."""

    TYPES = (F32, F32, F32, F64, F64, F16, BF16, S32, S32, S64, S16, S8, U8, U32, U64, PRED, PRED, C64)
    FLOAT_UNARY = ("negate", "abs", "floor", "ceil", "sign", "sqrt", "round-nearest-even", "round-nearest-afz")
    SIZES = (0, 1, 2, 3, 8, 17, 33, 100)
    LARGEST = 20_000
    KINDS = (
        *(kind for kind in RandomProgram.KINDS if kind not in ("loop", "branch")),
        "loop", "loop", "branch", "branch", "choice", "barrier", "cut", "tame_sum", "several_reductions", "predicate",
        "many_updates", "sorted", "gathered", "scattered", "copied", "complex_parts",
        "onto_itself", "onto_itself", "other_bytes",
    )  # fmt: skip

    def full(self, shape):
        if shape.element_type.kind != "complex":
            return super().full(shape)
        scalar = self.b.constant(self.random.choice(COMPLEX_CONSTANTS), shape.element_type)
        return self.b.BroadcastInDim(scalar, shape.dimensions, ()) if shape.dimensions else scalar

    def real(self, *wanted):
        return self.choose(lambda shape: shape.element_type.kind != "complex", *wanted)

    def unary(self):
        x = self.choose()
        if x.shape.element_type.kind == "complex":
            return self.b.Neg(x)
        opcode = {"float": self.random.choice(self.FLOAT_UNARY), "pred": "not"}.get(x.shape.element_type.kind)
        return self.b.emit(opcode or self.random.choice(("negate", "abs", "not", "sign", "popcnt")), x)

    def _binary_opcode(self, shape):
        if shape.element_type.kind == "complex":
            return self.random.choice(("add", "subtract"))
        return super()._binary_opcode(shape)

    def compare(self):
        x = self.choose()
        directions = ("EQ", "NE") if x.shape.element_type.kind == "complex" else ("EQ", "NE", "LT", "LE", "GT", "GE")
        return self.b.Compare(x, self.like(x.shape), self.random.choice(directions))

    def predicate(self):
        """A scalar that depends on data."""
        x = self.real()
        if x is None or not x.shape.size:
            return None
        scalar = self.b.emit("reshape", self._first(x), shape=Shape(x.shape.element_type))
        return self.b.Compare(scalar, self.full(scalar.shape), self.random.choice(("LT", "GE", "NE")))

    def _first(self, x):
        return self.b.emit("slice", x, slice=[(0, 1, 1)] * x.shape.rank) if x.shape.rank else x

    def convert(self):
        x = self.choose()
        target = self.random.choice(self.TYPES)
        if (x.shape.element_type.kind == "complex") and target.kind != "complex":
            return self.b.emit("real", x)
        if x.shape.element_type.kind == "float" and target.kind in ("signed", "unsigned"):
            x = self._tame(x)
        return self.b.ConvertElementType(x, target)

    def complex_parts(self):
        x = self.choose(lambda shape: shape.element_type in (C64, F32))
        if x is None:
            return None
        if x.shape.element_type is C64:
            return self.b.emit(self.random.choice(("real", "imag")), x)
        return self.b.emit("complex", x, self.like(x.shape))

    def clamp(self):
        x = self.real(lambda shape: shape.element_type is not PRED)
        if x is None:
            return None
        bound = x.shape if self.random.random() < 0.5 else Shape(x.shape.element_type)
        return self.b.Clamp(self.like(bound), x, self.like(bound))

    def _tame(self, x):
        """Small integers, exactly; NaN becomes one of them too."""
        scalar = Shape(x.shape.element_type)
        low, high = (self.b.constant(value, scalar.element_type) for value in (-3, 3))
        whole = self.b.emit("floor", self.b.Clamp(low, x, high))
        zero = self.b.BroadcastInDim(self.b.constant(0, scalar.element_type), x.shape.dimensions, ())
        return self.b.Select(self.b.Compare(x, x, "EQ"), whole, zero)

    def tame_sum(self):
        """A sum of floats that is exact in any order."""
        x = self.choose(lambda shape: shape.element_type in (F32, F64) and shape.rank > 0)
        if x is None:
            return None
        dimensions = [d for d in range(x.shape.rank) if self.random.random() < 0.6]
        init = self.b.constant(self.random.choice((0, 5)), x.shape.element_type)
        return self.b.Reduce(self._tame(x), init, scalar_computation("add", x.shape.element_type), dimensions)

    def reduce(self):
        x = self.real(lambda shape: shape.rank > 0)
        if x is None:
            return None
        kind = x.shape.element_type.kind
        choices = {"float": ("maximum", "minimum"), "pred": ("or", "and")}
        opcode = self.random.choice(choices.get(kind, ("add", "maximum", "minimum", "multiply", "xor")))
        init = self.b.constant(self.random.choice(CONSTANTS[kind]), x.shape.element_type)
        dimensions = [d for d in range(x.shape.rank) if self.random.random() < 0.5]
        return self.b.Reduce(x, init, scalar_computation(opcode, x.shape.element_type), dimensions)

    def several_reductions(self):
        """The greatest element and its position."""
        x = self.choose(lambda shape: shape.rank > 0 and shape.element_type in (F32, S32, F64, U8))
        if x is None:
            return None
        dimension = self.random.randrange(x.shape.rank)
        element_type = x.shape.element_type
        positions = self.b.Iota(Shape(S32, x.shape.dimensions), dimension)
        c = XlaBuilder("greater")
        v, i, w, j = (c.parameter(Shape(t)) for t in (element_type, S32, element_type, S32))
        keep = c.emit("or", c.Gt(v, w), c.emit("and", c.Compare(v, w, "EQ"), c.Lt(i, j)))
        combine = c.build(c.Tuple([c.Select(keep, v, w), c.Select(keep, i, j)]))
        low = self.b.constant(-np.inf if element_type.kind == "float" else np.iinfo(element_type.dtype).min, element_type)
        # Only a total order gives the same result for every order of evaluation: no NaN.
        if element_type.kind == "float":
            x = self._tame(x)
        pair = self.b.Reduce([x, positions], [low, self.b.constant(2**31 - 1, S32)], combine, [dimension])
        return [self.b.GetTupleElement(pair, index) for index in range(2)]

    def dot(self):
        """Sums of products of small integers, exact in any type."""
        x = self.choose(lambda shape: shape.rank in (1, 2, 3) and shape.element_type in (S32, F32, F64, S64, U8))
        if x is None:
            return None
        element_type, rank = x.shape.element_type, x.shape.rank
        batch = int(rank == 3)
        contracted = self.random.randrange(batch, rank)
        size = x.shape.dimensions[contracted]
        y = self.choose(
            lambda s: s.element_type is element_type and s.rank == 2 + batch and size in s.dimensions[batch:]
            and s.dimensions[:batch] == x.shape.dimensions[:batch]
        )  # fmt: skip
        if y is None:
            y = self.full(Shape(element_type, (*x.shape.dimensions[:batch], size, self.random.choice(self.SIZES))))
        of_y = y.shape.dimensions.index(size, batch)
        if x.shape.size * y.shape.size > 2_000_000:
            return None
        if element_type.kind == "float":
            x, y = self._tame(x), self._tame(y)
        batches = {"lhs_batch_dimensions": (0,), "rhs_batch_dimensions": (0,)} if batch else {}
        numbers = {"lhs_contracting_dimensions": (contracted,), "rhs_contracting_dimensions": (of_y,)}
        dot = self.b.DotGeneral(x, y, **numbers, **batches)
        if element_type.kind != "float":
            return dot
        # The sum of one product may keep the sign of a zero.
        zero = self.b.constant(0.0, element_type)
        return self.b.Add(dot, self.b.BroadcastInDim(zero, dot.shape.dimensions, ()) if dot.shape.rank else zero)

    def pad(self):
        x = self.choose(lambda shape: shape.rank > 0)
        if x is None:
            return None
        padding = []
        for size in x.shape.dimensions:
            interior = self.random.choice((0, 0, 0, 1, 2))
            full = size + max(0, size - 1) * interior
            low = self.random.randint(-min(3, full), 3)
            high = self.random.randint(-min(2, max(0, full + low)), 3) if full + low >= 0 else 0
            padding.append((low, high, interior))
        return self.b.Pad(x, self.like(Shape(x.shape.element_type)), padding=padding)

    def cut(self):
        """Any range and stride of every dimension."""
        x = self.choose(lambda shape: shape.rank > 0)
        if x is None:
            return None
        ranges = []
        for size in x.shape.dimensions:
            start = self.random.randint(0, size)
            ranges.append((start, self.random.randint(start, size), self.random.choice((1, 1, 2, 3, 7))))
        return self.b.emit("slice", x, slice=ranges)

    def concatenate(self):
        x = self.choose(lambda shape: shape.rank > 0)
        if x is None:
            return None
        along = self.random.randrange(x.shape.rank)
        rest = [d for d in range(x.shape.rank) if d != along]
        others = []
        for _ in range(self.random.randint(0, 3)):
            other = self.choose(
                lambda s: s.element_type is x.shape.element_type and s.rank == x.shape.rank
                and all(s.dimensions[d] == x.shape.dimensions[d] for d in rest)
            )  # fmt: skip
            others.append(other if other is not None else self.full(x.shape))
        parts = [x, *others]
        self.random.shuffle(parts)
        return self.b.ConcatInDim(parts, along)

    def index(self):
        found = self.choose(lambda shape: shape == Shape(S32))
        if found is not None and self.random.random() < 0.6:
            return found
        return self.b.constant(self.random.choice((-1000, -1, 0, 1, 2, 5, 16, 99, 2**31 - 1, -(2**31))), S32)

    def iota(self):
        sizes = tuple(self.random.choice(self.SIZES) for _ in range(self.random.randint(1, 2)))
        element_type = self.random.choice((F32, S32, F64, S64, U8))
        return self.b.Iota(Shape(element_type, sizes), self.random.randrange(len(sizes)))

    def constant(self):
        values = self.full(Shape(self.random.choice(self.TYPES), self.random.choice(((), (3,), (2, 3), (1,)))))
        return self.b.constant(np.arange(17), self.random.choice((S32, F32))) if self.random.random() < 0.5 else values

    def barrier(self):
        values = [self.choose() for _ in range(self.random.randint(1, 2))]
        held = self.b.emit("opt-barrier", self.b.Tuple(values))
        return [self.b.GetTupleElement(held, index) for index in range(len(values))]

    def copied(self):
        return self.b.emit("copy", self.choose())

    def other_bytes(self):
        """The bytes of an array in some layout, read in another shape and layout."""
        x = self.choose(lambda shape: shape.rank > 1)
        if x is None:
            return None
        copy = self.b.emit("copy", x, shape=in_some_layout(self.random, x.shape))
        sizes = list(x.shape.dimensions)
        self.random.shuffle(sizes)
        if self.random.random() < 0.3:
            sizes = [x.shape.size]
        return self.b.emit("bitcast", copy, shape=in_some_layout(self.random, Shape(x.shape.element_type, tuple(sizes))))

    def _named_anew(self, x):
        """The value itself, or another name for it."""
        draw = self.random.random()
        if draw < 0.4:
            return x
        if draw < 0.7:
            pair = self.b.emit("opt-barrier", self.b.Tuple([x, x]))
            return self.b.GetTupleElement(pair, self.random.randint(0, 1))
        flat = self.b.emit("opt-barrier", self.b.Reshape(x, (x.shape.size,)))
        return self.b.Reshape(flat, x.shape.dimensions)

    def onto_itself(self):
        """A value that nothing else needs, written over by an operation that reads it in other places as well."""
        x = self.real(lambda shape: shape.rank > 0 and 0 < shape.size < 2000)
        if x is None:
            return None
        element_type, dimensions = x.shape.element_type, x.shape.dimensions
        y = self.b.emit("opt-barrier", self.b.Rev(x, dimensions=[0]))
        again, length = self._named_anew(y), dimensions[0]
        draw = self.random.random()
        if draw < 0.2:
            other = self.b.Rev(again, dimensions=[self.random.randrange(x.shape.rank)])
            return self.b.emit(self._binary_opcode(x.shape), *self.random.sample((y, other), 2))
        if draw < 0.3:
            ones = self.b.Compare(again, self.b.Rev(again, dimensions=[0]), "EQ")
            return self.b.Select(ones, y, self.b.Rev(self._named_anew(y), dimensions=[0]))
        if draw < 0.5:
            cut = self.b.emit("slice", again, slice=[(0, self.random.randint(1, size), 1) for size in dimensions])
            return self.b.DynamicUpdateSlice(y, self._named_anew(cut), [self.index() for _ in dimensions])
        order = list(range(length))
        self.random.shuffle(order)
        indices = self.b.constant(np.array(order), S32)
        if element_type is S32 and x.shape.rank == 1:  # positions that are the value, too
            indices = self.random.choice((indices, self._named_anew(y)))
        c = XlaBuilder("last")
        c.parameter(Shape(element_type))
        last = c.build(c.parameter(Shape(element_type)))
        combine = scalar_computation("or" if element_type is PRED else "maximum", element_type)
        if indices.opcode == "constant" and self.random.random() < 0.5:  # each place is written once
            combine = last
        elif element_type.is_float:
            y = again = self._tame(y)
        return self.b.Scatter(
            y, indices, again, combine, update_window_dims=tuple(range(1, x.shape.rank)), inserted_window_dims=(0,),
            scatter_dims_to_operand_dims=(0,), index_vector_dim=1,
        )  # fmt: skip

    def many_updates(self):
        """A chain of updates of one array, of which others may go on reading earlier versions."""
        x = self.choose(lambda shape: shape.rank > 0)
        if x is None:
            return None
        made = [x]
        for _ in range(self.random.randint(2, 3)):
            sizes = tuple(self.random.randint(0, n) for n in x.shape.dimensions)
            update = self.like(Shape(x.shape.element_type, sizes))
            made.append(self.b.DynamicUpdateSlice(made[-1], update, [self.index() for _ in sizes]))
        return made[1:]

    def sorted(self):
        x = self.choose(lambda shape: shape.rank > 0 and shape.element_type in (S32, U8, S64, F32))
        if x is None:
            return None
        dimension = self.random.randrange(x.shape.rank)
        if x.shape.element_type.kind == "float":
            x = self._tame(x)
        if self.random.random() < 0.5:
            return self.b.Sort(x, dimension=dimension)
        other = self.real(lambda shape: shape.dimensions == x.shape.dimensions)
        if other is None:
            return None
        c = XlaBuilder("by_first")
        first, second = c.parameter(Shape(x.shape.element_type)), c.parameter(Shape(x.shape.element_type))
        for _ in range(2):
            c.parameter(Shape(other.shape.element_type))
        pair = self.b.Sort([x, other], c.build(c.Lt(first, second)), dimension, is_stable=True)
        return [self.b.GetTupleElement(pair, index) for index in range(2)]

    def _indices(self, count):
        found = self.choose(lambda shape: shape == Shape(S32, (count,)))
        if found is not None and self.random.random() < 0.6:
            return found
        return self.b.constant(np.array([self.random.randint(-3, 40) for _ in range(count)], np.int32), S32)

    def gathered(self):
        """Rows at positions that may be out of range."""
        x = self.choose(lambda shape: shape.rank > 0 and shape.dimensions[0] > 0)
        if x is None:
            return None
        indices = self._indices(self.random.choice((0, 1, 3, 8, 17)))
        return self.b.Gather(
            x, indices, offset_dims=tuple(range(1, x.shape.rank)), collapsed_slice_dims=(0,), start_index_map=(0,),
            index_vector_dim=1, slice_sizes=(1, *x.shape.dimensions[1:]),
        )  # fmt: skip

    def scattered(self):
        x = self.real(lambda shape: shape.rank > 0 and shape.element_type not in (F16, BF16, F32, F64))
        if x is None:
            return None
        count = self.random.choice((0, 1, 3, 8))
        updates = self.like(x.shape.with_dimensions((count, *x.shape.dimensions[1:])))
        opcode = "or" if x.shape.element_type is PRED else self.random.choice(("add", "maximum"))
        return self.b.Scatter(
            x, self._indices(count), updates, scalar_computation(opcode, x.shape.element_type),
            update_window_dims=tuple(range(1, x.shape.rank)), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,),
            index_vector_dim=1,
        )  # fmt: skip

    def map(self):
        x = self.choose(lambda shape: shape.element_type in (S32, S64, F64, F32))
        if x is None:
            return None
        scalar = Shape(x.shape.element_type)
        c = XlaBuilder("mapped")
        a, b = c.parameter(scalar), c.parameter(scalar)
        return self.b.Map(x, self.like(x.shape), to_apply=c.build(c.Max(c.Mul(a, b), c.constant(3, scalar.element_type))))

    def _state(self):
        """Values for the state of a loop or the operand of a branch, several of them of one shape, or one twice."""
        picked = [self.choose()]
        for _ in range(self.random.randint(0, 4)):
            draw = self.random.random()
            if draw < 0.4:
                picked.append(self.like(self.random.choice(picked).shape))
            elif draw < 0.55:
                picked.append(self.random.choice(picked))
            else:
                picked.append(self.choose())
        return picked

    def _result(self, inner, own, shape):
        """A result of a nested program: computed, one of its inputs, or a constant."""
        same = [value for value in own if value.shape == shape]
        draw = self.random.random()
        if same and draw < 0.35:
            return self.random.choice(same)
        return inner.full(shape) if draw > 0.97 else inner.like(shape)

    def loop(self):
        if self.depth >= 2:
            return None
        picked = self._state()
        nested = self.random.random() < 0.2
        values = [self.b.Tuple(picked)] if nested else picked
        init = self.b.Tuple([self.b.constant(np.int32(0)), *values])

        def elements(builder, state):
            rest = builder.GetTupleElement(state, 1) if nested else state
            return [builder.GetTupleElement(rest, number + (not nested)) for number in range(len(picked))]

        c = XlaBuilder("condition")
        state = c.parameter(init.shape)
        goes_on = c.Lt(c.GetTupleElement(state, 0), c.constant(np.int32(self.random.choice((0, 1, 2, 3, 3, 4, 7)))))
        predicates = [element for element in elements(c, state) if element.shape == Shape(PRED)]
        if predicates and self.random.random() < 0.5:
            goes_on = c.emit("and", goes_on, predicates[0])
        condition = c.build(goes_on)
        inner = type(self)(self.random, XlaBuilder("body"), self.depth + 1)
        state = inner.b.parameter(init.shape)
        own = elements(inner.b, state)
        count = inner.b.GetTupleElement(state, 0)
        inner.pool = [count, *own]
        inner.grow(self.random.randint(0, 7))
        results = [self._result(inner, own, value.shape) for value in picked]
        if self.random.random() < 0.3:
            kept = self.random.randrange(len(picked))
            results[kept] = own[kept]
        count = inner.b.Add(count, inner.b.constant(np.int32(1)))
        body = inner.b.build(inner.b.Tuple([count, *([inner.b.Tuple(results)] if nested else results)]))
        loop = self.b.While(condition, body, init)
        made = elements(self.b, loop)
        return [value for value in made if self.random.random() < 0.7] or made[:1]

    def _branch(self, name, operand, count, shapes):
        inner = type(self)(self.random, XlaBuilder(name), self.depth + 1)
        state = inner.b.parameter(operand.shape)
        own = [inner.b.GetTupleElement(state, number) for number in range(count)]
        inner.pool = list(own)
        inner.grow(self.random.randint(0, 6))
        return inner.b.build(inner.b.Tuple([self._result(inner, own, shape) for shape in shapes]))

    def branch(self):
        if self.depth >= 2:
            return None
        picked = self._state()
        shapes = [self.choose().shape.without_layout() for _ in range(self.random.randint(1, 3))]
        operands = [self.b.Tuple(picked)] * 2
        if self.random.random() < 0.3:
            operands[1] = self.b.Tuple([self.like(value.shape) for value in picked])
        one, two = (self._branch(name, operands[0], len(picked), shapes) for name in ("one", "two"))
        made = self.b.Conditional(self.like(Shape(PRED)), operands[0], one, operands[1], two)
        return [self.b.GetTupleElement(made, index) for index in range(len(shapes))]

    def choice(self):
        """A conditional on an index, which may be out of range."""
        if self.depth >= 2:
            return None
        picked = self._state()
        shapes = [self.choose().shape.without_layout() for _ in range(self.random.randint(1, 2))]
        operand = self.b.Tuple(picked)
        branches = [self._branch(f"case{number}", operand, len(picked), shapes) for number in range(self.random.randint(1, 4))]
        made = self.b.Conditional(self.index(), branches, [operand] * len(branches))
        return [self.b.GetTupleElement(made, index) for index in range(len(shapes))]

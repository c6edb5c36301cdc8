"""Random programs mean the same after every pass.

The programs are made so that every pass must keep every bit: sums and dot products are of integers, whose order does not
matter.
"""

from random import Random

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phlox import hlo
from phlox.compile import DEFAULT, FixedPoint, optimize, run_named_passes
from phlox.compile.fusion import fusion_pass
from phlox.compile.fusion_policy import FusionPolicy, is_degenerate_reshape
from phlox.compile.traversal import CONTROL_FLOW
from phlox.hlo import F32, F64, PRED, S8, S32, U8, Builder, Shape, scalar_computation
from phlox.hlo.operation import ELEMENTWISE

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
    """Instructions chosen by a random source, on the values made so far."""

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
        return self.b.broadcast(scalar, shape.dimensions, ()) if shape.dimensions else scalar

    def index(self):
        found = self.choose(lambda shape: shape == Shape(S32))
        return found if found is not None and self.random.random() < 0.6 else self.b.constant(self.random.randint(-1, 4), S32)

    def grow(self, steps):
        for _ in range(steps):
            made = getattr(self, self.random.choice(self.KINDS))()
            if made is not None and (made.shape.is_tuple or made.shape.size <= 400):
                self.pool.append(made)

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
        opcode = {"float": self.random.choice(FLOAT_UNARY), "pred": "not"}.get(kind) or self.random.choice(
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
        return self.b.convert(x, self.random.choice(TYPES))

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
            sizes.insert(place, self.random.choice((1, 2, 3)))
            mapping = [d + (d >= place) for d in mapping]
        return self.b.broadcast(x, sizes, mapping)

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
        element_type = self.random.choice(TYPES)
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
        inner = RandomProgram(self.random, Builder(name), self.depth + 1)
        state = inner.b.parameter(shape, "state")
        inner.elements = [inner.b.get_tuple_element(state, i) for i in range(len(shape.elements))]
        inner.pool = list(inner.elements)
        inner.grow(self.random.randint(0, 6))
        return inner

    def loop(self):
        if self.depth >= 2:
            return None
        picked = [self.choose() for _ in range(self.random.randint(1, 3))]
        init = self.b.Tuple([self.b.constant(np.int32(0)), *picked])
        c = Builder("condition")
        limit = c.constant(np.int32(self.random.randint(0, 3)))
        condition = c.build(c.Lt(c.get_tuple_element(c.parameter(init.shape), 0), limit))
        inner = self._inner("body", init.shape)
        inner.pool = inner.pool[1:] + inner.pool[:1]
        results = [inner.like(x.shape) if self.random.random() < 0.7 else inner.elements[n + 1] for n, x in enumerate(picked)]
        count = inner.b.Add(inner.elements[0], inner.b.constant(np.int32(1)))
        body = inner.b.build(inner.b.Tuple([count, *results]))
        return self.b.get_tuple_element(self.b.While(condition, body, init), self.random.randint(0, len(picked)))

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
        return self.b.get_tuple_element(pair, self.random.randint(0, 1))

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
        c = Builder("mapped")
        a, b = c.parameter(scalar), c.parameter(scalar)
        return self.b.Map(x, self.like(x.shape), to_apply=c.build(c.Max(c.Mul(a, b), c.constant(3, scalar.element_type))))


@st.composite
def modules(draw):
    return random_module(draw(st.integers(0, 2**32)), draw(st.integers(5, 30)))


def random_module(seed, steps):
    random = Random(seed)
    program = RandomProgram(random, Builder("random"))
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


def assert_identical(actual, expected, what):
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype and one.shape == other.shape, what
        np.testing.assert_array_equal(one, other, what)
        if one.dtype.kind == "f":
            numbers = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(one)[numbers], np.signbit(other)[numbers], what)


PASS_NAMES = [name for step in DEFAULT for name in (step.passes if isinstance(step, FixedPoint) else (step,))]
PROPERTY = settings(deadline=None, derandomize=True, max_examples=40, suppress_health_check=list(HealthCheck))


@PROPERTY
@given(modules())
def test_every_pass_keeps_the_meaning(module):
    hlo.verify(module)
    expected = [results(module, seed) for seed in range(2)]
    for name in PASS_NAMES:
        before, module = module, run_named_passes(module, [name])
        if module is not before:
            hlo.verify(module)
            for seed in range(2):
                assert_identical(results(module, seed), expected[seed], f"after {name}")
    assert_fused_form(module)


@PROPERTY
@given(modules())
def test_the_pipeline_keeps_the_meaning(module):
    after = optimize(module)
    hlo.verify(after)
    assert_fused_form(after)
    assert_identical(results(after, 0), results(module, 0), "optimized")


@PROPERTY
@given(modules(), st.integers(0, 40), st.integers(1, 6), st.integers(3, 10), st.booleans())
def test_any_policy_keeps_the_meaning(module, budget, paths, operands, multi_output):
    policy = FusionPolicy(budget, paths, 20, operands, multi_output)
    after = optimize(module, [fusion_pass(policy)])
    hlo.verify(after)
    assert_fused_form(after)
    assert_identical(results(after, 0), results(module, 0), "fused")


def assert_fused_form(module):
    """What the pass promises of its result."""
    policy, top_level, owner = FusionPolicy(), [module.entry], {}
    for computation in module.computations():
        for instruction in computation.instructions:
            assert owner.setdefault(instruction, computation) is computation
            for name in CONTROL_FLOW.get(instruction.opcode, ()):
                value = instruction.attributes[name]
                top_level += value if isinstance(value, tuple) else [] if value is None else [value]
    for instruction in (i for computation in set(top_level) for i in computation.instructions):
        assert instruction.opcode == "reshape" or not policy.is_fusible(instruction), instruction
        if instruction.opcode != "fusion":
            continue
        fused = instruction.attributes["calls"]
        outputs = fused.root.operands if fused.root.opcode == "tuple" else (fused.root,)
        assert len({output.shape.dimensions for output in outputs if not output.shape.is_tuple}) <= 1
        for inner in fused.instructions:
            if inner.opcode in ("parameter", "tuple") or inner in outputs:
                continue
            if inner.opcode == "constant":
                assert inner.shape.rank == 0
            else:
                assert policy.is_fusible(inner), inner
                assert inner.has_trait(ELEMENTWISE) or inner.opcode != "reshape" or is_degenerate_reshape(inner)
        if instruction.attributes["kind"] == "kInput":
            assert fused.root.opcode == "reduce"

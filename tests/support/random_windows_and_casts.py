"""Random programs with more operations and types: windows, convolutions, general gathers, bit casts, numbers of a few bits.

As in random_control_flow every operation is exact or rounds correctly, so that native code has to agree to the last bit.
"""

from random import Random

import numpy as np
from hypothesis import strategies as st
from phlox.hlo import (
    BF16,
    C64,
    C128,
    F16,
    F32,
    F64,
    PRED,
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    U64,
    Shape,
    TupleShape,
    scalar_computation,
)
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.hlo.ops.numerics import convert as converted
from phlox.hlo.window import make_window
from phlox.xla_builder import XlaBuilder
from random_control_flow import COMPLEX_CONSTANTS, ControlFlowProgram, stating_layouts
from random_programs import CONSTANTS

S4, U4, F8, F8_FN = (ELEMENT_TYPES[name] for name in ("s4", "u4", "f8e5m2", "f8e4m3fn"))
SUMMED = (S8, S16, S32, S64, U8, U16, U32, U64)


class WindowsAndCastsProgram(ControlFlowProgram):
    TYPES = (F32, F32, F64, F16, BF16, S32, S32, S64, S16, S8, U8, U16, U32, U64, PRED, PRED, C64, C128, S4, U4, F8, F8_FN)
    SIZES = (0, 1, 1, 2, 3, 5, 16, 33)
    LARGEST = 6_000
    KINDS = (
        *ControlFlowProgram.KINDS,
        "window", "window", "prefix", "convolved", "select_and_scatter", "bits", "single_bits", "general_gather",
        "reduced_precision", "greatest", "selected_tuple", "integer_parts", "scattered_windows", "is_finite",
    )  # fmt: skip

    def full(self, shape):
        values = COMPLEX_CONSTANTS if shape.element_type.is_complex else CONSTANTS[shape.element_type.kind]
        # Not every constant is a value of the narrow types.
        wide = {"float": F64, "complex": C128, "signed": S64, "unsigned": U64}.get(shape.element_type.kind, PRED)
        with np.errstate(all="ignore"):
            literal = converted(np.array(self.random.choice(values)).astype(wide.dtype), shape.element_type)
        scalar = self.b.constant(literal)
        return self.b.BroadcastInDim(scalar, shape.dimensions, ()) if shape.dimensions else scalar

    def constant(self):
        return self.full(Shape(self.random.choice(self.TYPES), self.random.choice(((), (3,), (2, 3), (1, 1)))))

    def complex_parts(self):
        x = self.choose(lambda shape: shape.element_type in (C64, C128, F32, F64))
        if x is None:
            return None
        if x.shape.element_type.is_complex:
            return self.b.emit(self.random.choice(("real", "imag")), x)
        return self.b.emit("complex", x, self.like(x.shape))

    def _window(self, dimensions, with_base_dilation=True):
        """A window that has a place in these dimensions, or None."""
        one = lambda: self.random.choice((1, 1, 1, 2))  # noqa: E731
        sizes, strides, window_dilations, base_dilations = [], [], [], []
        padding = []
        for size in dimensions:
            sizes.append(self.random.choice((1, 1, 2, 3)))
            strides.append(self.random.choice((1, 1, 2, 3)))
            window_dilations.append(one())
            base_dilations.append(one() if with_base_dilation else 1)
            padding.append((self.random.choice((0, 0, 1, 2)), self.random.choice((0, 0, 1))))
            reach = (sizes[-1] - 1) * window_dilations[-1] + 1
            if size == 0 or reach > (size - 1) * base_dilations[-1] + 1 + sum(padding[-1]):
                return None
        return make_window(sizes, strides, padding, base_dilations, window_dilations)

    def window(self):
        x = self.real(lambda shape: shape.rank > 0 and shape.size < 500)
        window = None if x is None else self._window(x.shape.dimensions)
        if window is None:
            return None
        kind = x.shape.element_type.kind
        choices = {"float": ("maximum", "minimum"), "pred": ("or", "and")}
        opcode = self.random.choice(choices.get(kind, ("add", "maximum", "minimum")))
        init = self.full(Shape(x.shape.element_type))
        return self.b.emit("reduce-window", x, init, window=window, to_apply=scalar_computation(opcode, x.shape.element_type))

    def prefix(self):
        """A cumulative sum or maximum along one dimension."""
        x = self.choose(lambda shape: shape.rank > 0 and shape.element_type in SUMMED and 0 < shape.size < 2000)
        if x is None:
            return None
        along = self.random.randrange(x.shape.rank)
        size = x.shape.dimensions[along]
        sizes = [size if d == along else 1 for d in range(x.shape.rank)]
        side = self.random.choice(((size - 1, 0), (0, size - 1)))
        padding = [side if d == along else (0, 0) for d in range(x.shape.rank)]
        opcode, start = self.random.choice((("add", 0), ("maximum", np.iinfo(x.shape.dtype).min)))
        init = self.b.constant(start, x.shape.element_type)
        window = make_window(sizes, None, padding)
        return self.b.emit("reduce-window", x, init, window=window, to_apply=scalar_computation(opcode, x.shape.element_type))

    def convolved(self):
        x = self.choose(lambda s: s.rank in (1, 2) and s.element_type in (S32, F32, F64, S8) and 0 < s.size < 600)
        if x is None:
            return None
        element_type = x.shape.element_type
        if element_type.is_float:
            x = self._tame(x)
        features = 1
        if x.shape.rank == 2 and self.random.random() < 0.5:
            features = x.shape.dimensions[0]
        spatial = x.shape.dimensions[1:] if features > 1 else x.shape.dimensions
        window = self._window(spatial)
        if window is None or features > 20:
            return None
        lhs = self.b.emit("reshape", x, shape=Shape(element_type, (1, features, *spatial)))
        groups = features if self.random.random() < 0.3 else 1
        outputs = self.random.choice((1, 2, 3)) * groups
        kernel = Shape(element_type, (outputs, features // groups, *(d.size for d in window)))
        rhs = self.like(kernel)
        if element_type.is_float:
            rhs = self._tame(rhs)
        letters = "0" if len(spatial) == 1 else "01"
        result = self.b.emit(
            "convolution",
            lhs,
            rhs,
            window=window,
            dim_labels=f"bf{letters}_oi{letters}->bf{letters}",
            feature_group_count=groups,
        )
        if not element_type.is_float:
            return result
        # The sum of one product may keep the sign of a zero.
        zero = self.b.BroadcastInDim(self.b.constant(0.0, element_type), result.shape.dimensions, ())
        return self.b.Add(result, zero)

    def select_and_scatter(self):
        x = self.choose(lambda s: s.rank in (1, 2) and s.element_type in (S32, S64, U8) and 0 < s.size < 600)
        window = None if x is None else self._window(x.shape.dimensions, with_base_dilation=False)
        if window is None or any(d.window_dilation > 1 for d in window):
            return None
        element_type = x.shape.element_type
        count = self.b.emit(
            "reduce-window",
            x,
            self.b.constant(0, element_type),
            window=window,
            to_apply=scalar_computation("add", element_type),
        )
        c = XlaBuilder("select")
        first, second = c.parameter(Shape(element_type)), c.parameter(Shape(element_type))
        select = c.build(c.Ge(first, second))
        return self.b.emit(
            "select-and-scatter", x, self.like(count.shape), self.full(Shape(element_type)), window=window, select=select,
            scatter=scalar_computation("add", element_type),
        )  # fmt: skip

    def bits(self):
        """Integers as integers or floats of another width."""
        x = self.choose(lambda s: s.rank > 0 and s.element_type in SUMMED)
        if x is None:
            return None
        targets = [t for t in (*SUMMED, F32, F64, F16) if t.bits <= x.shape.element_type.bits]
        if x.shape.dimensions[-1] in (2, 4):
            wanted = x.shape.element_type.bits * x.shape.dimensions[-1]
            targets += [t for t in SUMMED if t.bits == wanted]
        made = self.b.BitcastConvertType(x, self.random.choice(targets))
        if made.shape.element_type.is_float:  # the payload of NaN is nobody's
            zero = self.full(made.shape)
            made = self.b.Select(self.b.Compare(made, made, "EQ"), made, zero)
        return made

    def single_bits(self):
        x = self.choose(lambda s: s.element_type.is_integer)
        if x is None:
            return None
        opcode = self.random.choice(("count-leading-zeros", "popcnt", "not", "sign", "negate"))
        if self.random.random() < 0.3:
            return self.b.emit("mulhi", x, self.like(x.shape))
        return self.b.emit(opcode, x)

    def is_finite(self):
        x = self.choose(lambda s: s.element_type.is_float)
        return None if x is None else self.b.emit("is-finite", x)

    def reduced_precision(self):
        x = self.choose(lambda s: s.element_type in (F32, F64, F16, BF16))
        if x is None:
            return None
        exponent, mantissa = self.random.choice(((5, 10), (8, 7), (4, 3), (8, 23), (3, 0)))
        return self.b.emit("reduce-precision", x, exponent_bits=exponent, mantissa_bits=mantissa)

    def greatest(self):
        x = self.choose(lambda s: s.rank > 0 and s.element_type in (S32, F32, U8, S64) and s.dimensions[-1] > 0)
        if x is None:
            return None
        if x.shape.element_type.is_float:
            x = self._tame(x)
        pair = self.b.TopK(x, self.random.randint(1, x.shape.dimensions[-1]), self.random.random() < 0.7)
        return [self.b.GetTupleElement(pair, index) for index in range(2)]

    def selected_tuple(self):
        first = [self.choose() for _ in range(self.random.randint(1, 3))]
        second = [self.like(value.shape) for value in first]
        if any(value.shape != other.shape for value, other in zip(first, second)):
            return None
        chosen = self.b.Select(self.like(Shape(PRED)), self.b.Tuple(first), self.b.Tuple(second))
        return [self.b.GetTupleElement(chosen, index) for index in range(len(first))]

    def integer_parts(self):
        """Remainders and quotients by constants, among them the extreme ones."""
        x = self.choose(lambda s: s.element_type in (*SUMMED, S4, U4))
        if x is None:
            return None
        bits, signed = x.shape.element_type.bits, x.shape.element_type.kind == "signed"
        limit = 2 ** (bits - 1)
        values = [1, 2, 3, limit // 2, limit - 1, 0, *((-1, -2, -3, -limit) if signed else (limit, 2 * limit - 1))]
        scalar = self.b.constant(np.array(self.random.choice(values)).astype(x.shape.dtype))
        constant = self.b.BroadcastInDim(scalar, x.shape.dimensions, ()) if x.shape.rank else scalar
        opcodes = ("divide", "remainder", "multiply", "shift-left", "shift-right-arithmetic", "shift-right-logical", "power")
        operands = [x, constant]
        if self.random.random() < 0.2:
            operands.reverse()
        return self.b.emit(self.random.choice(opcodes), *operands)

    def general_gather(self):
        """Windows of several dimensions at positions with a dimension of their own, which may be out of range."""
        x = self.choose(lambda s: s.rank in (1, 2, 3) and 0 not in s.dimensions)
        if x is None:
            return None
        rank = x.shape.rank
        mapped = self.random.sample(range(rank), self.random.randint(1, rank))
        sizes = [self.random.randint(0 if self.random.random() < 0.1 else 1, n) for n in x.shape.dimensions]
        collapsed = [d for d in mapped if self.random.random() < 0.4]
        for d in collapsed:
            sizes[d] = 1
        batch = [self.random.choice((1, 2, 5)) for _ in range(self.random.randint(0, 2))]
        at = self.random.randint(0, len(batch))
        shape = (*batch[:at], len(mapped), *batch[at:])
        indices = np.array([self.random.choice((-100, -1, 0, 1, 2, 3, 9)) for _ in range(int(np.prod(shape)))]).reshape(shape)
        kept = rank - len(collapsed)
        offset = sorted(self.random.sample(range(len(batch) + kept), kept))
        return self.b.Gather(
            x, self.b.constant(indices, self.random.choice((S32, S64, S8))), offset_dims=offset,
            collapsed_slice_dims=sorted(collapsed), start_index_map=mapped, index_vector_dim=at, slice_sizes=sizes,
        )  # fmt: skip

    def scattered_windows(self):
        x = self.choose(lambda s: s.rank == 2 and 0 not in s.dimensions and s.element_type in SUMMED)
        if x is None:
            return None
        count = self.random.choice((1, 2, 5))
        window = [self.random.randint(1, n) for n in x.shape.dimensions]
        indices = np.array([[self.random.choice((-1, 0, 1, 2, 7)) for _ in range(2)] for _ in range(count)])
        updates = self.like(x.shape.with_dimensions((count, *window)))
        combine = scalar_computation(self.random.choice(("add", "maximum")), x.shape.element_type)
        return self.b.Scatter(
            x, self.b.constant(indices, S32), updates, combine,
            update_window_dims=(1, 2), inserted_window_dims=(), scatter_dims_to_operand_dims=(0, 1), index_vector_dim=1,
        )  # fmt: skip


def windows_and_casts_module(seed, steps):
    """A module of about so many steps, with results that are computed, repeated, parameters or constants, in nested tuples."""
    random = Random(seed)
    program = WindowsAndCastsProgram(random, XlaBuilder("random"))
    sizes = WindowsAndCastsProgram.SIZES
    shapes = [Shape(S32), Shape(PRED), Shape(F32)]
    size = random.choice(sizes)
    for _ in range(random.randint(3, 7)):
        rank = random.choice((0, 1, 1, 2, 2, 2, 3, 4, 5))
        dimensions = tuple(random.choice((size, *sizes)) for _ in range(rank))
        shape = Shape(random.choice(WindowsAndCastsProgram.TYPES), dimensions)
        if shape.size <= WindowsAndCastsProgram.LARGEST:
            shapes.extend([shape] * random.choice((1, 1, 2)))
    program.pool = [program.b.parameter(shape, f"p{n}") for n, shape in enumerate(shapes)]
    if random.random() < 0.3:
        pair = program.b.parameter(TupleShape((Shape(S32, (size,)), Shape(F32, (size,)))), "pair")
        program.pool.extend(program.b.GetTupleElement(pair, index) for index in range(2))
    own = list(program.pool)
    program.grow(steps)
    results = [value for value in program.pool[len(own) :] if random.random() < 0.4] or [program.pool[-1]]
    if random.random() < 0.3:
        results += [random.choice(results), random.choice(own)]
    root = results[0] if len(results) == 1 else program.b.Tuple(results)
    return stating_layouts(program.b.build_module(root), random)


@st.composite
def windows_and_casts_modules(draw):
    return windows_and_casts_module(draw(st.integers(0, 2**32)), draw(st.integers(3, 40)))

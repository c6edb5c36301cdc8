"""Dots and convolutions as products of matrices: which kernel computes one, and its epilogue, if it has one."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ....compile.contraction import contraction_of
from ....compile.convolution_views import convolution_views
from ....hlo import F32, F64, Instruction, Shape
from ....hlo.shape import element_strides
from ....hlo.window import WindowDimension
from ..emitter_table import emits
from ..epilogue_form import EpilogueForm, epilogue_form
from ..frame import Frame
from ..target import Target
from ..values import Leaf, Stored, Values
from .epilogue import Results, epilogue_results
from .matrix_product import allows_less_precision, launch_matrix_product, matrix_form
from .product import Product, dense_output, exchanged, has_its_rows_side_by_side, laid_out, product_of
from .product_parts import launch_sum_of_parts, parts_for, parts_shape
from .tiled_product import launch_tiled_product
from .vector_product import is_vector_product, launch_vector_product

# Multiply-adds that one block computes in some launches' time.
_MOST_OF_PHASE = 1 << 18


@dataclass(frozen=True, eq=False)
class Contracted:
    """A dot or convolution as a product of its operands, the one of this number being the left one.

    Rows are exchanged for columns where elements of a column of the results, rather than of a row, are neighbours.
    """

    instruction: Instruction
    product: Product
    left: int

    @property
    def shapes(self) -> tuple[Shape, Shape]:
        operands = self.instruction.operands
        return operands[self.left].shape, operands[1 - self.left].shape

    @property
    def parts(self) -> int:
        return parts_for(self.product, self.shapes, self.instruction.shape)

    @property
    def scratch_bytes(self) -> int:
        """The sums of all parts."""
        count = self.parts
        return parts_shape(self.product, count, self.instruction.shape).byte_size if count > 1 else 0


def contracted(instruction: Instruction, form: EpilogueForm | None = None) -> Contracted | None:
    """A dot or convolution as a product whose output has the layout of an epilogue's results, if there is one; None where it
    has no dimensions that walk these.
    """
    product, left = _product_of_dot(instruction) if instruction.opcode == "dot" else _product_of_convolution(instruction)
    placed = product if form is None else laid_out(product, form.steps)
    if placed is None:
        return None
    if has_its_rows_side_by_side(placed):
        placed, left = exchanged(placed), 1 - left
    return Contracted(instruction, placed, left)


def launch_product(frame: Frame, owner: Instruction, contraction: Contracted, operands: list[Leaf], results: Results) -> None:
    """Compute a product, and what is computed of its elements. The memory that it needs meanwhile is the owner's."""
    instruction, product, shapes = contraction.instruction, contraction.product, contraction.shapes
    pair = _factor(frame, operands[contraction.left]), _factor(frame, operands[1 - contraction.left])
    count = contraction.parts
    fast_math = allows_less_precision(frame)
    form = None
    if not is_vector_product(product, shapes) and not _is_phase(frame, instruction, product):
        form = matrix_form(frame.target, instruction, fast_math, product, shapes, count)
        count = count if form is None else form.division.parts
    parts = None
    if count > 1:
        parts = frame.scratch(owner, parts_shape(product, count, instruction.shape))
    written = product if parts is None else dense_output(product)
    target = results if parts is None else Results(parts.shape.element_type, (parts,))
    if is_vector_product(product, shapes):
        launch_vector_product(frame, instruction, product, pair, target, parts is not None)
    elif form is not None:
        if parts is not None:
            form = matrix_form(frame.target, instruction, fast_math, written, shapes, contraction.parts)
        launch_matrix_product(frame, instruction, form, pair, target)
    else:
        launch_tiled_product(frame, instruction, written, pair, target, count)
    if parts is not None:
        launch_sum_of_parts(frame, instruction, product, count, parts, results)


def _factor(frame: Frame, leaf: Leaf) -> Stored:
    """An operand in memory, a scalar as an array of one element: kernels are given that of scalars."""
    stored = frame.stored(leaf)
    return stored if stored.shape.rank else Stored(stored.place, stored.shape.with_dimensions((1,)))


def _is_phase(frame: Frame, instruction: Instruction, product: Product) -> bool:
    """Whether a product is better computed by what may be a phase of a loop in one kernel: by multiply-adds."""
    types = {shape.element_type for shape in (instruction.shape, *[operand.shape for operand in instruction.operands])}
    return frame.depth > 0 and prod(product.sizes) <= _MOST_OF_PHASE and types <= {F32, F64}


def runs_on_units(target: Target, instruction: Instruction, fast_math: bool) -> bool:
    """Whether matrix units multiply the operands of a dot or convolution, which may lose bits by ``fast_math``."""
    if not instruction.shape.size or not _is_native(instruction):
        return False
    contraction = contracted(instruction)
    product, shapes = contraction.product, contraction.shapes
    if is_vector_product(product, shapes):
        return False
    return matrix_form(target, instruction, fast_math, product, shapes, contraction.parts) is not None


def _product_of_dot(instruction: Instruction) -> tuple[Product, int]:
    shapes = [operand.shape for operand in instruction.operands]
    return product_of(contraction_of(instruction), tuple(map(element_strides, (*shapes, instruction.shape)))), 0


def _product_of_convolution(instruction: Instruction) -> tuple[Product, int]:
    """A contraction of views of its operands; and which of them is the left one."""
    views = convolution_views(instruction)
    steps = tuple([tuple(view.steps) for view in (views.left, views.right, views.output)])
    return product_of(views.contraction, steps), 0 if views.base_is_left else 1


def _is_plain(convolution: Instruction) -> bool:
    """Whether it is not empty, and has no padding, base dilation or reversal."""
    window = convolution.attributes["window"]
    plain = all(d == WindowDimension(d.size, d.stride, window_dilation=d.window_dilation) for d in window)
    return bool(convolution.shape.size) and plain


def _is_native(instruction: Instruction) -> bool:
    return instruction.opcode == "dot" or _is_plain(instruction)


def _scratch(instruction: Instruction) -> int:
    if not instruction.shape.size or not _is_native(instruction):
        return 0
    return contracted(instruction).scratch_bytes


@emits("dot", "convolution", is_native=_is_native, scratch=_scratch)
def product(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    output = frame.output(instruction)
    if instruction.shape.size:
        operands = [values[operand][0] for operand in instruction.operands]
        results = Results(instruction.shape.element_type, (output,))
        launch_product(frame, instruction, contracted(instruction), operands, results)
    return [output]


# --- products with epilogues ---


def takes_epilogue(form: EpilogueForm) -> bool:
    """Whether a product's kernel can compute an epilogue."""
    return _is_native(form.hero) and contracted(form.hero, form) is not None


def scratch_of_fusion(fusion: Instruction) -> int:
    """The memory that a fusion of kind ``kOutput`` needs meanwhile."""
    form = epilogue_form(fusion.attributes["calls"])
    return contracted(form.hero, form).scratch_bytes


def emit_product_with_epilogue(frame: Frame, fusion: Instruction, values: Values) -> list[Leaf]:
    """Compute a fusion of kind ``kOutput``: see `epilogue_fusion`."""
    form = epilogue_form(fusion.attributes["calls"])
    contraction = contracted(form.hero, form)
    operands = [values[fusion.operands[one.attributes["number"]]][0] for one in form.hero.operands]
    results = epilogue_results(frame, fusion, form, contraction.product, values)
    launch_product(frame, fusion, contraction, operands, results)
    return list(results.outputs)

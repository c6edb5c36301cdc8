"""Products, and reductions, with what is computed of each of their elements as one: their kernels compute it before they store
anything.

Before::

    h = f32[8,16] dot(x, w), ...
    r = f32[8,16] fusion(h, bias), kind=kLoop    # maximum(add(h, broadcast(bias)), 0)

After, h being neither written nor read::

    r = f32[8,16] fusion(x, w, bias), kind=kOutput    # maximum(add(dot(x, w), broadcast(bias)), 0)

What is needed of the product itself besides is one more result. The results may have its dimensions in another order. Of
reductions those that are not computed row by row (`row_fusion`) are left for this, as means of all elements or of columns; and
those of several arrays of which one result is needed, as the places of largest elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...compile.fused_computations import FusedOperands, as_computation, result_roots
from ...compile.pass_manager import Pass
from ...compile.traversal import on_operands, transform_computations
from ...hlo import OPERATIONS, Computation, Instruction, Module, make_instruction
from ...hlo.instruction import tuple_of
from ...hlo.operation import CONTROL_FLOW, EFFECTFUL, ELEMENTWISE, FUNCTION_CALL, RENAMES
from ...hlo.shape import AnyShape
from .epilogue_form import EPILOGUE, PRODUCTS, EpilogueForm, epilogue_form
from .kernels.contraction import takes_epilogue

_MOST_OPERANDS_AND_RESULTS = 32
_MOST_IN_TURN = 8
_MAY_WRITE = frozenset([CONTROL_FLOW, FUNCTION_CALL, EFFECTFUL, RENAMES])


def fuse_epilogues(module: Module) -> Module:
    """Moves loops over the elements of a product into its kernel."""
    return transform_computations(module, lambda computation: _Rewrite(computation, _is_product, _is_loop, EPILOGUE).run())


def fuse_epilogues_of_reductions(module: Module) -> Module:
    """Moves loops over the results of a reduction into its kernel."""

    def rewritten(computation: Computation) -> Computation:
        """Until nothing joins any more: what is computed of scalars, one instruction after the other, is in no loop."""
        for _ in range(_MOST_IN_TURN):
            before, computation = computation, _Rewrite(computation, _is_reduction, _is_loop_or_alone, "kInput").run()
            if computation is before:
                break
        return computation

    return transform_computations(module, rewritten)


FUSE_EPILOGUES = Pass("fuse-epilogues", fuse_epilogues)
FUSE_EPILOGUES_OF_REDUCTIONS = Pass("fuse-epilogues-of-reductions", fuse_epilogues_of_reductions)


def _is_product(instruction: Instruction) -> bool:
    return instruction.opcode in PRODUCTS


def _is_reduction(instruction: Instruction) -> bool:
    """Whether an instruction is a reduction, or a fusion that ends with one or has one result."""
    if instruction.opcode == "reduce":
        return True
    if instruction.opcode != "fusion" or instruction.attributes["kind"] != "kInput":
        return False
    return not instruction.shape.is_tuple or instruction.attributes["calls"].root.opcode == "reduce"


def _may_write(instruction: Instruction) -> bool:
    """Whether an instruction, or one that sees the same elements through it, may take the memory of an operand."""
    is_fusion = instruction.opcode == "fusion"
    if instruction.opcode in ("reshape", "tuple") or not is_fusion and not _MAY_WRITE.isdisjoint(instruction.operation.traits):
        return True
    roots = result_roots(instruction.attributes["calls"]) if is_fusion else (instruction,)
    return any(root.operation.updated_operand is not None for root in roots)


def _is_hero_alone(product: Instruction) -> bool:
    """Whether nothing has joined a product or reduction yet."""
    return product.opcode != "fusion" or product.attributes["calls"].root.opcode == "reduce"


def _is_loop(instruction: Instruction) -> bool:
    return instruction.opcode == "fusion" and instruction.attributes["kind"] == "kLoop"


def _is_loop_or_alone(instruction: Instruction) -> bool:
    return _is_loop(instruction) or ELEMENTWISE in instruction.operation.traits and bool(instruction.operands)


@dataclass(frozen=True, eq=False)
class _Found:
    """A fused computation of the product and the loop, and what it is called with. ``view`` is a reshape between both, or takes
    one of several results.
    """

    product: Instruction
    view: Instruction | None
    computation: Computation
    operands: tuple[Instruction, ...]
    form: EpilogueForm


class _Rewrite:
    """One computation, while loops find their products."""

    def __init__(
        self,
        computation: Computation,
        is_hero: Callable[[Instruction], bool],
        is_loop: Callable[[Instruction], bool],
        kind: str,
    ) -> None:
        self.computation, self.is_hero, self.is_loop, self.kind = computation, is_hero, is_loop, kind
        self.position = {instruction: number for number, instruction in enumerate(computation.instructions)}
        self.users: dict[Instruction, list[Instruction]] = {}
        self.found: dict[Instruction, _Found] = {}  # by loop
        self.loop_of: dict[Instruction, Instruction] = {}  # by product

    def run(self) -> Computation:
        if not any(map(self.is_hero, self.computation.instructions)):
            return self.computation
        for instruction in self.computation.instructions:
            for operand in dict.fromkeys(instruction.operands):
                self.users.setdefault(operand, []).append(instruction)
        for instruction in self.computation.instructions:
            if self.is_loop(instruction):
                self._find(instruction)
        return self._rewritten() if self.found else self.computation

    # --- which product a loop joins ---

    def _find(self, loop: Instruction) -> None:
        """The product of those that the loop reads which comes last: the others are computed before."""
        read = []
        for operand in dict.fromkeys(loop.operands):
            view = operand if operand.opcode in ("reshape", "get-tuple-element") else None
            product = operand.operands[0] if view is not None else operand
            if self.is_hero(product) and product not in self.loop_of:
                read.append((self.position[product], product, view))
        for _, product, view in sorted(read, key=lambda one: one[0], reverse=True):
            found = self._joined(loop, product, view)
            if found is not None:
                self.found[loop], self.loop_of[product] = found, loop
                return

    def _joined(self, loop: Instruction, product: Instruction, view: Instruction | None) -> _Found | None:
        others = [user for user in self.users[product] if user not in (loop, view)]
        if view is not None:
            others += [user for user in self.users[view] if user is not loop]
        # All that needs the product comes later, so nothing that the loop needs comes of it.
        if any(self.position[user] < self.position[loop] for user in others):
            return None
        begin, end = self.position[product], self.position[loop]
        between = [user for operand in product.operands for user in self.users[operand] if begin < self.position[user] < end]
        if any(map(_may_write, between)):  # what the product reads, which is computed later now
            return None
        keeps_product = bool(others) or self.computation.root in (product, view)
        if product.shape.is_tuple and keeps_product:
            return None  # several of its results are needed
        if keeps_product and not (_is_hero_alone(product) and self._may_have_another_result(loop)):
            return None
        if view is not None and view in loop.operands and product in loop.operands:
            return None
        computation, operands = _computation(loop, product, view, keeps_product)
        if len(operands) + len(result_roots(computation)) > _MOST_OPERANDS_AND_RESULTS:
            return None
        form = epilogue_form(computation)
        is_taken = form is not None and (self.kind != EPILOGUE or takes_epilogue(form))
        return _Found(product, view, computation, operands, form) if is_taken else None

    def _may_have_another_result(self, loop: Instruction) -> bool:
        """Whether nothing needs its results as one tuple."""
        if not loop.shape.is_tuple:
            return True
        return loop is not self.computation.root and all(one.opcode == "get-tuple-element" for one in self.users.get(loop, ()))

    # --- the computation afterwards ---

    def _rewritten(self) -> Computation:
        values: dict[Instruction, Instruction] = {}
        made: list[Instruction] = []
        late = {one.view: loop for loop, one in self.found.items() if one.view is not None}

        def append(old: Instruction, new: Instruction) -> None:
            values[old] = new
            made.append(new)

        def move(old: Instruction) -> None:
            append(old, on_operands(old, tuple([values[operand] for operand in old.operands])))

        for instruction in self.computation.instructions:
            if instruction in self.loop_of or instruction in late:
                continue
            found = self.found.get(instruction)
            if found is None:
                move(instruction)
                continue
            operands, root = tuple([values[operand] for operand in found.operands]), found.computation.root
            attributes = {"kind": self.kind, "calls": found.computation}
            name = f"{found.form.hero.opcode}_fusion"
            fusion = Instruction(OPERATIONS["fusion"], operands, attributes, _shape_of(root), name, instruction.source)
            made.append(fusion)
            if not found.form.keeps_hero:
                values[instruction] = fusion
                continue
            count = len(root.operands) - 1
            # What takes the loop's results apart takes those of the fusion.
            values[instruction] = fusion
            if not instruction.shape.is_tuple:
                append(instruction, make_instruction("get-tuple-element", (fusion,), {"index": 0}, source=instruction.source))
            kept = make_instruction("get-tuple-element", (fusion,), {"index": count}, source=found.product.source)
            append(found.product, kept)
            if found.view is not None and len(self.users[found.view]) > 1:
                move(found.view)
        return Computation(self.computation.name, tuple(made), values[self.computation.root])


def _shape_of(root: Instruction) -> AnyShape:
    return tuple_of(root.operands) if root.opcode == "tuple" else root.shape


def _computation(
    loop: Instruction, product: Instruction, view: Instruction | None, keeps_product: bool
) -> tuple[Computation, tuple[Instruction, ...]]:
    """The product, and of it what the loop computes; and the operands of both."""
    loops: Computation = loop.attributes["calls"] if loop.opcode == "fusion" else as_computation(loop)
    read = FusedOperands()
    body: list[Instruction] = []
    if product.opcode == "fusion":
        fused: Computation = product.attributes["calls"]
        inside = {one: read.parameter_for(operand) for one, operand in zip(fused.parameters, product.operands)}
        for instruction in fused.instructions:
            if instruction not in inside:
                inside[instruction] = instruction.with_operands([inside[operand] for operand in instruction.operands])
                body.append(inside[instruction])
        inner = inside[fused.root]
    else:
        inner = product.with_operands([read.parameter_for(operand) for operand in product.operands])
        body.append(inner)
    known = {product: inner}
    if view is not None:
        known[view] = view.with_operands((inner,))
        body.append(known[view])
    mapped = {
        parameter: known[operand] if operand in known else read.parameter_for(operand)
        for parameter, operand in zip(loops.parameters, loop.operands)
    }
    for instruction in loops.instructions:
        if instruction not in mapped:
            mapped[instruction] = instruction.with_operands([mapped[operand] for operand in instruction.operands])
            body.append(mapped[instruction])
    root = mapped[loops.root]
    if keeps_product:
        if root.opcode == "tuple":
            body.remove(root)
        root = make_instruction("tuple", (*(root.operands if root.opcode == "tuple" else (root,)), inner))
        body.append(root)
    return Computation(f"fused_{inner.opcode}", (*read.parameters, *body), root), tuple(read.operands)

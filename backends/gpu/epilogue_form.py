"""What a product, or a reduction, and its *epilogue* are, which is computed of each of its elements alone.

A product is a fusion of kind ``kOutput`` with it, a reduction one of kind ``kInput``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...compile.fused_computations import result_roots
from ...compile.fusion_policy import is_degenerate_reshape
from ...hlo import Computation, Instruction
from ...hlo.operation import ELEMENTWISE
from ...hlo.shape import row_major_strides
from ..llvm.scalar_control_flow import has_control_flow

EPILOGUE = "kOutput"
PRODUCTS = frozenset({"dot", "convolution"})
_HEROES = PRODUCTS | {"reduce"}

# For each dimension of an instruction, that of the results which runs along it; None for those of size 1.
_Walk = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class EpilogueForm:
    """The parts of a fused computation.

    ``hero`` is the product or reduction, ``seen`` that, a reshape of it, or one of its results, as the epilogue reads it,
    ``results`` what the epilogue computes, arrays of the same dimensions. Where ``keeps_hero``, that is the last result
    besides. ``walk`` is that of ``seen``.
    """

    hero: Instruction
    seen: Instruction
    results: tuple[Instruction, ...]
    keeps_hero: bool
    walk: _Walk

    @property
    def steps(self) -> list[tuple[int, int, int]]:
        """For each dimension of ``seen`` that is not of size 1, from the last one: its size, and how far apart its neighbours
        are in ``seen``, and in the results, in elements.
        """
        dimensions = self.seen.shape.dimensions
        of_results = row_major_strides(self.results[0].shape.dimensions)
        found = [
            (size, step, of_results[d])
            for size, step, d in zip(dimensions, row_major_strides(dimensions), self.walk)
            if d is not None
        ]
        return found[::-1]


def epilogue_form(computation: Computation) -> EpilogueForm | None:
    """The parts of a computation with one hero; None where a result does not have its elements, each at one place."""
    (hero,) = [one for one in computation.instructions if one.opcode in _HEROES]
    readers = [one for one in computation.instructions if hero in one.operands and one is not computation.root]
    seen = readers[0] if len(readers) == 1 and (hero.shape.is_tuple or _is_cast_of_places(readers[0])) else hero
    roots = result_roots(computation)
    results = tuple([root for root in roots if root is not hero])
    keeps_hero = hero in roots
    if not results or seen.shape.is_tuple or keeps_hero and roots[-1] is not hero or has_control_flow([computation]):
        return None
    sizes = results[0].shape.dimensions
    if any(root.shape.dimensions != sizes or root.operation.updated_operand is not None for root in results):
        return None
    if not prod(sizes) or prod(sizes) != seen.shape.size:
        return None
    walk = _walk(computation, seen, results)
    if walk is None:
        return None
    along = [d for d in walk if d is not None]
    if (keeps_hero or hero.opcode == "reduce") and along != sorted(along):
        return None
    return EpilogueForm(hero, seen, results, keeps_hero, walk)


def _is_cast_of_places(instruction: Instruction) -> bool:
    return instruction.opcode == "reshape" and not is_degenerate_reshape(instruction)


def _walk(computation: Computation, seen: Instruction, results: tuple[Instruction, ...]) -> _Walk | None:
    """How the results walk what they are computed of, if all ways to it agree and there is one."""
    reaching = {seen}
    for instruction in computation.instructions:
        if not reaching.isdisjoint(instruction.operands):
            reaching.add(instruction)
    sizes = results[0].shape.dimensions
    own = tuple([d if size != 1 else None for d, size in enumerate(sizes)])
    walks: dict[Instruction, _Walk] = {result: own for result in results if result in reaching}
    for instruction in reversed(computation.instructions):
        walk = walks.get(instruction)
        if walk is None or instruction is seen:
            continue
        for operand in reaching.intersection(instruction.operands):
            below = _below(instruction, operand, walk)
            if below is None or walks.setdefault(operand, below) != below:
                return None
    return walks.get(seen)


def _below(instruction: Instruction, operand: Instruction, walk: _Walk) -> _Walk | None:
    """How an operand is walked, of which each element is needed once, where the instruction is walked so."""
    if ELEMENTWISE in instruction.operation.traits or instruction.opcode == "copy":
        return walk if operand.shape.dimensions == instruction.shape.dimensions else None
    if instruction.opcode == "transpose":
        along = dict(zip(instruction.attributes["dimensions"], walk))
        return tuple([along[d] for d in range(len(walk))])
    if instruction.opcode == "reshape" and is_degenerate_reshape(instruction):
        kept = iter([d for d in walk if d is not None])
        return tuple([next(kept) if size != 1 else None for size in operand.shape.dimensions])
    return None

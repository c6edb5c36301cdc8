"""What a rewrite rule is, the decorator that writes one, and the pass that applies all of them.

A rule is a function keyed on opcodes: it gets an instruction and returns one that computes the same more cheaply, or None.
Its docstring says before and after; its samples are small programs on which a test checks that it fires (or, for
``unchanged``, that it does not) and that both sides evaluate alike.
"""

from __future__ import annotations

import inspect
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from ... import hlo
from ...hlo import (
    ELEMENT_TYPES,
    OPERATIONS,
    Computation,
    Instruction,
    Shape,
    SourceLocation,
    UnattachedBuilder,
    rebuild,
)
from ...hlo.operation import ELEMENTWISE, GIVEN
from ..pass_manager import module_pass
from ..traversal import of_each_computation, on_operands, users_of

# A rule that takes a second argument gets a function that tells an instruction's users, or None where they are not known.
Rewrite: TypeAlias = Callable[..., Instruction | None]
Users: TypeAlias = Callable[[Instruction], list[Instruction] | None]
Example: TypeAlias = Callable[[], Instruction]

# Rules with this key apply to every elementwise operation.
ANY_ELEMENTWISE = "elementwise"
# No chain of rewrites of one instruction is longer; a cycle of rules would otherwise never end.
LONGEST_CHAIN = 16


@dataclass(frozen=True)
class Rule:
    """One rewrite rule.

    ``fires`` builds programs whose root the rule rewrites, ``unchanged`` such that it must leave alone. ``tolerance`` is the
    relative difference that the rewrite may make, 0 for none at all.
    """

    name: str
    opcodes: tuple[str, ...]
    rewrite: Rewrite
    fires: tuple[Example, ...]
    unchanged: tuple[Example, ...]
    tolerance: float
    wants_users: bool = False

    def apply(self, instruction: Instruction, users: Users) -> Instruction | None:
        """The rewritten instruction, in the place of the old one; None where the rule does not fire."""
        with UnattachedBuilder(self.name, where=lambda: instruction.source):
            return self.rewritten(instruction, users)

    def rewritten(self, instruction: Instruction, users: Users) -> Instruction | None:
        """As `apply`, where the current builder knows the place."""
        return self.rewrite(instruction, users) if self.wants_users else self.rewrite(instruction)

    @property
    def documentation(self) -> str:
        return self.rewrite.__doc__ or ""


RULES: list[Rule] = []


def rule(
    *opcodes: str, fires: Example | Sequence[Example], unchanged: Example | Sequence[Example] = (), tolerance: float = 0.0
) -> Callable[[Rewrite], Rewrite]:
    """Decorator: this function is a rewrite rule for instructions with these opcodes."""

    def register(function: Rewrite) -> Rewrite:
        programs = [(sample,) if callable(sample) else tuple(sample) for sample in (fires, unchanged)]
        wants_users = len(inspect.signature(function).parameters) == 2
        RULES.append(Rule(function.__name__, opcodes, function, *programs, tolerance, wants_users))
        return function

    return register


@cache
def _rules_by_opcode() -> dict[str, tuple[Rule, ...]]:
    by_opcode: defaultdict[str, list[Rule]] = defaultdict(list)
    for one in RULES:
        for key in one.opcodes:
            if key == ANY_ELEMENTWISE:
                for record in OPERATIONS.values():
                    if ELEMENTWISE in record.traits:
                        by_opcode[record.opcode].append(one)
            else:
                by_opcode[key].append(one)
    return {opcode: tuple(rules) for opcode, rules in by_opcode.items()}


@module_pass("simplify")
@of_each_computation()
def simplify(computation: Computation) -> Computation:
    """Applies the rewrite rules of all subjects, in one walk from operands to users."""
    rules = _rules_by_opcode()
    users = _lazy_users(computation)
    source: SourceLocation | None = None

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        nonlocal source
        current, source = on_operands(instruction, operands), instruction.source
        if GIVEN in current.operation.traits:
            return current
        for _ in range(LONGEST_CHAIN):
            replacement = _rewrite_once(current, rules, users)
            if replacement is None:
                break
            current = replacement
        return current

    with UnattachedBuilder(computation.name, where=lambda: source):
        return rebuild(computation, transform)


def _lazy_users(computation: Computation) -> Users:
    known: dict[Instruction, list[Instruction]] = {}

    def users(instruction: Instruction) -> list[Instruction] | None:
        if not known:
            known.update(users_of(computation))
        return known.get(instruction)

    return users


def _rewrite_once(instruction: Instruction, rules: dict[str, tuple[Rule, ...]], users: Users) -> Instruction | None:
    shape = instruction.shape
    if not shape.is_tuple:
        if shape.dynamic_dimensions and shape.has_dynamic_dimensions:
            return None
        if 0 in shape.dimensions and _is_replaceable(instruction):
            return hlo.full_like(instruction, 0)
    for one in rules.get(instruction.opcode, ()):
        replacement = one.rewritten(instruction, users)
        if replacement is not None:
            return replacement
    return None


def _is_replaceable(instruction: Instruction) -> bool:
    """Whether an instruction with no elements may be replaced by any other that has none."""
    if instruction.opcode == "broadcast":
        return instruction.operands[0].opcode != "constant"
    return instruction.operation.is_foldable


# --- what rules ask ---


def uniform_literal(instruction: Instruction) -> np.ndarray | None:
    """The value of all elements, of a scalar constant or a broadcast of one; else None."""
    if instruction.opcode == "broadcast":
        instruction = instruction.operands[0]
    if instruction.opcode != "constant" or instruction.shape.is_tuple or instruction.shape.dimensions:
        return None
    return instruction.attributes["literal"]


def real_value(instruction: Instruction) -> int | float | None:
    """As uniform_literal, as a Python number; None for complex numbers too."""
    literal = uniform_literal(instruction)
    if literal is None:
        return None
    kind = instruction.shape.element_type.kind
    if kind == "float":
        return float(literal)
    return None if kind == "complex" else int(literal)


def is_negative_zero(value: float | None) -> bool:
    return value == 0 and math.copysign(1, value) < 0


def without_ones(dimensions: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in dimensions if size != 1)


def is_integer(instruction: Instruction) -> bool:
    return instruction.shape.element_type.is_integer


def is_pred(instruction: Instruction) -> bool:
    return instruction.shape.element_type.kind == "pred"


# --- what samples are written with: parameters, f32(2, 3) ---


def _parameter(name: str) -> Callable[..., Instruction]:
    return lambda *dimensions: hlo.parameter(Shape(ELEMENT_TYPES[name], dimensions))


f32, f64, s32, s8, u32, u8, pred, c64 = map(_parameter, ("f32", "f64", "s32", "s8", "u32", "u8", "pred", "c64"))

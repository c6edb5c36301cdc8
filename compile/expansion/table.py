"""The table of expansions, and the pass that applies it where a backend has no code of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...hlo import OPERATIONS, Computation, Instruction, Module, UnattachedBuilder, rebuild
from ...hlo.instruction import post_order
from ...hlo.operation import HOST_CALL
from ...hlo.shape import AnyShape
from ..pass_manager import Pass
from ..traversal import control_flow_computations, is_control_flow, on_operands, transformed_callees, with_entry

# (the instruction to be replaced, its operands) to its new value.
# An instruction that is none of its business it returns on these operands.
Expansion = Callable[[Instruction, tuple[Instruction, ...]], Instruction]
# Whether a backend has code for an instruction as it is.
IsNative = Callable[[Instruction], bool]

EXPANSIONS: dict[str, Expansion] = {}

# The pass "normalize-layouts" writes bitcasts as others, "pad-dynamic-dimensions" sizes.
_EXPANDED_BY_OTHER_PASSES = frozenset({"bitcast", "set-dimension-size"})


def expansion(opcode: str) -> Callable[[Expansion], Expansion]:
    """Decorator: the function writes this operation as others."""

    def register(function: Expansion) -> Expansion:
        if opcode in EXPANSIONS:
            raise ValueError(f"operation {opcode} has two expansions")
        EXPANSIONS[opcode] = function
        return function

    return register


# No rule needs as many steps to the operations that have none. Halving alone takes 63 for the largest size there is, and a
# factorization that is halved solves triangular systems that are.
_LONGEST_CHAIN = 200
# A walk leaves something to the next one only where a rule had to see what another one has made.
_MOST_WALKS = 8


def support_of(opcode: str, has_emitter: Callable[[str], bool]) -> str | None:
    """ "native", "expanded", "host call", or None for an operation that a backend with these emitters refuses.

    An operation of which only some forms are written as others is native.
    """
    if HOST_CALL in OPERATIONS[opcode].traits:
        return "host call"
    if opcode in _EXPANDED_BY_OTHER_PASSES:
        return "expanded"
    if has_emitter(opcode):
        return "native"
    return "expanded" if opcode in EXPANSIONS else None


def expansion_pass(is_native: IsNative) -> Pass:
    """The pass ``expand`` for a backend that has code for these instructions."""

    def expand(module: Module) -> Module:
        """Replaces each operation that has no code of the backend's own by its expansion, and what that contains by theirs.

        Raises RuntimeError, naming the rules, where that would not end.
        """
        return expanded(module, is_native)

    return Pass("expand", expand)


def expanded(module: Module, is_native: IsNative) -> Module:
    """The module without operations that have an expansion, but for those that are native."""
    for _ in range(_MOST_WALKS):
        walk = _Walk(is_native)
        for computation in control_flow_computations(module):
            walk.computation(computation, ())
        after = with_entry(module, walk.computation(module.entry, ()))
        if after is module:
            return module
        module, before = after, module
    changed = {i.opcode for c in module.computations() for i in c.instructions} & EXPANSIONS.keys()
    raise RuntimeError(f"expansion of {before.name} did not end after {_MOST_WALKS} walks; among {', '.join(sorted(changed))}")


# What a rule was applied to: opcode, attributes, shapes of operands and of the result.
_Step = tuple[str, tuple[Any, ...], tuple[AnyShape, ...], AnyShape]


class _Walk:
    """One walk over a module. What a rule makes is expanded at once, and knows the steps that led to it: one that comes back to
    itself is found at its second time, one that makes ever new ones by the length of the chain.
    """

    def __init__(self, is_native: IsNative) -> None:
        self._is_native = is_native
        self._computations: dict[Computation, Computation] = {}
        self._finished: set[Instruction] = set()

    def computation(self, computation: Computation, steps: tuple[_Step, ...]) -> Computation:
        done = self._computations.get(computation)
        if done is None:
            done = rebuild(computation, lambda instruction, operands: self._expanded(instruction, operands, steps))
            self._computations[computation] = done
        return done

    def _expanded(self, instruction: Instruction, operands: tuple[Instruction, ...], steps: tuple[_Step, ...]) -> Instruction:
        """The instruction on these operands, which are expanded already, without any operation that has a rule for it."""
        if is_control_flow(instruction):
            attributes = transformed_callees(instruction, lambda callee: self.computation(callee, steps))
            result = on_operands(instruction, operands, attributes)
        else:
            result = self._rewritten(instruction, operands, steps)
        self._finished.add(result)
        return result

    def _rewritten(self, instruction: Instruction, operands: tuple[Instruction, ...], steps: tuple[_Step, ...]) -> Instruction:
        rule = EXPANSIONS.get(instruction.opcode)
        if rule is None or self._is_native(instruction):
            return on_operands(instruction, operands)
        with UnattachedBuilder(instruction.opcode, where=lambda: instruction.source):
            made = rule(instruction, operands)
        if made in self._finished or made.attributes is instruction.attributes and made.operands == operands:
            return made
        steps = _extended(steps, instruction)
        replaced: dict[Instruction, Instruction] = {}
        for new in list(post_order(made, self._finished)):
            replaced[new] = self._expanded(new, tuple([replaced.get(operand, operand) for operand in new.operands]), steps)
        return replaced[made]


def _extended(steps: tuple[_Step, ...], instruction: Instruction) -> tuple[_Step, ...]:
    """The steps and the one that expands the instruction; raises RuntimeError where they do not end."""
    values = tuple([(name, _comparable(value)) for name, value in instruction.attributes.items()])
    step = (instruction.opcode, values, tuple([operand.shape for operand in instruction.operands]), instruction.shape)
    if len(steps) >= _LONGEST_CHAIN or step in steps:
        names = list(dict.fromkeys(opcode for opcode, *_ in (*steps, step)))
        raise RuntimeError(f"the expansions of {', '.join(names)} do not end: {instruction!r} after {len(steps)} steps")
    return (*steps, step)


def _comparable(value: Any) -> Any:
    """The value of an attribute; for arrays, which have no equality that is a bool, their identity."""
    if isinstance(value, np.ndarray):
        return id(value)
    return tuple(map(_comparable, value)) if type(value) is tuple else value

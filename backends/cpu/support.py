"""What the CPU backend has code for: operations, and the forms of them."""

from __future__ import annotations

from collections.abc import Callable

from ...compile.expansion import EXPANSIONS
from ...hlo import OPERATIONS, Instruction
from ...hlo.operation import HOST_CALL
from ..llvm.elemental import INDEX_RULES
from ..llvm.elementwise import ELEMENTWISE_EMITTERS
from .emitter_table import EMITTERS
from .regions import convolution, fourier_plan, scan, top_k, triangular

# Each operand has loops of its own in one native function.
_MOST_CONCATENATED = 128

# A parameter is an argument. The pass "normalize-layouts" writes bitcasts as others, "pad-dynamic-dimensions" sizes.
_NATIVE_WITHOUT_EMITTER = {"parameter"}
_EXPANDED_BY_OTHER_PASSES = {"bitcast", "set-dimension-size"}


def _is_array(instruction: Instruction) -> bool:
    return not instruction.shape.is_tuple


def _has_whole_bytes(cast: Instruction) -> bool:
    """Whether the bits that a cast names anew lie side by side: elements below 8 bits have a byte each."""
    source, target = cast.operands[0].shape.element_type, cast.shape.element_type
    return source.bits == target.bits or min(source.bits, target.bits) >= 8


# Operations of which only some forms have code, and whether an instruction has such a form.
_FORMS: dict[str, Callable[[Instruction], bool]] = {
    "bitcast-convert": _has_whole_bytes,
    "cholesky": triangular.is_native_cholesky,
    "concatenate": lambda concatenate: len(concatenate.operands) <= _MOST_CONCATENATED,
    "constant": _is_array,
    "convolution": convolution.is_native,
    "copy": _is_array,
    "fft": fourier_plan.is_native,
    "scan": scan.is_native,
    "select": _is_array,
    "topk": top_k.is_native,
    "triangular-solve": triangular.is_native_triangular_solve,
}


def has_code(instruction: Instruction) -> bool:
    """Whether the instruction can be emitted as it is."""
    form = _FORMS.get(instruction.opcode)
    return _has_emitter(instruction.opcode) and (form is None or form(instruction))


def is_native(instruction: Instruction) -> bool:
    """Whether the instruction of a program may stay as it is.

    A fusion is cut anew: that of a program was cut for another compiler.
    """
    return instruction.opcode != "fusion" and has_code(instruction)


def support(opcode: str) -> str | None:
    """ "native", "expanded", "host call", or None for an operation that compiling refuses.

    An operation of which only some forms are written as others is native.

    >>> support("dot"), support("topk"), support("batch-norm-grad")
    ('native', 'native', 'expanded')
    """
    if HOST_CALL in OPERATIONS[opcode].traits:
        return "host call"
    if opcode in _EXPANDED_BY_OTHER_PASSES:
        return "expanded"
    if _has_emitter(opcode):
        return "native"
    return "expanded" if opcode in EXPANSIONS else None


def _has_emitter(opcode: str) -> bool:
    return any(opcode in table for table in (EMITTERS, ELEMENTWISE_EMITTERS, INDEX_RULES, _NATIVE_WITHOUT_EMITTER))

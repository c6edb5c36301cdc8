"""What the CPU backend does with an operation, read from its tables."""

from __future__ import annotations

from ...compile.expansion import EXPANSIONS
from ...hlo import OPERATIONS
from ...hlo.operation import HOST_CALL
from ..llvm.elemental import INDEX_RULES
from ..llvm.elementwise import ELEMENTWISE_EMITTERS
from .module_emitter import _EMITTERS

# A parameter is an argument. The pass "normalize-layouts" writes bitcasts as others, "pad-dynamic-dimensions" sizes.
_NATIVE_WITHOUT_EMITTER = {"parameter"}
_EXPANDED_BY_OTHER_PASSES = {"bitcast", "set-dimension-size"}


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
    if any(opcode in table for table in (_EMITTERS, ELEMENTWISE_EMITTERS, INDEX_RULES, _NATIVE_WITHOUT_EMITTER)):
        return "native"
    return "expanded" if opcode in EXPANSIONS else None

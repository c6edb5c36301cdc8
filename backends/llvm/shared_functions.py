"""Functions that many modules call by name: declared where they are called, compiled once a process by who loads the code.

A module whose attribute ``shared_functions`` holds a `SharedFunctions` gets declarations, and the requests are collected there;
any other module gets the definitions, as internal functions of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from llvmlite import ir


@dataclass(frozen=True)
class SharedFunction:
    """A function's name and type; ``emit(function)`` writes its body into a declaration of it."""

    name: str
    type: ir.FunctionType
    emit: Callable[[ir.Function], None]

    def declare(self, module: ir.Module) -> ir.Function:
        return ir.Function(module, self.type, self.name)


@dataclass
class SharedFunctions:
    """What a module's code asks for.

    ``calls_elementary`` says that elementary functions are called, too, rather than emitted inline; ``vector_bytes`` is the
    width of the machine's vector registers.
    """

    vector_bytes: int
    calls_elementary: bool = False
    requested: dict[str, SharedFunction] = field(default_factory=dict)


# As many vectors of arguments as are passed and returned in registers. What a call costs is shared between them, and
# independent chains of operations run side by side.
VECTORS_PER_CALL = 4


def shared_functions_of(module: ir.Module) -> SharedFunctions | None:
    return getattr(module, "shared_functions", None)


def declared(module: ir.Module, shared: SharedFunction) -> ir.Function:
    """The function, as code of this module calls it."""
    known = module.globals.get(shared.name)
    if known is not None:
        return known
    function = shared.declare(module)
    requests = shared_functions_of(module)
    if requests is not None:
        requests.requested[shared.name] = shared
    else:
        function.linkage = "internal"
        shared.emit(function)
    return function


def align_stack(function: ir.Function, vector_bytes: int) -> None:
    """Let vectors that the function spills lie within one cache line, and one page, wherever its caller's stack ends."""
    function.attributes.add("nounwind")  # llvmlite prints the alignment beside other attributes only
    function.attributes.alignstack = vector_bytes

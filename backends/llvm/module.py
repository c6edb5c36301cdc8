"""LLVM modules and functions, with what phlox knows of the code that is written into them.

Functions that many modules call by name are declared where they are called, and compiled once a process by whoever loads the
code: a module that a backend compiles (`Module`) collects what is requested. Any other module gets their definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

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

    ``vector_bytes`` is the width of the machine's vector registers; ``converts_halves`` says that it has instructions for f16,
    ``may_contract`` that a product and a sum may be rounded together, and ``calls_elementary`` that elementary functions are
    called, too, rather than emitted inline.
    """

    vector_bytes: int
    converts_halves: bool = True
    may_contract: bool = False
    calls_elementary: bool = False
    requested: dict[str, SharedFunction] = field(default_factory=dict)


# As many vectors of arguments as are passed and returned in registers. What a call costs is shared between them, and
# independent chains of operations run side by side.
VECTORS_PER_CALL = 4


class Module(ir.Module):
    """A module that a backend compiles.

    ``called_computations(builder, computation, arguments)`` returns the results of a computation that takes more than
    registers; ``scalar_functions`` are the functions of large computations on scalars, as `scalar_calls` has written them, and
    ``inner_loops`` what nests of different sizes have in common, by what its code depends on.
    """

    def __init__(self, name: str, shared_functions: SharedFunctions) -> None:
        super().__init__(name)
        self.shared_functions = shared_functions
        self.called_computations: Callable[..., list] | None = None
        self.scalar_functions: dict[Any, Any] = {}
        self.inner_loops: dict[Any, Any] = {}


@dataclass(frozen=True)
class DeviceFeatures:
    """What code for a device needs to know of it.

    ``constant_space`` is the address space of constant tables; ``lacks`` says for what there are no instructions: ``extrema``
    (that know NaN and the order of zeros), ``saturation`` (conversions of floats to integers that end at their limits),
    ``pointer vectors``, ``lane masks`` (vectors of conditions as the bits of an integer, or of what memory instructions
    touch), ``long vectors`` (of more elements than 16, or of any number), ``atomic loads`` (and stores: LLVM writes plain
    ones, which drivers move out of loops that wait), ``integer quotients`` (of vectors by a constant, without division), and
    ``unoptimized calls`` (what calls functions that are not optimized has to be given all that any function may ask for).
    ``streamed_bytes`` are those of the longest vector that may be stored past the caches, 0 where there is no such store.
    ``has_avx2`` and ``has_avx512`` say that intrinsics of this name may be called, the latter's for whole registers.
    ``approximations`` are LLVM's names of functions of ``float``, right to an ulp or so, subnormal numbers being zeros: of the
    ``reciprocal`` and of the ``reciprocal root``; and of a function of ``double``, right to 13 bits, where doubles are fast: of
    the ``reciprocal of doubles``. ``has_float_extrema`` says that those of ``float`` that know NaN are one instruction.
    """

    constant_space: int
    lacks: frozenset[str] = frozenset()
    streamed_bytes: int = 0
    has_avx2: bool = False
    has_avx512: bool = False
    approximations: Mapping[str, str] = field(default_factory=dict)
    has_float_extrema: bool = False


class DeviceModule(ir.Module):
    """A module of kernels for a device."""

    def __init__(self, name: str, features: DeviceFeatures) -> None:
        super().__init__(name)
        self.features = features


def written_out(module: ir.Module) -> str:
    """The assembly of a module that is complete, whose functions keep no instructions from here on.

    These refer to their blocks, and blocks to them: half of all garbage that the interpreter would have to look for.
    """
    text = str(module)
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if isinstance(instruction, ir.PhiInstr):
                    instruction.incomings.clear()
            block.instructions.clear()
            block.terminator = None
        function.blocks.clear()
    return text


def lacks(module: ir.Module, what: str) -> bool:
    """Whether a module is for a device without instructions for this: see `DeviceFeatures`."""
    return isinstance(module, DeviceModule) and what in module.features.lacks


def approximation(module: ir.Module, what: str) -> str | None:
    """LLVM's name of what approximates this, where the module's device has it: see `DeviceFeatures`."""
    return module.features.approximations.get(what) if isinstance(module, DeviceModule) else None


def has_avx2(module: ir.Module) -> bool:
    """Whether a module is for a device that has these instructions and gets them by LLVM's intrinsics."""
    return isinstance(module, DeviceModule) and module.features.has_avx2


def has_avx512(module: ir.Module) -> bool:
    """Whether a module is for a device of which the same holds."""
    return isinstance(module, DeviceModule) and module.features.has_avx512


def has_float_extrema(module: ir.Module) -> bool:
    """Whether a module is for a device with one instruction for these: see `DeviceFeatures`."""
    return isinstance(module, DeviceModule) and module.features.has_float_extrema


def constant_table(builder: ir.IRBuilder, name: str, element: ir.Type, values: Sequence[Any]) -> ir.Value:
    """The address of a constant array, which is in a module once under this name."""
    module, kind = builder.module, ir.ArrayType(element, len(values))
    space = module.features.constant_space if isinstance(module, DeviceModule) else 0
    table = module.globals.get(name)
    if table is None:
        table = ir.GlobalVariable(module, kind, name, addrspace=space)
        table.linkage, table.global_constant = "internal", True
        table.initializer = ir.Constant(kind, [element(value) for value in values])
    return builder.addrspacecast(table, ir.PointerType()) if space else table


def shared_functions_of(module: ir.Module) -> SharedFunctions | None:
    return module.shared_functions if isinstance(module, Module) else None


def vector_bytes_of(module: ir.Module) -> int | None:
    """The width of the vector registers of the machine that a module is compiled for, where that is known."""
    shared = shared_functions_of(module)
    return None if shared is None else shared.vector_bytes


def streamed_bytes(module: ir.Module) -> int:
    """How many bytes of a vector are stored past the caches at once; 0 where none are."""
    return module.features.streamed_bytes if isinstance(module, DeviceModule) else vector_bytes_of(module) or 0


def converts_halves(module: ir.Module) -> bool:
    """Whether the machine that a module is compiled for has instructions that convert f16."""
    shared = shared_functions_of(module)
    return shared is None or shared.converts_halves


def may_contract(module: ir.Module) -> bool:
    """Whether a product and a sum may be rounded once, together, in a module."""
    shared = shared_functions_of(module)
    return shared is not None and shared.may_contract


@contextmanager
def contracting(module: ir.Module, wanted: bool = True) -> Iterator[None]:
    """Around code in which a product and a sum may be rounded once, if that is wanted, or they may in all of the module."""
    shared = shared_functions_of(module)
    if shared is None or not wanted or shared.may_contract:
        yield
        return
    shared.may_contract = True
    try:
        yield
    finally:
        shared.may_contract = False


def declared(module: ir.Module, shared: SharedFunction) -> ir.Function:
    """The shared function, as code of this module calls it."""
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


def declaration(module: ir.Module, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
    """A function that LLVM or whoever loads the code supplies, declared once in a module."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, arguments), name)


def align_stack(function: ir.Function, vector_bytes: int) -> None:
    """Let vectors that the function spills lie within one cache line, and one page, wherever its caller's stack ends."""
    function.attributes.add("nounwind")  # llvmlite prints the alignment beside other attributes only
    function.attributes.alignstack = vector_bytes

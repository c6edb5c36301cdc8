"""What differs between the families of GPUs: the smallest interface under which one emitter of kernels serves all.

Kernels are written with pointers of address space 0 for all memory, which every family has under some number: *generic*
pointers (`address_spaces`). What a family has no instruction for, it says here, and kernels do it otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

from llvmlite import binding, ir

from ...hlo import ElementType
from ..cpu.target import Target as ProcessorTarget
from ..llvm.types import I32
from .drivers.driver import Dimensions
from .family import Family

ReadIndex = Callable[[ir.IRBuilder, int], ir.Value]


@dataclass(frozen=True)
class AddressSpaces:
    """The numbers of a family's address spaces: pointers to anything, arguments' memory, memory of a block, of a thread."""

    generic: int
    device: int = 1
    shared: int = 3
    private: int = 0


@dataclass(frozen=True)
class AtomicAdd:
    """That instructions add floats to those in the device's memory: so many ``lanes``, neighbouring ones, at once.

    ``flushes``: subnormal ones, and sums, become zeros.
    """

    lanes: tuple[int, ...] = (1,)
    flushes: bool = False


def _no_atomic_add(builder: ir.IRBuilder, element_type: ElementType, address: ir.Value, parts: list[ir.Value]) -> None:
    raise AssertionError(f"the target adds no {element_type.name} atomically")


@dataclass(frozen=True, eq=False)
class Target:
    """What kernels are generated for.

    ``architecture`` is the processor's name for LLVM, if there is one.
    ``sub_group`` threads run in step; ``threads`` are in a block at most, which may have ``shared_bytes`` of memory in common.
    A grid has fewer than ``grid_threads`` along a dimension, where blocks are not all that counts.
    ``vector_bytes`` are loaded at once by a thread, at most. ``thread_index`` and ``block_index`` read an i32 along a
    dimension, ``barrier`` waits for all threads of the block, ``shuffle_xor(builder, value, distance)`` returns the i32 of the
    thread whose number in its sub-group differs by these bits, ``shuffle(builder, value, lane)`` that of the thread with this
    number, ``ballot(builder, condition)`` an integer with a bit for each thread of the sub-group; they are None where there is
    none, and all threads of the sub-group call them. ``finish(function, block)``
    declares a kernel that blocks of so many threads run. ``lacks`` is that of `DeviceFeatures`. ``device_scope`` and
    ``block_scope`` are the family's names for the threads of the device, and of a block, among which operations are atomic.
    ``dynamic_bytes`` of shared memory may be asked for when a kernel is launched, instead of those that it declares.
    ``keep_resident(function, blocks)`` asks for code with so few registers that a processor runs so many blocks at once.
    ``registers`` of 32 bits a thread may have, and ``sum_registers`` more for sums of matrix instructions, where LLVM assigns
    them; None where an assembler or a driver does, which loads no earlier than they allow. ``shared_barrier`` is a barrier that
    waits for the block's memory alone, where there is one.
    ``atomic_adds`` says of types of floats, by name, how they are added to those in the device's memory by one instruction,
    which ``add_atomically(builder, element_type, address, parts)`` emits: of elements as they are stored. Other atomic
    instructions have the metadata of ``atomic_metadata``, names of LLVM's.
    ``phases`` of a loop in one kernel are run through before the host is asked, which can be interrupted (`persistent`).
    ``processor`` is there where the device is a CPU, as the emitters of loop nests know it (`kernels.nests`).
    ``module_flags`` are flags of LLVM modules, by name. ``approximations`` and ``has_float_extrema`` are those of
    `DeviceFeatures`. ``arguments_together`` addresses are one parameter of a kernel: a vector of integers, where that is more
    than one.
    """

    family: Family
    architecture: str
    triple: str
    features: str
    calling_convention: str
    spaces: AddressSpaces
    sub_group: int
    threads: int
    shared_bytes: int
    vector_bytes: int
    thread_index: ReadIndex
    block_index: ReadIndex
    barrier: Callable[[ir.IRBuilder], None]
    finish: Callable[[ir.Function, Dimensions], None]
    lacks: frozenset[str] = frozenset()
    device_scope: str = "device"
    block_scope: str = "workgroup"
    shuffle_xor: Callable[[ir.IRBuilder, ir.Value, int], ir.Value] | None = None
    shuffle: Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value] | None = None
    ballot: Callable[[ir.IRBuilder, ir.Value], ir.Value] | None = None
    dynamic_bytes: int = 0
    keep_resident: Callable[[ir.Function, int], None] = lambda function, blocks: None
    registers: int | None = None
    sum_registers: int = 0
    shared_barrier: Callable[[ir.IRBuilder], None] | None = None
    atomic_adds: Mapping[str, AtomicAdd] = field(default_factory=dict)
    add_atomically: Callable[[ir.IRBuilder, ElementType, ir.Value, list[ir.Value]], None] = _no_atomic_add
    phases: int = 1 << 14
    processor: ProcessorTarget | None = None
    module_flags: tuple[tuple[str, int], ...] = ()
    approximations: Mapping[str, str] = field(default_factory=dict)
    has_float_extrema: bool = False
    arguments_together: int = 1
    grid_threads: int | None = None
    atomic_metadata: tuple[str, ...] = ()

    @property
    def lanes(self) -> int:
        """How many threads tell each other what they have without a barrier."""
        return self.sub_group if self.shuffle is not None else 1

    @property
    def identity(self) -> tuple[str, ...]:
        """All that differs between targets for which code is made by the same functions."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        values |= {"family": self.family.name, "lacks": sorted(self.lacks)}
        return tuple([f"{name} {value}" for name, value in values.items() if not callable(value)])

    def machine(self, level: int = 3) -> binding.TargetMachine:
        """LLVM's target machine."""
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        target = binding.Target.from_triple(self.triple)
        return target.create_target_machine(cpu=self.architecture, features=self.features, opt=level, reloc="pic")


def intrinsic_index(names: tuple[str, str, str]) -> ReadIndex:
    """Reads an index by an intrinsic without arguments for each dimension."""

    def read(builder: ir.IRBuilder, dimension: int) -> ir.Value:
        name = names[dimension]
        known = builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(I32, []), name)
        return builder.call(known, [])

    return read

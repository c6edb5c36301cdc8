"""Arrays that no memory can hold are refused before anything is made of their sizes."""

from __future__ import annotations

from math import prod

from .errors import AddressSpaceError
from .instruction import Instruction, Module
from .shape import leaves

# What a process on x86-64 can address: half of an address space of 48 bits.
LARGEST_MEMORY = 2**47
# Sizes and offsets of single arrays, which need not be in memory, are signed integers of 64 bits.
_LARGEST_ARRAY = 2**63 - 1


def check_address_space(module: Module) -> None:
    """Raise AddressSpaceError where an array has too many bytes to be counted, or arguments and results have no place."""
    checked: set[int] = set()  # shapes by identity: many instructions share theirs
    for computation in module.computations():
        for instruction in computation.instructions:
            if id(instruction.shape) in checked:
                continue
            checked.add(id(instruction.shape))
            for shape in leaves(instruction.shape):
                # One that is empty has strides all the same.
                size = shape.byte_size or prod(size or 1 for size in shape.dimensions) * shape.element_type.byte_size
                if size > _LARGEST_ARRAY:
                    raise AddressSpaceError(
                        f"{_place(module, instruction)}: sizes up to {size} bytes cannot be counted in 64 bits"
                    )
    kinds = {"the parameters": module.entry.parameter_shapes, "the results": (module.entry.shape,)}
    for kind, shapes in kinds.items():
        check_memory(f"module {module.name}: {kind}", sum(leaf.byte_size for shape in shapes for leaf in leaves(shape)))


def check_memory(what: str, size: int) -> None:
    """Raise AddressSpaceError unless the address space has so many bytes."""
    if size >= LARGEST_MEMORY:
        raise AddressSpaceError(f"{what} take {size} bytes, and the address space of a process ends at {LARGEST_MEMORY}")


def _place(module: Module, instruction: Instruction) -> str:
    place = f"module {module.name}, instruction {instruction!r}"
    return f"{place} from {instruction.source}" if instruction.source else place

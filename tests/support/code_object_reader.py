"""What is in a code object for AMD's devices, as pyelftools reads it."""

import io
import struct
from dataclasses import dataclass

from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

DESCRIPTOR = struct.Struct("<III4xq24xI")  # of a kernel, 64 bytes; what is looked at here


@dataclass
class KernelDescriptor:
    """Bytes of memory of a block, of a thread, and of the arguments; the address of the code; COMPUTE_PGM_RSRC1."""

    shared_bytes: int
    private_bytes: int
    argument_bytes: int
    code_address: int
    modes: int


def read_elf(code):
    return ELFFile(io.BytesIO(code))


def bytes_at(elf, address, size):
    """What is in memory at an address, once the segments are loaded."""
    for segment in elf.iter_segments("PT_LOAD"):
        offset = address - segment["p_vaddr"]
        if 0 <= offset and offset + size <= segment["p_filesz"]:
            return segment.data()[offset : offset + size]
    raise AssertionError(f"no segment holds {size} bytes at {address:#x}")


def dynamic_symbols(elf):
    """The symbols that a loader finds by the dynamic segment, by name; section headers are not looked at."""
    (dynamic,) = [segment for segment in elf.iter_segments() if isinstance(segment, DynamicSegment)]
    return {symbol.name: symbol for symbol in dynamic.iter_symbols() if symbol.name}


def kernel_descriptors(elf):
    """The descriptor of each kernel, by the kernel's name."""
    found = {}
    for name, symbol in dynamic_symbols(elf).items():
        if name.endswith(".kd"):
            address = symbol["st_value"]
            shared, private, arguments, entry, modes = DESCRIPTOR.unpack(bytes_at(elf, address, DESCRIPTOR.size))
            found[name.removesuffix(".kd")] = KernelDescriptor(shared, private, arguments, address + entry, modes)
    return found

"""Programs for AArch64, run by an emulated processor: what its code computes, on a machine of another architecture.

The emulator's memory is memory of this process, under the same addresses. So code that runs there may be given pointers that
Python has made, such as those to the states of generators, and what it calls outside of its own memory are functions of this
process, which are called by way of ctypes.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import unicorn
from phlox.backends.arguments import check_arguments
from phlox.backends.cpu.backend import CpuBackend
from phlox.backends.cpu.call.native_functions import python_call_addresses
from phlox.backends.cpu.dynamic_shapes import PaddedExecutable
from phlox.backends.cpu.host_instructions import host_calls
from phlox.backends.cpu.machine_code import LoadedCode, compile_object
from phlox.backends.cpu.native_program import NativeProgram
from phlox.backends.cpu.target import Target, level_target, native_target
from phlox.runtime import find_target
from unicorn import arm64_const as registers

_MEMORY_BYTES = 1 << 28  # of which the pages are made when they are used
_STACK_BYTES = 1 << 23
_ALIGNMENT = 64
_NOT_EXECUTABLE = (unicorn.UC_ERR_FETCH_UNMAPPED, unicorn.UC_ERR_FETCH_PROT)
_FLOATING_POINT_IS_ON = 3 << 20  # FPEN of CPACR_EL1

# What programs call and Linux gives them, for the emulated processor; pieces run one after the other.
_LIBRARY = """
@heap = global ptr null

define ptr @aligned_alloc(i64 %alignment, i64 %size) {
  %start = load ptr, ptr @heap
  %address = ptrtoint ptr %start to i64
  %beyond = add i64 %address, %alignment
  %before = sub i64 %beyond, 1
  %mask = sub i64 0, %alignment
  %aligned = and i64 %before, %mask
  %result = inttoptr i64 %aligned to ptr
  %end = getelementptr i8, ptr %result, i64 %size
  store ptr %end, ptr @heap
  ret ptr %result
}

define void @free(ptr %block) {
  ret void
}

define i32 @"phlox.run_pieces"(ptr %function, ptr %context, i64 %count, i64 %work, i64 %checks, ptr %scratch, i64 %bytes) {
start:
  br label %next
next:
  %number = phi i64 [ 0, %start ], [ %following, %piece ]
  %status = phi i32 [ 0, %start ], [ %returned, %piece ]
  %is_left = icmp slt i64 %number, %count
  %is_fine = icmp eq i32 %status, 0
  %goes_on = and i1 %is_left, %is_fine
  br i1 %goes_on, label %piece, label %done
piece:
  %following = add i64 %number, 1
  %returned = call i32 %function(ptr %context, i64 %number, ptr %scratch)
  br label %next
done:
  ret i32 %status
}
"""

# Calls a function of this process with what the emulated processor has in the registers of arguments, and gives what it returns
# in one of them, or in the other. Pointers and integers are passed in one order, floating-point numbers in another one, on both
# architectures, and what no function reads does no harm.
_ARGUMENT = """
  %i.{n} = getelementptr i64, ptr %integers, i64 {n}
  %integer.{n} = load i64, ptr %i.{n}
  %n.{n} = getelementptr double, ptr %numbers, i64 {n}
  %number.{n} = load double, ptr %n.{n}"""
_REGISTERS = range(8)
_CALL = f"""
define void @call(ptr %function, ptr %integers, ptr %numbers) {{
  {"".join(_ARGUMENT.format(n=n) for n in _REGISTERS)}
  %both = call {{ i64, double }} %function({", ".join(f"i64 %integer.{n}, double %number.{n}" for n in _REGISTERS)})
  %integer = extractvalue {{ i64, double }} %both, 0
  %number = extractvalue {{ i64, double }} %both, 1
  store i64 %integer, ptr %integers
  store double %number, ptr %numbers
  ret void
}}
"""


# --- object files: the ELF gABI, and "ELF for the Arm 64-bit Architecture" ---


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8
_IS_LOADED = 2
_UNDEFINED, _FIRST_RESERVED, _ABSOLUTE = 0, 0xFF00, 0xFFF1

_WORD_AT_LOW_BITS = {  # R_AARCH64_*: by how many bits the value is shifted, and what of it stands in bits 10 to 21 or 5 to 20
    277: (0, 0xFFF, 10),  # ADD_ABS_LO12_NC
    278: (0, 0xFFF, 10),  # LDST8_ABS_LO12_NC
    284: (1, 0x7FF, 10),  # LDST16_ABS_LO12_NC
    285: (2, 0x3FF, 10),  # LDST32_ABS_LO12_NC
    286: (3, 0x1FF, 10),  # LDST64_ABS_LO12_NC
    299: (4, 0x0FF, 10),  # LDST128_ABS_LO12_NC
    312: (3, 0x1FF, 10),  # LD64_GOT_LO12_NC
    264: (0, 0xFFFF, 5),  # MOVW_UABS_G0_NC
    266: (16, 0xFFFF, 5),  # MOVW_UABS_G1_NC
    268: (32, 0xFFFF, 5),  # MOVW_UABS_G2_NC
    269: (48, 0xFFFF, 5),  # MOVW_UABS_G3
}
_PAGE_OF_ADDRESS = {275, 311}  # ADR_PREL_PG_HI21, ADR_GOT_PAGE
_IN_TABLE_OF_ADDRESSES = {311, 312}
_CALLS = {282, 283}  # JUMP26, CALL26
_ABSOLUTE_ADDRESS, _RELATIVE_ADDRESS, _RELATIVE_WORD = 257, 260, 261
# ldr x16, .+8; br x16: the address stands behind them.
_FAR_JUMP = struct.pack("<II", 0x58000050, 0xD61F0200)


def _text_at(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


class _ObjectFile:
    """The sections of an object file, and the names and places of its symbols."""

    def __init__(self, data: bytes) -> None:
        assert data[:6] == b"\x7fELF\x02\x01", "a 64-bit little-endian ELF file is required"
        (table,), (count, names) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HH", data, 60)
        self.data = data
        self.sections = [_Section(*struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * n)) for n in range(count)]
        self.names = [_text_at(data, self.sections[names].offset + section.name) for section in self.sections]
        self.symbols = list(self._symbols())

    def _symbols(self) -> Iterator[tuple[str, int, int]]:
        for section in self.sections:
            if section.kind != _SYMBOLS:
                continue
            texts = self.sections[section.link].offset
            for at in range(section.offset, section.offset + section.size, 24):
                name, _, _, place, value, _ = struct.unpack_from("<IBBHQQ", self.data, at)
                yield _text_at(self.data, texts + name), place, value

    def relocations(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Of each: the section that it changes, the place there, its type, its symbol's number, and what is added."""
        for section in self.sections:
            if section.kind == _RELOCATIONS:
                for at in range(section.offset, section.offset + section.size, 24):
                    place, info, added = struct.unpack_from("<QQq", self.data, at)
                    yield section.info, place, info & 0xFFFFFFFF, info >> 32, added


# --- the processor ---


class Emulator:
    """An AArch64 processor of the first version of the architecture, and its memory, of which the start is kept."""

    def __init__(self, target: Target) -> None:
        self._memory = mmap.mmap(-1, _MEMORY_BYTES)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.end = self.start + _MEMORY_BYTES
        self._next = self.start + _ALIGNMENT
        self._stack = self.end - _ALIGNMENT
        self._processor = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        self._processor.ctl_set_cpu_model(registers.UC_CPU_ARM64_A53)
        self._processor.mem_map_ptr(self.start, _MEMORY_BYTES, unicorn.UC_PROT_ALL, ctypes.c_void_p(self.start))
        self._processor.reg_write(registers.UC_ARM64_REG_CPACR_EL1, _FLOATING_POINT_IS_ON)
        unmapped = unicorn.UC_HOOK_MEM_READ_UNMAPPED | unicorn.UC_HOOK_MEM_WRITE_UNMAPPED
        self._processor.hook_add(unmapped, self._map_page)
        self._library = self.load([compile_object(f'target triple = "{target.triple}"\n{_LIBRARY}', target)], {})
        self._kept = self._next

    def forget(self) -> None:
        """Only the library stays in memory, and what calls that have not ended need."""
        if self._stack != self.end - _ALIGNMENT:
            return
        ctypes.memset(self._kept, 0, self._next - self._kept)
        self._processor.ctl_flush_tb()
        self._next = self._kept

    def allocate(self, size: int, alignment: int = _ALIGNMENT) -> int:
        """The address of so many bytes, which are zero."""
        address = -(-self._next // alignment) * alignment
        self._next = address + size
        if self._next > self.end - _STACK_BYTES:
            raise MemoryError(f"the emulated processor has {_MEMORY_BYTES} bytes of memory")
        return address

    def copy_in(self, data: bytes | memoryview) -> int:
        """The address of a copy."""
        array = np.frombuffer(data, np.uint8)
        address = self.allocate(array.size)
        ctypes.memmove(address, array.ctypes.data, array.size)
        return address

    def load(self, object_codes: Sequence[bytes], symbols: Mapping[str, int]) -> dict[str, int]:
        """Object files in memory, their names bound to each other's, these addresses, or the library's: those of their own."""
        loaded = [(code, self._place(code)) for code in map(_ObjectFile, object_codes)]
        own = {
            name: places[place] + value
            for code, places in loaded
            for name, place, value in code.symbols
            if name and place in places
        }
        for code, places in loaded:
            self._bind(code, places, {**getattr(self, "_library", {}), **symbols, **own})
        return own

    def _place(self, code: _ObjectFile) -> dict[int, int]:
        """Its sections in memory."""
        places: dict[int, int] = {}
        for number, section in enumerate(code.sections):
            # What unwinding reads is left out.
            if section.flags & _IS_LOADED and section.size and code.names[number] != ".eh_frame":
                places[number] = self.allocate(section.size, max(1, section.alignment))
                if section.kind != _NO_BITS:
                    ctypes.memmove(places[number], code.data[section.offset : section.offset + section.size], section.size)
        return places

    def _bind(self, code: _ObjectFile, places: Mapping[int, int], known: Mapping[str, int]) -> None:
        addresses = [self._address(symbol, places, known) for symbol in code.symbols]
        copies: dict[tuple[str, int], int] = {}
        for section, place, kind, symbol, added in code.relocations():
            if section in places:
                value = addresses[symbol]
                if value is None:
                    raise KeyError(code.symbols[symbol][0])
                self._relocate(places[section] + place, kind, value + added, copies)

    def _address(self, symbol: tuple[str, int, int], places: Mapping[int, int], known: Mapping[str, int]) -> int | None:
        name, place, value = symbol
        if place == _UNDEFINED:
            return known.get(name, _address_in_process(name)) if name else 0
        if place >= _FIRST_RESERVED:
            return value if place == _ABSOLUTE else None
        return places[place] + value if place in places else None

    def _relocate(self, at: int, kind: int, value: int, copies: dict[tuple[str, int], int]) -> None:
        if kind == _ABSOLUTE_ADDRESS:
            ctypes.c_uint64.from_address(at).value = value
        elif kind == _RELATIVE_ADDRESS:
            ctypes.c_int64.from_address(at).value = value - at
        elif kind == _RELATIVE_WORD:
            ctypes.c_int32.from_address(at).value = value - at
        else:
            # One for each address: two instructions say the two parts of where it lies.
            if kind in _IN_TABLE_OF_ADDRESSES:
                value = self._once(copies, "address", value, b"")
            elif kind in _CALLS and abs(value - at) >= 1 << 27:
                value = self._once(copies, "jump", value, _FAR_JUMP)
            ctypes.c_uint32.from_address(at).value |= _in_instruction(kind, at, value)

    def _once(self, copies: dict[tuple[str, int], int], what: str, value: int, before: bytes) -> int:
        if (what, value) not in copies:
            copies[what, value] = self.copy_in(before + struct.pack("<Q", value))
        return copies[what, value]

    def call(self, function: int, arguments: Sequence[int]) -> int:
        """What a function returns as an i32. Its own calls out of the memory are those of functions of this process."""
        processor, behind = self._processor, self.start
        ctypes.c_void_p.from_address(self._library["heap"]).value = self._next
        processor.reg_write(registers.UC_ARM64_REG_SP, self._stack)
        processor.reg_write(registers.UC_ARM64_REG_LR, behind)
        for number, argument in enumerate(arguments):
            processor.reg_write(registers.UC_ARM64_REG_X0 + number, argument)
        while True:
            try:
                processor.emu_start(function, behind)
                self._next = max(self._next, ctypes.c_void_p.from_address(self._library["heap"]).value)
                return ctypes.c_int32(processor.reg_read(registers.UC_ARM64_REG_X0)).value
            except unicorn.UcError as error:
                outside = processor.reg_read(registers.UC_ARM64_REG_PC)
                if error.errno not in _NOT_EXECUTABLE or self.start <= outside < self.end:
                    raise
            self._call_outside(outside)
            function = processor.reg_read(registers.UC_ARM64_REG_LR)

    def _map_page(self, processor: unicorn.Uc, access: int, address: int, *rest: object) -> bool:
        """Give the code a page of this process that it reads or writes, and say whether there is one."""
        page = address & -mmap.PAGESIZE
        if ctypes.CDLL(None).mincore(ctypes.c_void_p(page), ctypes.c_size_t(1), ctypes.create_string_buffer(1)):
            return False
        processor.mem_map_ptr(page, mmap.PAGESIZE, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE, ctypes.c_void_p(page))
        return True

    def _call_outside(self, function: int) -> None:
        """Call a function of this process, which may call emulated code itself, and may raise what Python raises."""
        processor, stack = self._processor, self._stack
        integers = (ctypes.c_uint64 * 8)(*[processor.reg_read(registers.UC_ARM64_REG_X0 + n) for n in _REGISTERS])
        numbers = (ctypes.c_uint64 * 8)(*[processor.reg_read(registers.UC_ARM64_REG_D0 + n) for n in _REGISTERS])
        context = processor.context_save()
        self._stack = (processor.reg_read(registers.UC_ARM64_REG_SP) - _ALIGNMENT) & -_ALIGNMENT
        try:
            _host_call()(function, integers, numbers)
        finally:
            self._stack = stack
        processor.context_restore(context)
        processor.reg_write(registers.UC_ARM64_REG_X0, integers[0])
        processor.reg_write(registers.UC_ARM64_REG_D0, numbers[0])


@cache
def _host_call() -> Callable[..., None]:
    code = LoadedCode([compile_object(_CALL, native_target())], native_target(), {})
    address = code.address("call")
    code.keep()
    return ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 3)(address)


def _in_instruction(kind: int, at: int, value: int) -> int:
    """The bits of an instruction that say the address, or how far it is."""
    if kind in _WORD_AT_LOW_BITS:
        shift, mask, place = _WORD_AT_LOW_BITS[kind]
        return (value >> shift & mask) << place
    if kind in _CALLS:
        return (value - at >> 2) & 0x3FFFFFF
    if kind in _PAGE_OF_ADDRESS:
        pages = (value >> 12) - (at >> 12)
        return (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    raise NotImplementedError(f"relocation {kind} of AArch64")


def _address_in_process(name: str) -> int | None:
    try:
        return ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    except AttributeError:
        return None


# --- programs ---

_one_thread = threading.RLock()


class EmulatedExecutable:
    """A program for AArch64; called with one ndarray for each leaf of the parameters, as those of the machine itself are."""

    def __init__(self, program: NativeProgram) -> None:
        self.program = program

    def __call__(self, *arguments: object) -> tuple[object, ...]:
        check_arguments(self.program.name, self.program.parameters, arguments)
        with _one_thread:
            return self._run(arguments)

    run = __call__

    def _run(self, arguments: Sequence[object]) -> tuple[object, ...]:
        program = self.program
        emulator = _emulator(program.target)
        emulator.forget()
        evaluations = {}
        if program.host_calls:
            evaluations = dict(zip(program.host_calls, host_calls(program.host_instructions, program.host_lines)))
        natives = {symbol: find_target(name) for symbol, name in program.native_calls}
        symbols = {name: address for name, address in python_call_addresses().items()}
        symbols |= {symbol: emulator.copy_in(data) for symbol, data in program.constants}
        symbols |= {symbol: function.address for symbol, function in {**evaluations, **natives}.items()}
        for shared in program.shared:
            symbols |= emulator.load(shared.object_codes, symbols)
        kernel = emulator.load(program.object_codes, symbols)[program.entry]
        given = [np.require(argument, requirements="A") for argument in arguments]
        inputs = [emulator.copy_in(ctypes.string_at(one.ctypes.data, one.nbytes)) for one in given]  # in their layouts
        outputs = [emulator.allocate(shape.byte_size) for shape in program.results]
        for result, argument in program.over_arguments:
            outputs[result] = inputs[argument]
        tables = [emulator.copy_in(np.array([*places, 0], np.uint64).data.cast("B")) for places in (inputs, outputs)]
        status = emulator.call(kernel, tables)
        if status:
            raise SystemError(f"a compiled function ended with code {status}")
        return tuple(_array(address, shape) for address, shape in zip(outputs, program.results))

    def install(self, instance: object, signature: object, **options: object) -> bool:
        """Calls go by way of Python."""
        return False

    @property
    def bytes_touched(self) -> int:
        return 0


def _array(address: int, shape: object) -> np.ndarray:
    data = ctypes.string_at(address, shape.byte_size)
    array = np.frombuffer(data, shape.dtype).reshape(shape.dimensions).copy()
    return array if array.ndim else array[()]


@cache
def _emulator(target: Target) -> Emulator:
    return Emulator(target)


class EmulatedBackend(CpuBackend):
    """The CPU backend for AArch64, whose programs run on the emulated processor."""

    name = "emulated aarch64"

    def __init__(self) -> None:
        super().__init__(level_target("aarch64"))

    def _executable(self, module, program, texts, clock=None):
        executable = EmulatedExecutable(replace(program, padding=None))
        return executable if program.padding is None else PaddedExecutable(executable, program.padding, module)

"""Memory of emulated devices, and the instructions that read and write it.

Source: AMD's "RDNA3 Instruction Set Architecture" and "CDNA3 Instruction Set Architecture".
"""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
from access_log import AccessLog, DeviceLog, units_of
from emulated_library import GRANULE, UNWRITTEN
from written_bytes import WrittenBytes

from .accesses import is_atomic_load, says_of_stores
from .instructions import FIRST_VGPR, Instruction, is_rdna
from .operands import PRIVATE_APERTURE, SHARED_APERTURE, reader


class IllegalAddressError(Exception):
    """An access of memory that is not there."""


class Memory:
    """Bytes from an address on. ``is_allocated`` says it of granules; None if all are.

    Accesses come with the ``stamps`` of the lanes that make them, of which some memories have a log (`access_log`).
    """

    def __init__(
        self, data: np.ndarray, begin: int = 0, is_allocated: np.ndarray | None = None, written: WrittenBytes | None = None
    ) -> None:
        assert data.dtype == np.uint8 and data.size % 8 == 0
        self.begin, self.is_allocated = begin, is_allocated
        self.views = {size: data.view(f"u{size}") for size in (1, 2, 4, 8)}
        self.size = data.size
        self.written = WrittenBytes(data.size) if written is None else written

    def offsets(self, addresses, size):
        """Where so many bytes from addresses on are. Raises IllegalAddressError."""
        offsets = (addresses - np.uint64(self.begin)).astype(np.int64)
        if not offsets.size:
            return offsets
        if offsets.min() < 0 or offsets.max() > self.size - size:
            wrong = offsets[(offsets < 0) | (offsets > self.size - size)][0]
            raise IllegalAddressError(f"{size} bytes at {self.begin + int(wrong):#x}")
        if self.is_allocated is not None:
            for at in (offsets, offsets + size - 1):
                fine = self.is_allocated[at // GRANULE]
                if not fine.all():
                    raise IllegalAddressError(f"{size} bytes at {self.begin + int(offsets[~fine][0]):#x}")
        return offsets

    def load(self, addresses, size, stamps, is_atomic=False, is_scalar=False):
        """Words of 32 bits from each address on, or one of 8 or 16 bits: by address and word."""
        offsets = self.offsets(addresses, size)
        if is_atomic or is_scalar:
            self.written.require_any(offsets, size)
        else:
            self.written.require(offsets, size)
        if is_atomic:
            self.log_change(offsets, size, stamps, writes=False)
        else:
            self.log_read(offsets, size, stamps, is_scalar)
        unit = min(size, 4)
        places = offsets[:, None] + np.arange(0, size, unit)
        if (offsets % unit).any():
            bytes_of = self.views[1][places[..., None] + np.arange(unit)]
            return bytes_of.view(f"u{unit}")[..., 0]
        return self.views[unit][places // unit]

    def store(self, addresses, values, size, stamps, is_atomic=False):
        offsets = self.offsets(addresses, size)
        self.written.note(offsets, size)
        if is_atomic:
            self.log_change(offsets, size, stamps)
        else:
            self.log_write(offsets, size, stamps)
        unit = min(size, 4)
        places = offsets[:, None] + np.arange(0, size, unit)
        values = np.ascontiguousarray(values.astype(f"u{unit}"))
        if (offsets % unit).any():
            self.views[1][places[..., None] + np.arange(unit)] = values[..., None].view(np.uint8)
        else:
            self.views[unit][places // unit] = values

    def log_read(self, offsets, size, stamps, is_cached):
        pass

    def log_write(self, offsets, size, stamps):
        pass

    def log_change(self, offsets, size, stamps, writes=True):
        pass

    def change(self, addresses, function, dtype, stamps, *operands):
        """Atomic operations, in the order of the addresses. Returns what was there before each."""
        dtype = np.dtype(dtype)
        offsets = self.offsets(addresses, dtype.itemsize)
        if (offsets % dtype.itemsize).any():
            raise IllegalAddressError("an atomic operation at an address that is not aligned")
        self.written.require_any(offsets, dtype.itemsize)
        self.log_change(offsets, dtype.itemsize, stamps)
        places, memory = offsets // dtype.itemsize, self.views[dtype.itemsize].view(dtype)
        before = np.empty(places.size, dtype)
        left = np.arange(places.size)
        while left.size:  # one of each address at a time
            _, first = np.unique(places[left], return_index=True)
            now = left[np.sort(first)]
            before[now] = memory[places[now]]
            memory[places[now]] = function(before[now], *[one[now] for one in operands])
            left = np.setdiff1d(left, now, assume_unique=True)
        return before


class DeviceMemory(Memory):
    """The device's, with what a launch does there."""

    def __init__(self, data, begin, is_allocated, written):
        super().__init__(data, begin, is_allocated, written)
        self.log = DeviceLog(data.size, has_constants=False)

    def log_read(self, offsets, size, stamps, is_cached):
        self.log.read(offsets, size, stamps, is_cached=is_cached)

    def log_write(self, offsets, size, stamps):
        self.log.write(offsets, size, stamps)

    def log_change(self, offsets, size, stamps, writes=True):
        self.log.change(offsets, size, stamps, writes=writes)


class MemoryOfEach(Memory):
    """Memory of each block, or each lane, one behind the other."""

    def __init__(self, count, size):
        self.bytes_of_one = -(-max(size, 1) // 16) * 16
        super().__init__(np.full(count * self.bytes_of_one, UNWRITTEN, np.uint8))


class SharedMemory(MemoryOfEach):
    """Of each block, with what its lanes do there between barriers. Code does not say of loads whether they are atomic."""

    def __init__(self, count, size, unit, intervals, loads_may_be):
        super().__init__(count, size)
        self._unit, self._log = unit, AccessLog(self.size // unit, intervals, several_blocks=False)
        self._log.loads_may_be = loads_may_be

    def log_read(self, offsets, size, stamps, is_cached):
        for at in units_of(offsets, size, self._unit):
            self._log.read(at, stamps)

    def log_write(self, offsets, size, stamps):
        for at in units_of(offsets, size, self._unit):
            self._log.write(at, stamps)

    def log_change(self, offsets, size, stamps, writes=True):
        for at in units_of(offsets, size, self._unit):
            self._log.change(at, stamps)


# --- atomic operations ---


def _wrapping_increment(old, given):
    return np.where(old >= given, old.dtype.type(0), old + old.dtype.type(1))


def _wrapping_decrement(old, given):
    return np.where((old == 0) | (old > given), given, old - old.dtype.type(1))


_ATOMIC = {
    "ADD": np.add, "SUB": np.subtract, "SWAP": lambda old, new: new, "AND": np.bitwise_and, "OR": np.bitwise_or,
    "XOR": np.bitwise_xor, "MIN": np.minimum, "MAX": np.maximum, "INC": _wrapping_increment, "DEC": _wrapping_decrement,
}  # fmt: skip
_ATOMIC_FLOAT = {"ADD": np.add, "MIN": np.fmin, "MAX": np.fmax}


def _adding_pairs(dtype):
    """Adds the halves of words, each sum rounded once."""

    def halves(words):
        return np.ascontiguousarray(words).view(dtype).astype(np.float32)

    return lambda old, given: (halves(old) + halves(given)).astype(dtype).view(np.uint32)


def _atomic(text: str):
    """The type and function that the name of an atomic operation says, and how many operands it has."""
    if match := re.fullmatch(r"(S|U)(MIN|MAX)(_X2)?", text):
        return f"{'i' if match[1] == 'S' else 'u'}{8 if match[3] else 4}", _ATOMIC[match[2]], 1
    if match := re.fullmatch(r"CMPSWAP(_X2|_B32|_B64)?|CMPSTORE(_RTN)?_(B32|B64)", text):
        return f"u{8 if 'X2' in text or 'B64' in text else 4}", None, 2
    if match := re.fullmatch(r"PK_ADD_(F16|BF16)", text):
        return "u4", _adding_pairs(np.dtype(np.float16 if match[1] == "F16" else ml_dtypes.bfloat16)), 1
    if match := re.fullmatch(r"(ADD|MIN|MAX)_(F32|F64)", text):
        return f"f{int(match[2][1:]) // 8}", _ATOMIC_FLOAT[match[1]], 1
    match = re.fullmatch(r"(ADD|SUB|SWAP|AND|OR|XOR|MIN|MAX|INC|DEC)(_X2|_[UIB]32|_[UIB]64)?", text)
    if match is None:
        raise NotImplementedError(f"the atomic operation {text}")
    kind = match[2] or ""
    signed = "i" if kind.startswith("_I") else "u"
    return f"{signed}{8 if '64' in kind or kind == '_X2' else 4}", _ATOMIC[match[1]], 1


def _exchange_if_equal(old, new, expected):
    return np.where(old == expected, new, old)


# --- what is moved ---


def _moved(name: str):
    """Of a load or store: bytes, whether a sign is extended, and which half of a register is meant, if only one is."""
    text = name.split("_", 1)[1]
    sizes = {
        "UBYTE": 1, "SBYTE": 1, "BYTE": 1, "U8": 1, "I8": 1, "B8": 1, "USHORT": 2, "SSHORT": 2, "SHORT": 2, "U16": 2, "I16": 2,
        "B16": 2, "DWORD": 4, "B32": 4, "DWORDX2": 8, "B64": 8, "DWORDX3": 12, "B96": 12, "DWORDX4": 16, "B128": 16,
        "DWORDX8": 32, "B256": 32, "DWORDX16": 64, "B512": 64,
    }  # fmt: skip
    words = text.split("_")
    kind = next((word for word in words if word in sizes), None)
    if kind is None:
        raise NotImplementedError(f"the instruction {name}")
    half = None
    if "D16" in words:
        half = "high" if "HI" in words else "low"
    return sizes[kind], kind in ("SBYTE", "SSHORT", "I8", "I16"), half


def _load_to(waves, at, memory, addresses, lanes, name, is_atomic=False):
    """Load what the instruction of this name does, from addresses of active lanes, to registers."""
    size, is_signed, half = _moved(name)
    data = memory.load(addresses, size, waves.stamps(lanes), is_atomic)
    if size < 4:
        signed = data.view(f"i{size}") if is_signed else data
        data = signed.astype(np.int32).view(np.uint32)
    for number in range(data.shape[1]):
        target = waves.vector[at + number]
        value = data[:, number]
        if half is not None:
            old = target[lanes]
            value = value & np.uint32(0xFFFF)
            value = old & np.uint32(0xFFFF) | value << np.uint32(16) if half == "high" else old & np.uint32(0xFFFF0000) | value
        target[lanes] = value


def _store_from(waves, at, memory, addresses, lanes, name, is_atomic=False):
    size, _, half = _moved(name)
    values = np.stack([waves.vector[at + number][lanes] for number in range(max(1, size // 4))], axis=1)
    values = values >> np.uint32(16) if half == "high" else values
    memory.store(addresses, values, size, waves.stamps(lanes), is_atomic)


def _pairs(waves, at, lanes):
    return waves.vector[at][lanes].astype(np.uint64) | waves.vector[at + 1][lanes].astype(np.uint64) << np.uint64(32)


def _operand(waves, at, lanes, dtype):
    dtype = np.dtype(dtype)
    return (_pairs(waves, at, lanes) if dtype.itemsize == 8 else waves.vector[at][lanes]).view(dtype)


def _write_result(waves, at, lanes, value):
    if value.dtype.itemsize == 4:
        waves.vector[at][lanes] = value.view(np.uint32)
        return
    bits = value.view(np.uint64)
    waves.vector[at][lanes] = (bits & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    waves.vector[at + 1][lanes] = (bits >> np.uint64(32)).astype(np.uint32)


def _lanes_of(waves):
    """Active lanes, as indices of waves and lanes."""
    return np.nonzero(waves.active_lanes())


# --- SMEM ---


def scalar_memory_step(instruction: Instruction, architecture: str):
    name = instruction.name
    if not name.startswith("S_LOAD_"):
        raise NotImplementedError(f"the instruction {name}")
    size, _, _ = _moved(name.removeprefix("S_"))
    base = reader(instruction.sbase, np.dtype(np.uint64))
    offset = instruction.get("offset")
    offset -= (1 << 21) if offset >> 20 else 0
    register = None
    if is_rdna(architecture):
        register = instruction.soffset if instruction.soffset != 124 else None
    else:
        if not instruction.imm:
            register, offset = instruction.offset & 0x7F, 0
        if instruction.soffset_en:
            register = instruction.soffset
    read = None if register is None else reader(register, np.dtype(np.uint32))
    to = instruction.sdata

    def step(waves):
        address = base(waves) + np.uint64(offset & (1 << 64) - 1)
        if read is not None:
            address = address + read(waves).astype(np.uint64)
        address = np.broadcast_to(address, (waves.shape[0], 1))[:, 0] & ~np.uint64(3)
        data = waves.memories.device.load(address, size, waves.stamps_of_waves(), is_scalar=True)
        for number in range(data.shape[1]):
            waves.scalar[to + number] = data[:, number : number + 1]
            waves.changed(to + number)

    return step


# --- FLAT, GLOBAL, SCRATCH ---


def vector_memory_step(instruction: Instruction, architecture: str):
    """A function that runs an instruction of these, or of MUBUF, for waves."""
    name = instruction.name
    if name.startswith(("BUFFER_GL", "BUFFER_INV", "BUFFER_WB")):  # of caches
        return lambda waves: None
    segment = name.split("_")[0]
    text = name.split("_", 1)[1]
    data = _data_register(instruction)
    to = data if instruction.form == "MUBUF" else instruction.vdst - FIRST_VGPR + 256 * instruction.get("acc")
    locate = _private_buffer(instruction) if segment == "BUFFER" else _LOCATE[segment](instruction, architecture)
    is_atomic = is_atomic_load(instruction, architecture)
    is_atomic_store = is_atomic and says_of_stores(architecture)
    if text.startswith("ATOMIC_"):
        dtype, function, operands = _atomic(text.removeprefix("ATOMIC_"))
        returns = instruction.get("glc") or instruction.get("sc0")

        def run(waves, memory, addresses, lanes):
            words = np.dtype(dtype).itemsize // 4
            given = [_operand(waves, data + number * words, lanes, dtype) for number in range(operands)]
            before = memory.change(addresses, function or _exchange_if_equal, dtype, waves.stamps(lanes), *given)
            if returns:
                _write_result(waves, to, lanes, before)

    elif text.startswith("LOAD_"):

        def run(waves, memory, addresses, lanes):
            _load_to(waves, to, memory, addresses, lanes, name, is_atomic)

    elif text.startswith("STORE_"):

        def run(waves, memory, addresses, lanes):
            _store_from(waves, data, memory, addresses, lanes, name, is_atomic_store)

    else:
        raise NotImplementedError(f"the instruction {name}")
    if not text.startswith("ATOMIC_"):
        _moved(name)

    def step(waves):
        lanes = _lanes_of(waves)
        if lanes[0].size:
            for memory, addresses, part in locate(waves, lanes):
                run(waves, memory, addresses, part)

    return step


def _data_register(instruction):
    at = instruction.get("data", instruction.get("vdata", FIRST_VGPR)) - FIRST_VGPR
    return at + 256 * instruction.get("acc")


def _offset(instruction, architecture):
    bits = 13 if is_rdna(architecture) or instruction.form != "FLAT" else 12
    offset = instruction.offset
    if instruction.form != "FLAT" or is_rdna(architecture):
        offset -= (1 << bits) if offset >> bits - 1 else 0
    return np.uint64(offset & (1 << 64) - 1)


def _has_scalar_address(instruction, architecture):
    return instruction.saddr != (124 if is_rdna(architecture) else 0x7F)


def _global(instruction, architecture):
    offset, at = _offset(instruction, architecture), instruction.addr - FIRST_VGPR
    base = reader(instruction.saddr, np.dtype(np.uint64)) if _has_scalar_address(instruction, architecture) else None

    def locate(waves, lanes):
        if base is None:
            addresses = _pairs(waves, at, lanes)
        else:
            addresses = waves.vector[at][lanes] + np.broadcast_to(base(waves), waves.shape)[lanes]
        yield waves.memories.device, addresses + offset, lanes

    return locate


def _flat(instruction, architecture):
    offset, at = _offset(instruction, architecture), instruction.addr - FIRST_VGPR

    def locate(waves, lanes):
        addresses = _pairs(waves, at, lanes) + offset
        high = (addresses >> np.uint64(32)).astype(np.uint32)
        low = addresses & np.uint64(0xFFFFFFFF)
        own = {
            SHARED_APERTURE: (waves.memories.shared, _shared_base),
            PRIVATE_APERTURE: (waves.memories.private, _private_base),
        }
        others = ~np.isin(high, list(own))
        if others.any():
            yield waves.memories.device, addresses[others], tuple(one[others] for one in lanes)
        for aperture, (memory, base) in own.items():
            inside = high == aperture
            if inside.any():
                part = tuple(one[inside] for one in lanes)
                yield memory, _within(low[inside], memory.bytes_of_one) + base(waves, part), part

    return locate


def _shared_base(waves, lanes):
    return waves.blocks[lanes[0]].astype(np.uint64) * np.uint64(waves.memories.shared.bytes_of_one)


def _private_base(waves, lanes):
    number = waves.numbers[lanes[0]] * waves.lanes + lanes[1]
    return number.astype(np.uint64) * np.uint64(waves.memories.private.bytes_of_one)


def _within(places, size):
    """Raises IllegalAddressError for what is beyond the memory of a block, or of a lane."""
    if places.size and places.max() >= size:
        raise IllegalAddressError(f"byte {int(places.max()):,} of {size:,}")
    return places


def _scratch(instruction, architecture):
    offset, at = _offset(instruction, architecture), instruction.addr - FIRST_VGPR
    base = reader(instruction.saddr, np.dtype(np.uint32)) if _has_scalar_address(instruction, architecture) else None
    # Whether there is a vector register, too, where there may be none.
    has_vector = bool(instruction.sve)

    def locate(waves, lanes):
        places = np.full(lanes[0].size, offset, np.uint64)
        if has_vector:
            places = places + waves.vector[at][lanes].view(np.int32).astype(np.int64).view(np.uint64)
        if base is not None:
            places = places + np.broadcast_to(base(waves), waves.shape)[lanes].astype(np.uint64)
        memory = waves.memories.private
        yield memory, _within(places, memory.bytes_of_one) + _private_base(waves, lanes), lanes

    return locate


PRIVATE_BUFFER = 0x5C2A7C88  # the first word of what describes the memory of lanes, on devices that use buffers for it


def _private_buffer(instruction):
    """Buffers serve the memory of lanes alone: offsets are those of a lane, but for scalar ones, which are a wave's."""
    at, descriptor = instruction.vaddr - FIRST_VGPR, instruction.srsrc
    if instruction.idxen:
        raise NotImplementedError(f"{instruction.name} with an index")
    scalar = reader(instruction.soffset, np.dtype(np.uint32))

    def locate(waves, lanes):
        if (waves.scalar[descriptor] != PRIVATE_BUFFER).any():
            raise NotImplementedError("buffers of other memory than that of lanes")
        places = np.full(lanes[0].size, instruction.offset, np.uint64)
        if instruction.offen:
            places = places + waves.vector[at][lanes]
        places = places + np.broadcast_to(scalar(waves), waves.shape)[lanes].astype(np.uint64) // np.uint64(waves.lanes)
        memory = waves.memories.private
        yield memory, _within(places, memory.bytes_of_one) + _private_base(waves, lanes), lanes

    return locate


_LOCATE = {"GLOBAL": _global, "FLAT": _flat, "SCRATCH": _scratch}


# --- DS ---


def shared_memory_step(instruction: Instruction, architecture: str):
    name = instruction.name
    text = name.removeprefix("DS_")
    if instruction.gds:
        raise NotImplementedError(f"{name} of memory of all blocks")
    if text in ("BPERMUTE_B32", "PERMUTE_B32", "SWIZZLE_B32"):
        return _exchange(instruction, text.split("_")[0], architecture)
    at, to = instruction.addr - FIRST_VGPR, instruction.vdst - FIRST_VGPR + 256 * instruction.get("acc")
    data = [instruction.fields[one] - FIRST_VGPR + 256 * instruction.get("acc") for one in ("data0", "data1")]
    offset = instruction.offset0 | instruction.offset1 << 8

    def places(waves, lanes, offset):
        memory = waves.memories.shared
        inside = (waves.vector[at][lanes] + np.uint32(offset)).astype(np.uint64)
        return memory, _within(inside, memory.bytes_of_one) + _shared_base(waves, lanes)

    pattern = r"(READ|LOAD|WRITE|STORE)(?:2|_2ADDR)(ST64|_STRIDE64)?_B(32|64)"
    if match := re.fullmatch(pattern, text):
        size = int(match[3]) // 8
        stride = size * (64 if match[2] else 1)
        offsets, words = (instruction.offset0 * stride, instruction.offset1 * stride), size // 4
        moved = f"X_LOAD_B{match[3]}"

        def two(waves):
            lanes = _lanes_of(waves)
            where = [places(waves, lanes, one) for one in offsets]
            if match[1] in ("WRITE", "STORE"):
                for (memory, addresses), source in zip(where, data):
                    _store_from(waves, source, memory, addresses, lanes, moved)
                return
            loaded = [memory.load(addresses, size, waves.stamps(lanes)) for memory, addresses in where]
            for number, words_of in enumerate(loaded):
                for word in range(words):
                    waves.vector[to + number * words + word][lanes] = words_of[:, word]

        return two
    if match := re.fullmatch(r"(READ|LOAD|WRITE|STORE)_(?!2|ADDTID)\w+", text):
        moved = f"X_{text}"
        _moved(moved)
        is_load = match[1] in ("READ", "LOAD")

        def one(waves):
            lanes = _lanes_of(waves)
            memory, addresses = places(waves, lanes, offset)
            if is_load:
                _load_to(waves, to, memory, addresses, lanes, moved)
            else:
                _store_from(waves, data[0], memory, addresses, lanes, moved)

        return one
    return _shared_atomic(text, places, data, to, offset)


def _shared_atomic(text, places, data, to, offset):
    returns = "_RTN" in text
    # By the older name, what is compared comes before what is stored.
    order = data[::-1] if text.startswith("CMPST_") else data
    text = text.replace("_RTN", "").replace("STOREXCHG", "SWAP").replace("WRXCHG", "SWAP").replace("CMPST_", "CMPSTORE_")
    dtype, function, operands = _atomic(text)

    def step(waves):
        lanes = _lanes_of(waves)
        memory, addresses = places(waves, lanes, offset)
        given = [_operand(waves, one, lanes, dtype) for one in order[:operands]]
        before = memory.change(addresses, function or _exchange_if_equal, dtype, waves.stamps(lanes), *given)
        if returns:
            _write_result(waves, to, lanes, before)

    return step


def _exchange(instruction, kind, architecture):
    to, data = instruction.vdst - FIRST_VGPR, instruction.data0 - FIRST_VGPR
    at = instruction.addr - FIRST_VGPR
    offset = instruction.offset0 | instruction.offset1 << 8

    def backward(waves):
        which = (waves.vector[at] + np.uint32(offset) >> np.uint32(2)) % np.uint32(waves.lanes)
        which = which.astype(np.int64)
        values = np.where(waves.active_lanes(), waves.vector[data], np.uint32(0))
        waves.set_vector(to, np.take_along_axis(values, which, axis=1))

    def forward(waves):
        result = np.zeros(waves.shape, np.uint32)
        rows, lanes = _lanes_of(waves)
        which = (waves.vector[at][rows, lanes] + np.uint32(offset) >> np.uint32(2)) % np.uint32(waves.lanes)
        result[rows, which] = waves.vector[data][rows, lanes]
        waves.set_vector(to, result)

    def swizzle(waves):
        lane = np.arange(waves.lanes)
        if offset & 0x8000:
            source = lane & ~3 | offset >> 2 * (lane & 3) & 3
        else:
            source = lane & ~31 | ((lane & 31 & offset & 31) | offset >> 5 & 31) ^ (offset >> 10 & 31)
        values = np.where(waves.active_lanes(), waves.vector[at], np.uint32(0))
        waves.set_vector(to, values[:, source])

    return {"BPERMUTE": backward, "PERMUTE": forward, "SWIZZLE": swizzle}[kind]

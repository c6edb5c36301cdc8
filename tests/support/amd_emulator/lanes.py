"""Vector instructions that know of lanes: what is read of others, by DPP or by instructions of its own; registers by number."""

from __future__ import annotations

import numpy as np

from .instructions import FIRST_VGPR, is_rdna
from .operands import reader, write_scalar, write_vector
from .waves import M0_CDNA, M0_RDNA

# --- lanes exchanged: DPP ---


def _lanes_of(control, lanes):
    """The lane that each one reads, and whether there is one. Raises NotImplementedError."""
    lane = np.arange(lanes)
    row, inside = lane & ~15, lane & 15
    amount = control & 15
    if control < 0x100:
        return lane & ~3 | (control >> 2 * (lane & 3)) & 3, np.ones(lanes, bool)
    if 0x101 <= control <= 0x10F:
        return row | (inside + amount) & 15, inside + amount < 16
    if 0x111 <= control <= 0x11F:
        return row | (inside - amount) & 15, inside >= amount
    if 0x121 <= control <= 0x12F:
        return row | (inside - amount) & 15, np.ones(lanes, bool)
    everywhere = {0x130: (lane + 1, lane + 1 < lanes), 0x138: (lane - 1, lane >= 1)}
    if control in everywhere:
        source, valid = everywhere[control]
        return source % lanes, valid
    if control in (0x134, 0x13C):
        return (lane + (1 if control == 0x134 else -1)) % lanes, np.ones(lanes, bool)
    if control == 0x140:
        return row | 15 - inside, np.ones(lanes, bool)
    if control == 0x141:
        return lane & ~7 | 7 - (lane & 7), np.ones(lanes, bool)
    if control == 0x142:
        return np.maximum(row - 1, 0), row >= 16
    if control == 0x143:
        return np.full(lanes, 31), lane >= 32
    if 0x150 <= control <= 0x15F:
        return row | amount, np.ones(lanes, bool)
    if 0x160 <= control <= 0x16F:
        return row | inside ^ amount, np.ones(lanes, bool)
    raise NotImplementedError(f"lanes exchanged by {control:#x}")


_WITH_INACTIVE = 234  # DPP8 that reads lanes which are not active, too


def with_lanes_exchanged(instruction, step):
    at = instruction.vsrc0 - FIRST_VGPR
    is_bound, is_whole = instruction.get("bc"), instruction.get("fi") or instruction.src0 == _WITH_INACTIVE
    if instruction.variant == "DPP8":
        is_bound = True

    def exchanged(waves):
        lanes = np.arange(waves.lanes)
        if instruction.variant == "DPP8":
            select = np.array([instruction.get(f"lane_sel_{number}") for number in range(8)])
            source, valid = lanes & ~7 | select[lanes & 7], np.ones(waves.lanes, bool)
            writes = valid
        else:
            source, valid = _lanes_of(instruction.dpp, waves.lanes)
            writes = (instruction.row_mask >> (lanes >> 4) % 4 & 1) & (instruction.bank_mask >> (lanes >> 2) % 4 & 1)
            writes = writes.astype(bool)
        active = waves.active_lanes()
        usable = valid & (active[:, source] | bool(is_whole))
        before, own = waves.vector[at].copy(), waves._active
        waves.vector[at] = np.where(usable, before[:, source], 0)
        lanes_written = active & writes & (True if is_bound else usable)
        waves._active = lanes_written
        destination = instruction.fields.get("vdst", 0) - FIRST_VGPR
        step(waves)
        waves._active = own
        if destination == at:
            waves.vector[at] = np.where(lanes_written, waves.vector[at], before)
        else:
            waves.vector[at] = before

    return exchanged


# --- instructions that know of lanes ---


def _first_active(waves):
    """By wave; lane 0 where none is active."""
    return np.argmax(waves.active_lanes(), axis=1)


def _read_first_lane(instruction, architecture):
    read = reader(instruction.src0, np.dtype(np.uint32))
    write = write_scalar(instruction.vdst % FIRST_VGPR, 32)

    def step(waves):
        value = np.broadcast_to(read(waves), waves.shape)
        write(waves, value[np.arange(value.shape[0]), _first_active(waves)][:, None])

    return step


def _read_lane(instruction, architecture):
    read, lane = reader(instruction.src0, np.dtype(np.uint32)), reader(instruction.src1, np.dtype(np.uint32))
    write = write_scalar(instruction.vdst % FIRST_VGPR, 32)

    def step(waves):
        value = np.broadcast_to(read(waves), waves.shape)
        which = np.broadcast_to(lane(waves), (waves.shape[0], 1))[:, 0] % waves.lanes
        write(waves, value[np.arange(value.shape[0]), which][:, None])

    return step


def _write_lane(instruction, architecture):
    literal = instruction.fields.get("literal")
    value, lane = (reader(instruction.fields[name], np.dtype(np.uint32), literal) for name in ("src0", "src1"))
    to = instruction.vdst - FIRST_VGPR

    def step(waves):
        which = np.broadcast_to(lane(waves), (waves.shape[0], 1))[:, 0] % waves.lanes
        waves.vector[to, np.arange(waves.shape[0]), which] = np.broadcast_to(value(waves), (waves.shape[0], 1))[:, 0]

    return step


def _count_below(first):
    def special(instruction, architecture):
        mask, base = reader(instruction.src0, np.dtype(np.uint32)), reader(instruction.src1, np.dtype(np.uint32))
        write = write_vector(instruction.vdst - FIRST_VGPR, np.dtype(np.uint32), "zero")

        def step(waves):
            below = np.clip(np.arange(waves.lanes) - first, 0, 32).astype(np.uint64)
            bits = (np.uint64(1) << below) - np.uint64(1)
            write(waves, np.bitwise_count(mask(waves).astype(np.uint64) & bits).astype(np.uint32) + base(waves))

        return step

    return special


def _m0(architecture):
    return M0_RDNA if is_rdna(architecture) else M0_CDNA


def _move_from_relative(instruction, architecture):
    at, to, base = instruction.src0 - FIRST_VGPR, instruction.vdst - FIRST_VGPR, _m0(architecture)

    def step(waves):
        which = at + waves.scalar[base][:, 0]
        waves.set_vector(to, waves.vector[which, np.arange(waves.shape[0])])

    return step


def _move_to_relative(instruction, architecture):
    read, to, base = reader(instruction.src0, np.dtype(np.uint32)), instruction.vdst - FIRST_VGPR, _m0(architecture)

    def step(waves):
        value, active = np.broadcast_to(read(waves), waves.shape), waves.active_lanes()
        for wave, which in enumerate(to + waves.scalar[base][:, 0]):
            waves.vector[which, wave] = np.where(active[wave], value[wave], waves.vector[which, wave])

    return step


def _permute_rows(crossed):
    def special(instruction, architecture):
        literal = instruction.fields.get("literal")
        value, low, high = (reader(instruction.fields[f"src{n}"], np.dtype(np.uint32), literal) for n in range(3))
        write = write_vector(instruction.vdst - FIRST_VGPR, np.dtype(np.uint32), "zero")

        def step(waves):
            lanes = np.arange(waves.lanes)
            select = low(waves).astype(np.uint64) | high(waves).astype(np.uint64) << np.uint64(32)
            inside = (select >> (np.uint64(4) * (lanes & 15).astype(np.uint64)) & np.uint64(15)).astype(np.int64)
            row = lanes & ~15 ^ (16 if crossed else 0)
            given = np.broadcast_to(value(waves), waves.shape)
            write(waves, np.take_along_axis(given, np.broadcast_to(row | inside, waves.shape), axis=1))

        return step

    return special


def _swap(instruction, architecture):
    one, other = instruction.src0 - FIRST_VGPR, instruction.vdst - FIRST_VGPR

    def step(waves):
        first, second = waves.vector[one].copy(), waves.vector[other].copy()
        waves.set_vector(one, second)
        waves.set_vector(other, first)

    return step


OF_LANES = {
    "V_READFIRSTLANE_B32": _read_first_lane,
    "V_READLANE_B32": _read_lane,
    "V_WRITELANE_B32": _write_lane,
    "V_MBCNT_LO_U32_B32": _count_below(0),
    "V_MBCNT_HI_U32_B32": _count_below(32),
    "V_MOVRELS_B32": _move_from_relative,
    "V_MOVRELD_B32": _move_to_relative,
    "V_PERMLANE16_B32": _permute_rows(False),
    "V_PERMLANEX16_B32": _permute_rows(True),
    "V_SWAP_B32": _swap,
    "V_NOP": lambda instruction, architecture: lambda waves: None,
}

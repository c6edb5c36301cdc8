"""What NVIDIA's instructions for matrices do, by the tables of the PTX ISA, one formula for each register of a fragment.

They are written here as the document has them, and not as the kernels do, so that a mistake in the kernels' own view shows.
Sums are computed in f64, or wrap. Source: PTX ISA 8.1, "Warp Level Matrix Instructions", "Asynchronous Warpgroup Level Matrix
Instructions".
"""

import re

import numpy as np


def places_of_tile(descriptor, lines, terms, size, is_transposed):
    """Where the elements of a matrix are that a descriptor describes, by line, term and byte: runs of 128 bytes, permuted."""
    assert descriptor >> 62 == 1 and not descriptor >> 49 & 7
    start, leading, stride = ((descriptor >> bit & 0x3FFF) << 4 for bit in (0, 16, 32))
    line, term = np.arange(lines)[:, None], np.arange(terms)
    per_chunk = 16 // size
    if is_transposed:  # ((T, 8, m), (8, k)) : ((1, T, leading), (8 T, stride))
        chunk = line // per_chunk
        linear = line % per_chunk * size + chunk % 8 * 16 + chunk // 8 * leading + term % 8 * 128 + term // 8 * stride
    else:  # ((8, m), (T, 2)) : ((8 T, stride), (1, T))
        linear = line % 8 * 128 + line // 8 * stride + term * size
    address = start + linear
    return (address ^ (address >> 7 & 7) << 4)[..., None] + np.arange(size)


def load_matrices(shared, addresses, transposed):
    """The four registers of `ldmatrix`."""
    assert not (addresses % 16).any()
    warps = addresses.reshape(-1, 4, 8)
    rows = shared[warps[..., None] + np.arange(16)].view(np.uint16)  # warp, matrix, row, column
    lane = np.arange(32)
    first, second = lane >> 2, 2 * (lane & 3)
    if transposed:
        low, high = rows[:, :, second, first], rows[:, :, second + 1, first]
    else:
        low, high = rows[:, :, first, second], rows[:, :, first, second + 1]
    values = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(16)
    return [values[:, matrix].reshape(-1) for matrix in range(4)]


def _bf16(bits):
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


# How a register of 32 bits is taken apart, and the values of a part.
PARTS = {
    "f16": (np.uint16, lambda bits: bits.view(np.float16)),
    "bf16": (np.uint16, _bf16),
    "s8": (np.uint8, lambda bits: bits.view(np.int8)),
    "u8": (np.uint8, lambda bits: bits),
    "tf32": (np.uint32, lambda bits: (bits & np.uint32(0xFFFFE000)).view(np.float32)),
}


def _elements(registers, kind):
    """a0, a1, ...: by element, warp and lane."""
    if kind == "f64":
        return np.stack(registers).reshape(len(registers), -1, 32)
    dtype, decode = PARTS[kind]
    raw = np.stack(registers).astype(np.uint32)
    parts = np.ascontiguousarray(raw[..., None]).view(dtype)  # register, thread, part
    values = decode(np.ascontiguousarray(parts))
    return np.moveaxis(values, 2, 1).reshape(-1, raw.shape[1] // 32, 32)


def _places_of_left(shape, kind, i, group, lane):
    """Row and column of element a_i, as the PTX ISA has them."""
    match shape, kind:
        case "m8n8k4", "f64":
            return group, lane
        case "m16n8k8", "tf32" | "f64":
            return (group if i in (0, 2) else group + 8), (lane if i < 2 else lane + 4)
        case "m16n8k16", "f16" | "bf16":
            return (group if i < 2 or 4 <= i < 6 else group + 8), lane * 2 + (i & 1) + (0 if i < 4 else 8)
        case "m16n8k32", "s8" | "u8":
            return (group if i < 4 or 8 <= i < 12 else group + 8), lane * 4 + (i & 3) + (0 if i < 8 else 16)
    raise NotImplementedError(shape, kind)


def _places_of_right(shape, kind, i, group, lane):
    """Row and column of element b_i."""
    match shape, kind:
        case "m8n8k4", "f64":
            return lane, group
        case "m16n8k8", "tf32" | "f64":
            return (lane if i == 0 else lane + 4), group
        case "m16n8k16", "f16" | "bf16":
            return lane * 2 + (i & 1) + (0 if i < 2 else 8), group
        case "m16n8k32", "s8" | "u8":
            return lane * 4 + (i & 3) + (0 if i < 4 else 16), group
    raise NotImplementedError(shape, kind)


def multiply(name, arguments):
    """The sums after `mma.sync`; registers are arrays by thread."""
    shape, _, _, sum_kind, left_kind, right_kind, _ = name.split(".")
    rows, columns, terms = map(int, re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape).groups())
    sums = rows // 4
    of_right = max(1, len(arguments[:-sums]) // 3) if rows == 16 else 1
    left = _elements(arguments[: len(arguments) - sums - of_right], left_kind)
    right = _elements(arguments[len(arguments) - sums - of_right : len(arguments) - sums], right_kind)
    group, lane = np.arange(32) >> 2, np.arange(32) & 3
    warps = left.shape[1]
    wide = np.int64 if sum_kind == "s32" else np.float64
    a, b, c = (np.zeros((warps, *size), wide) for size in ((rows, terms), (terms, columns), (rows, columns)))
    for i, value in enumerate(left):
        a[:, *_places_of_left(shape, left_kind, i, group, lane)] = value
    for i, value in enumerate(right):
        b[:, *_places_of_right(shape, right_kind, i, group, lane)] = value
    for i, value in enumerate(arguments[-sums:]):
        value = value.astype(np.uint32).view(np.int32) if sum_kind == "s32" else value
        c[:, group + 8 * (i // 2), 2 * lane + i % 2] = value.reshape(-1, 32)
    total = a @ b + c
    results = []
    for i in range(sums):
        value = total[:, group + 8 * (i // 2), 2 * lane + i % 2].reshape(-1)
        if sum_kind == "s32":
            results.append(value.astype(np.uint64) & np.uint64(0xFFFFFFFF))
        else:
            results.append(value.astype(np.float32 if sum_kind == "f32" else np.float64))
    return results

"""PTX within LLVM's IR, for all threads of a block: copies that are asked for, and matrices that warps multiply together.

The block is that of `warp_interpreter`. What single instructions for matrices do is in `warp_matrices`.
"""

import re

import numpy as np
import warp_matrices
from llvmlite import ir
from warp_values import signed, wrapped


def run(block, text, arguments):
    """What the instructions of this text do to a block of the interpreter's, and what they leave in registers."""
    if "wgmma.mma_async" in text:
        return _multiply_together(block, text, arguments)
    if text.startswith("wgmma.wait_group"):
        keep = int(re.search(r" (\d+);", text)[1])
        while len(block.products) > keep:
            for places, data in block.products.pop(0):
                assert (block.shared[places] == data).all(), "written over while it is read"
        return arguments
    if text.startswith("fence.proxy.async"):
        return None
    if text.startswith("cp.async.c") and "commit" not in text:
        size = int(re.search(r"\[\$1\], (\d+)", text)[1])
        _copy(block, arguments, size)
        return None
    if "commit_group" in text:
        block.groups.append(block.asked)
        block.asked = []
        return None
    if "wait_group" in text:
        keep = int(re.search(r"wait_group (\d+)", text)[1])
        while len(block.groups) > keep:
            for places, data in block.groups.pop(0):
                block.shared[places] = data
        return None
    if text.startswith("ldmatrix"):
        offset = int(re.search(r"\+(\d+)\]", text)[1])
        return warp_matrices.load_matrices(block.shared, arguments[0].astype(np.int64) + offset, ".trans" in text)
    if text.startswith("ld.shared"):
        offset, size = int(re.search(r"\+(\d+)\]", text)[1]), int(re.search(r"\.b(\d+)", text)[1]) // 8
        places = arguments[0].astype(np.int64)[:, None] + offset + np.arange(size)
        raw = block.shared[places]
        return raw.view(np.float64)[:, 0] if size == 8 else raw.view(np.uint32)[:, 0].astype(np.uint64)
    if text.startswith("st.shared.v4"):
        raw = np.stack(arguments[1:], axis=1).astype(np.uint32).view(np.uint8)
        block.shared[arguments[0].astype(np.int64)[:, None] + np.arange(16)] = raw
        return None
    if text.startswith("cvt.rna.tf32"):
        return (arguments[0] + np.uint64(0x1000)) & np.uint64(0xFFFFE000)
    if text.startswith("mma.sync.aligned."):
        return warp_matrices.multiply(text.split()[0].removeprefix("mma.sync.aligned."), arguments)
    raise NotImplementedError(text)


def _multiply_together(block, text, arguments):
    *sums, left, right = arguments
    count = len(sums)
    pattern = r"wgmma.mma_async.sync.aligned.m64n(\d+)k(\d+).(\w+).(\w+).(\w+) {[^}]*}, left, right, added([^;]*);"
    steps = re.findall(pattern, text)
    offsets = [
        [int(one) for one in re.findall(rf"add.s64 {side}, \${2 * count + k}, (\d+);", text)]
        for k, side in enumerate(("left", "right"))
    ]
    read, groups = [], []
    for group in range(block.threads // 128):
        thread = 128 * group
        n = int(steps[0][0])
        total = np.zeros((64, n))
        lane, warp = np.arange(32), np.arange(4)[:, None]
        rows, columns = 16 * warp + lane // 4, 2 * (lane % 4)
        own = [one[thread : thread + 128] for one in sums]
        for number, value in enumerate(own):
            value = signed(value, 32) if steps[0][2] == "s32" else value
            total[rows + 8 * (number // 2 % 2), columns + 8 * (number // 4) + number % 2] = value.reshape(4, 32)
        for number, (_, k, _, *kinds, rest) in enumerate(steps):
            flags = [int(one) for one in rest.split(",")[3:]] or [0, 0]
            factors = []
            for side, (kind, descriptor, lines) in enumerate(zip(kinds, (left, right), (64, n))):
                place = int(descriptor[thread]) + offsets[side][number]
                places = warp_matrices.places_of_tile(
                    place, lines, int(k), np.dtype(warp_matrices.PARTS[kind][0]).itemsize, flags[side]
                )
                read.append((places, block.shared[places]))
                raw = np.ascontiguousarray(block.shared[places]).view(warp_matrices.PARTS[kind][0])
                factors.append(warp_matrices.PARTS[kind][1](raw)[..., 0].astype(np.float64))
            total += factors[0] @ factors[1].T
        values = [total[rows + 8 * (one // 2 % 2), columns + 8 * (one // 4) + one % 2].reshape(-1) for one in range(count)]
        groups.append(values)
    block.products.append(read)
    results = [np.concatenate([values[one] for values in groups]) for one in range(count)]
    if steps[0][2] == "s32":
        return [wrapped(one.astype(np.int64).astype(np.uint64), ir.IntType(32)) for one in results]
    return [one.astype(np.float32) for one in results]


def _copy(block, arguments, size):
    target, source, read = (one.astype(np.int64) for one in arguments)
    assert not (target % size).any() and (read <= size).all() and (read >= 0).all()
    assert not (source[read > 0] % size).any(), "not aligned"
    data = np.zeros((block.threads, size), np.uint8)
    columns = np.arange(size)
    inside = columns < read[:, None]
    places = np.where(inside, source[:, None] + columns, 4096)
    assert places.min() >= 4096 and places.max() < block.memory.bytes.size, "outside of the memory"
    data[inside] = block.memory.bytes[places][inside]
    places = target[:, None] + columns
    assert places.max() < block.shared.size
    block.shared[places] = 0xA5
    block.asked.append((places, data))

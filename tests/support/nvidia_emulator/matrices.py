"""Instructions by which warps, and groups of four warps, multiply matrices; what single ones do is in `warp_matrices`."""

from __future__ import annotations

import re

import numpy as np
import warp_matrices

from .memory import MisalignedAddressError


def load_matrices(is_transposed, offset):
    """ldmatrix: each thread has the address of a line of 16 bytes, of one of four matrices."""

    def run(running, base):
        shared = running.memories["shared"]
        addresses = np.broadcast_to(base + np.uint64(offset), running.count)
        places = shared.places(addresses, 16, running)
        running.require_whole_warps()
        warps = running.stamps.reshape(-1, 32)
        # Every thread of the warp may be given what the line of another one holds.
        for lane in range(0, 32):
            shared.note_read(places.reshape(-1, 32)[:, lane], 16, warps[:, lane])
        values = warp_matrices.load_matrices(shared.views[1], places, is_transposed)
        return [one.astype(np.uint32) for one in values]

    return run


def multiply_matrices(name):
    kinds = name.split(".")[3:7]

    def run(running, *values):
        running.require_whole_warps()
        registers = [one if one.size == running.count else np.broadcast_to(one, running.count).copy() for one in values]
        found = warp_matrices.multiply(name, registers)
        return [one.astype(np.uint32) if kinds[0] == "s32" else one for one in found]

    return run


def multiply_together(name, flags):
    """wgmma: four warps multiply matrices in the memory of the block, which they read until one waits for it."""
    shape, kind, left_kind, right_kind = name.split(".")
    n, terms = map(int, re.fullmatch(r"m64n(\d+)k(\d+)", shape).groups())
    turned = flags[2:4] or [0, 0]
    scales = flags[:2]
    if scales not in ([1, 1], []):
        raise NotImplementedError(f"wgmma with factors {scales}")

    def run(running, *values):
        *sums, left, right, is_added = values
        shared = running.memories["shared"]
        lane, warp = np.arange(32), np.arange(4)[:, None]
        rows, columns = 16 * warp + lane // 4, 2 * (lane % 4)
        left, right, is_added = (np.broadcast_to(one, running.count) for one in (left, right, is_added))
        results = [np.zeros(running.count, np.uint32 if kind == "s32" else np.float32) for _ in sums]
        for group in range(running.count // 128):
            first = 128 * group
            whole = slice(first, first + 128)
            for one in (left, right):
                if (one[whole] != one[first]).any():
                    raise MisalignedAddressError("threads of a group of warps give different matrices")
            total = np.zeros((64, n), np.int64 if kind == "s32" else np.float64)
            places = [(rows + 8 * (number // 2 % 2), columns + 8 * (number // 4) + number % 2) for number in range(len(sums))]
            for at, value in zip(places, sums):
                own = np.broadcast_to(value, running.count)[whole]
                total[at] = (own.view(np.int32) if kind == "s32" else own).reshape(4, 32)
            total *= bool(is_added[first])
            factors = []
            for operand, lines, part, turn in ((left, 64, left_kind, turned[0]), (right, n, right_kind, turned[1])):
                dtype, values_of = warp_matrices.PARTS[part]
                at = warp_matrices.places_of_tile(int(operand[first]), lines, terms, np.dtype(dtype).itemsize, turn)
                at = at + int(running.blocks[first]) * shared.size
                data = shared.views[1][at]
                running.note_product(first, at)
                factors.append(values_of(np.ascontiguousarray(data).view(dtype))[..., 0].astype(total.dtype))
            total += factors[0] @ factors[1].T
            for result, at in zip(results, places):
                result[whole] = (
                    total[at].reshape(-1).astype(np.int32).view(np.uint32) if kind == "s32" else total[at].reshape(-1)
                )
        return results

    return run

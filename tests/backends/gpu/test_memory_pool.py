"""Blocks of a device's memory, cut from the driver's segments and given again."""

import gc
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox.backends.gpu.errors import DeviceOutOfMemoryError
from phlox.backends.gpu.memory_pool import LARGE_SEGMENT, SEGMENT, SMALL, MemoryPool


class Segments:
    """A device that has addresses only, up to a limit in bytes."""

    def __init__(self, limit=1 << 40):
        self.limit, self.segments, self.next = limit, {}, 1 << 20

    def allocate(self, size):
        if sum(self.segments.values()) + size > self.limit:
            raise DeviceOutOfMemoryError(f"{size} bytes asked for")
        address, self.next = self.next, self.next + size + (1 << 20)
        self.segments[address] = size
        return address

    def free(self, address):
        del self.segments[address]


SIZES = st.one_of(st.integers(0, 3000), st.integers(SMALL - 300, SMALL + 300), st.integers(0, 3 * LARGE_SEGMENT))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.booleans(), SIZES, st.integers(0, 100)), max_size=60), st.sampled_from([1 << 40, 1 << 27]))
def test_blocks_in_use_are_apart_and_inside_of_segments(steps, limit):
    device = Segments(limit)
    pool, blocks = MemoryPool(device), []
    for takes, size, which in steps:
        if takes:
            try:
                blocks.append(pool.allocate(size))
            except DeviceOutOfMemoryError:
                # Nothing is kept that would have done.
                assert all(pool.statistics()[name] <= limit for name in ("bytes_in_use", "bytes_reserved"))
                assert pool.release() == 0
        elif blocks:
            blocks.pop(which % len(blocks))
        spans = sorted((block.address, block.address + block.size) for block in blocks)
        assert all(end <= begin for (_, end), (begin, _) in zip(spans, spans[1:]))
        segments = [(begin, begin + size) for begin, size in device.segments.items()]
        for begin, end in spans:
            assert begin % 256 == 0 and any(first <= begin and end <= last for first, last in segments)
        statistics = pool.statistics()
        assert statistics["bytes_in_use"] == sum(max(-(-block.size // 256), 1) * 256 for block in blocks)
        assert statistics["bytes_reserved"] == sum(device.segments.values()) >= statistics["bytes_in_use"]
        assert statistics["blocks_in_use"] == len(blocks)
    blocks.clear()
    pool.release()
    # What is free became one with its neighbours: whole segments are left, and all went back.
    assert not device.segments and pool.statistics()["bytes_reserved"] == 0


def test_what_is_given_back_is_given_again():
    device = Segments()
    pool = MemoryPool(device)
    first = pool.allocate(5000)
    address = first.address
    del first
    again = pool.allocate(5000)
    assert again.address == address and len(device.segments) == 1
    statistics = pool.statistics()
    assert statistics["allocations"] == 2 and statistics["peak_bytes_in_use"] == 5120


def test_a_small_block_takes_the_smallest_gap():
    pool = MemoryPool(Segments())
    blocks = [pool.allocate(size) for size in (4096, 256, 1024, 256, 2048, 256)]
    gap = blocks[2].address
    del blocks[4], blocks[2], blocks[0]
    assert pool.allocate(1000).address == gap


def test_small_blocks_do_not_hold_large_segments():
    device = Segments()
    pool = MemoryPool(device)
    large = pool.allocate(LARGE_SEGMENT)
    small = pool.allocate(100)
    del large
    assert pool.release() == LARGE_SEGMENT
    assert sum(device.segments.values()) == SEGMENT and small.size == 100


def test_what_is_free_goes_back_before_memory_is_out():
    device = Segments(4 * LARGE_SEGMENT)
    pool = MemoryPool(device)
    pieces = [pool.allocate(LARGE_SEGMENT) for _ in range(4)]
    with pytest.raises(
        DeviceOutOfMemoryError, match="134,217,728 bytes in 4 blocks, 0 more are between them, .* 33,554,432 bytes"
    ):
        pool.allocate(LARGE_SEGMENT)
    pieces.clear()
    assert pool.allocate(4 * LARGE_SEGMENT).size == 4 * LARGE_SEGMENT


def test_finalizers_run_in_the_middle_of_an_allocation():
    """As those of objects in circles do, whenever the collector runs."""

    class Holder:
        pass

    device = Segments()
    pool = MemoryPool(device)
    ask = device.allocate

    def allocate(size):
        gc.collect()
        return ask(size)

    device.allocate = allocate
    for _ in range(20):
        for size in (100, SMALL, SMALL + 1, LARGE_SEGMENT):
            holder = Holder()
            holder.itself, holder.block = holder, pool.allocate(size)
    del holder
    gc.collect()
    assert pool.statistics()["bytes_in_use"] == 0
    pool.release()
    assert not device.segments


def test_threads_take_and_give_back():
    device = Segments()
    pool = MemoryPool(device)

    def work(seed):
        generator, blocks = np.random.default_rng(seed), []
        for size in generator.integers(0, 3 * SMALL, 300).tolist():
            blocks.append(pool.allocate(size))
            if len(blocks) > 10:
                blocks.pop(int(generator.integers(0, 10)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pool.statistics()["bytes_in_use"] == 0 and pool.statistics()["allocations"] == 1200
    pool.release()
    assert not device.segments

"""Places in the arena: buffers that live at the same time never overlap, and little is wasted."""

import random

import pytest
from phlox.compile.arena_packing import Buffer, pack

ALIGNMENT = 64


def random_buffers(count, sizes, longest, seed):
    generator = random.Random(seed)
    buffers = []
    for _ in range(count):
        start = generator.randrange(count)
        life = generator.randrange(longest)
        buffers.append(Buffer("temporary", generator.choice(sizes), start=start, end=start + life))
    return buffers


def most_alive_bytes(buffers):
    """The bytes that live at one time, at most."""
    changes = {}
    for buffer in buffers:
        size = -(-buffer.size // ALIGNMENT) * ALIGNMENT
        changes[buffer.start] = changes.get(buffer.start, 0) + size
        changes[buffer.end + 1] = changes.get(buffer.end + 1, 0) - size
    alive, most = 0, 0
    for time in sorted(changes):
        alive += changes[time]
        most = max(most, alive)
    return most


@pytest.mark.parametrize("count", [0, 1, 2, 50, 500, 600, 2000])
@pytest.mark.parametrize("sizes", [(8,), (8, 64, 65, 4096), (0, 100, 1 << 20)], ids=str)
@pytest.mark.parametrize("longest", [1, 5, 100])
def test_buffers_that_live_together_lie_apart_and_close(count, sizes, longest):
    buffers = random_buffers(count, sizes, longest, seed=count + longest)
    size = pack(buffers, ALIGNMENT)
    alive = []
    for buffer in sorted(buffers, key=lambda b: b.start):
        assert buffer.offset >= 0 and buffer.offset % ALIGNMENT == 0 and buffer.offset + buffer.size <= size
        alive = [other for other in alive if other.end >= buffer.start]
        for other in alive:
            assert (
                buffer.offset + buffer.size <= other.offset
                or other.offset + other.size <= buffer.offset
                or not buffer.size
                or not other.size
            )
        alive.append(buffer)
    assert size <= 1.5 * most_alive_bytes(buffers)

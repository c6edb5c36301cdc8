"""The table of what kernels use: occupancies that NVIDIA's documents say, and the row of a kernel that is known."""

import pytest
from kernel_table import DEVICES, as_text, rows_of


# CUDA C++ Best Practices Guide, "Calculating Occupancy"; a device of capability 7.0 has as many registers and threads.
@pytest.mark.parametrize("threads, registers, share", [(128, 37, 0.75), (320, 37, 0.625), (256, 32, 1.0)])
def test_occupancy(threads, registers, share):
    found, limit = DEVICES["sm_80"].multiprocessor.occupancy(threads, registers, 0)
    assert found == share and limit == ("" if share == 1 else "registers")


def test_shared_memory_limits_the_blocks():
    """Two blocks of 8 warps in 228 KB, of 64 warps in all."""
    assert DEVICES["sm_90a"].multiprocessor.occupancy(256, 32, 100 << 10) == (0.25, "shared")


def test_row_of_a_kernel():
    (row,) = rows_of("softmax", "gfx942")
    size = 4096 * 4096
    assert row.cost.bytes == pytest.approx(2 * 4 * size, rel=1e-6) and row.cost.flops >= 4 * size
    assert row.resources.registers > 8 and not row.resources.spill_bytes
    # Vectors of 4 elements, of which a thread of a wavefront has as many.
    assert row.resources.instructions > 100 and row.resources.loads == size / 4 / (row.launch.grid[0] * row.launch.block[0])
    seconds, bound = DEVICES["gfx942"].least_seconds(row.cost, is_f64=False)
    assert bound == "memory" and seconds == pytest.approx(8 * size / 5.3e12)
    assert as_text([row], DEVICES["gfx942"]).splitlines()[1].split()[:2] == ["softmax", row.launch.kernel]

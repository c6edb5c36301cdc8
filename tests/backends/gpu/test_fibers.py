"""The family of fibers finds what it is there to find: barriers that are missing, and code that is wrong."""

import numpy as np
import phlox
import pytest
from gpu_backends import backend_or_skip
from phlox.gpu import DeviceCodeError, DeviceOutOfMemoryError, kernel

THREADS = 64


def neighbours(towards, barrier):
    """Each thread takes what its neighbour has put into the block's memory, that before it or behind it."""
    return kernel(
        "take",
        result=lambda x: x,
        grid=1,
        block=THREADS,
        shared_bytes=4 * THREADS,
        llvm=f"""
declare i32 @phlox.thread.x()
declare ptr @phlox.shared()
declare void @phlox.barrier()
define void @take(ptr %x, ptr %y) {{
  %own = call i32 @phlox.thread.x()
  %shared = call ptr @phlox.shared()
  %from = getelementptr float, ptr %x, i32 %own
  %value = load float, ptr %from
  call void @phlox.barrier()
  %put = getelementptr float, ptr %shared, i32 %own
  store float %value, ptr %put
  {barrier}
  %moved = add i32 %own, {towards}
  %other = and i32 %moved, {THREADS - 1}
  %take = getelementptr float, ptr %shared, i32 %other
  %taken = load float, ptr %take
  %to = getelementptr float, ptr %y, i32 %own
  store float %taken, ptr %to
  ret void
}}""",
    )


@pytest.mark.parametrize("towards", [-1, 1])
def test_missing_barriers_show(towards):
    """Threads run in both orders, so that what lies before, and behind, is not there yet."""
    backend_or_skip("fibers")
    x = np.random.default_rng(3).random(THREADS, np.float32)
    expected = np.roll(x, -towards)
    whole, torn = (neighbours(towards, barrier) for barrier in ("call void @phlox.barrier()", ""))
    np.testing.assert_array_equal(phlox.jit(lambda x: whole(x), backend="fibers")(x), expected)
    assert np.any(phlox.jit(lambda x: torn(x), backend="fibers")(x) != expected)


def test_what_it_refuses():
    backend = backend_or_skip("fibers")
    with pytest.raises(DeviceOutOfMemoryError, match="fibers cannot give 2,147,483,648 bytes: of 1,073,741,824 are"):
        backend.device.allocate(2 << 30)
    wide = kernel("f", result=lambda x: x, grid=1, block=1024, llvm="define void @f(ptr %x, ptr %y) {\n  ret void\n}")
    with pytest.raises(DeviceCodeError, match="blocks of 1,024 threads; fibers has at most 256"):
        phlox.jit(lambda x: wide(x), backend="fibers")(np.ones(3))

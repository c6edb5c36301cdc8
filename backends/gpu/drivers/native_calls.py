"""How native code asks a driver: LLVM functions over a table of words, for the two interfaces that there are.

``@launch(device, kernel, sizes, shared, together, count, values, pointers)`` runs a kernel whose ``count`` arguments are
``values``, and ``pointers`` to them, so many ``together`` for each parameter; ``sizes`` are those of the grid and of a block.
``@copy(device, target, source, size)``, ``@fill(device, address, byte, size)``, ``@write(device, address, host address,
size)``, which does not wait for the copy, ``@read(device, host address, address, size)``, which does, and ``@flush(device)``.
``@enter(device, before)`` makes the device that of the thread, and stores what was so ``before``, which ``@leave(device,
before)`` makes so again. Each returns the status of the driver, 0 where all went well. ``device`` is the table: handles, and
addresses of the driver's functions. `READERS` stand before them: ``@word(table, number)`` reads a pointer, ``@element(array,
number)`` an i64, ``@size`` as an i32.
"""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from .own_thread import Asked


@dataclass(frozen=True)
class NativeCalls:
    """What native code is given of a device: LLVM functions, the table, and what is held while it runs, if anything.

    By another table, if there is one, the thread does itself what is ``asked`` for, if all is done that was before, and by a
    third one what has to do with nothing else that is asked of the device.
    """

    functions: str
    table: tuple[int, ...]
    lock: AbstractContextManager[Any] | None
    asked: Asked | None = None
    by_own_thread: tuple[int, ...] | None = None
    of_entries: tuple[int, ...] | None = None


def address_of_function(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address
    return address


READERS = """
define internal ptr @word(ptr %device, i64 %number) alwaysinline {
  %place = getelementptr ptr, ptr %device, i64 %number
  %word = load ptr, ptr %place
  ret ptr %word
}
define internal i64 @element(ptr %array, i64 %number) alwaysinline {
  %place = getelementptr i64, ptr %array, i64 %number
  %element = load i64, ptr %place
  ret i64 %element
}
define internal i32 @size(ptr %sizes, i64 %number) alwaysinline {
  %wide = call i64 @element(ptr %sizes, i64 %number)
  %size = trunc i64 %wide to i32
  ret i32 %size
}
"""

# The table: the stream; cuLaunchKernel, cuMemcpyDtoDAsync, cuMemsetD8Async, cuMemcpyDtoHAsync, cuStreamSynchronize,
# cuMemcpyHtoDAsync, cuCtxGetCurrent, cuCtxSetCurrent, or HIP's; the context, or the device's number.
STREAM_FUNCTIONS = """
define internal i32 @launch(ptr %device, ptr %kernel, ptr %sizes, i64 %shared, i64 %together, i64 %count, ptr %values,
                            ptr %pointers) {
  %stream = call ptr @word(ptr %device, i64 0)
  %function = call ptr @word(ptr %device, i64 1)
  %gx = call i32 @size(ptr %sizes, i64 0)
  %gy = call i32 @size(ptr %sizes, i64 1)
  %gz = call i32 @size(ptr %sizes, i64 2)
  %bx = call i32 @size(ptr %sizes, i64 3)
  %by = call i32 @size(ptr %sizes, i64 4)
  %bz = call i32 @size(ptr %sizes, i64 5)
  %bytes = trunc i64 %shared to i32
  %status = call i32 %function(ptr %kernel, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %bytes, ptr %stream,
                               ptr %pointers, ptr null)
  ret i32 %status
}
define internal i32 @copy(ptr %device, i64 %target, i64 %source, i64 %size) {
  %stream = call ptr @word(ptr %device, i64 0)
  %function = call ptr @word(ptr %device, i64 2)
  %status = call i32 %function(i64 %target, i64 %source, i64 %size, ptr %stream)
  ret i32 %status
}
define internal i32 @fill(ptr %device, i64 %address, i64 %byte, i64 %size) {
  %stream = call ptr @word(ptr %device, i64 0)
  %function = call ptr @word(ptr %device, i64 3)
  %narrow = trunc i64 %byte to i8
  %status = call i32 %function(i64 %address, i8 zeroext %narrow, i64 %size, ptr %stream)
  ret i32 %status
}
define internal i32 @write(ptr %device, i64 %address, ptr %source, i64 %size) {
  %stream = call ptr @word(ptr %device, i64 0)
  %function = call ptr @word(ptr %device, i64 6)
  %status = call i32 %function(i64 %address, ptr %source, i64 %size, ptr %stream)
  ret i32 %status
}
define internal i32 @enter(ptr %device, ptr %before) {
  store i64 0, ptr %before
  %current = call ptr @word(ptr %device, i64 7)
  %asked = call i32 %current(ptr %before)
  %own = call i64 @element(ptr %device, i64 9)
  %is = load i64, ptr %before
  %entered = icmp eq i64 %is, %own
  br i1 %entered, label %there, label %enter
enter:
  %function = call ptr @word(ptr %device, i64 8)
  %status = call i32 %function(i64 %own)
  ret i32 %status
there:
  ret i32 %asked
}
define internal i32 @leave(ptr %device, ptr %before) {
  %own = call i64 @element(ptr %device, i64 9)
  %was = load i64, ptr %before
  %stays = icmp eq i64 %was, %own
  br i1 %stays, label %there, label %leave
leave:
  %function = call ptr @word(ptr %device, i64 8)
  %status = call i32 %function(i64 %was)
  ret i32 %status
there:
  ret i32 0
}
define internal i32 @read(ptr %device, ptr %target, i64 %address, i64 %size) {
  %stream = call ptr @word(ptr %device, i64 0)
  %function = call ptr @word(ptr %device, i64 4)
  %status = call i32 %function(ptr %target, i64 %address, i64 %size, ptr %stream)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %end, label %wait
wait:
  %synchronize = call ptr @word(ptr %device, i64 5)
  %waited = call i32 %synchronize(ptr %stream)
  ret i32 %waited
end:
  ret i32 %status
}
define internal i32 @flush(ptr %device) {
  ret i32 0
}
"""

# Queues of threads that run the blocks of a launch together, each some of them, in so many parts for each thread.
MOST_TOGETHER, _PARTS_OF_THREAD = 32, 8
# Of a block, about: what is divided takes twice as long at least.
_NANOSECONDS_OF_BLOCK = 8_000

# The table: the queue; the function that sets a pointer as an argument, clSetKernelArg, clEnqueueNDRangeKernel, those that copy
# and fill memory with addresses, clFlush; 0 for the last three where the thread itself copies and fills. Then, where threads of
# this process run blocks of one thread together: `thread_pool.RUN_PIECES`, the place of the number of threads, and the queues.
_OPENCL_FUNCTIONS = """
define internal i32 @launch(ptr %device, ptr %kernel, ptr %sizes, i64 %shared, i64 %together, i64 %count, ptr %values,
                            ptr %pointers) {
entry:
  %global = alloca [3 x i64]
  %queue = call ptr @word(ptr %device, i64 0)
  %set_pointer = call ptr @word(ptr %device, i64 1)
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %set ]
  %parameter = phi i32 [ 0, %entry ], [ %following_parameter, %set ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %argument, label %local
argument:
  %following = add i64 %number, %together
  %following_parameter = add i32 %parameter, 1
  %is_vector = icmp ugt i64 %together, 1
  br i1 %is_vector, label %vector, label %pointer
vector:
  %vector_at = getelementptr i64, ptr %values, i64 %number
  %vector_bytes = shl i64 %together, 3
  %set_vector = call ptr @word(ptr %device, i64 2)
  %vector_was_set = call i32 %set_vector(ptr %kernel, i32 %parameter, i64 %vector_bytes, ptr %vector_at)
  br label %given
pointer:
  %value = call i64 @element(ptr %values, i64 %number)
  %pointer_was_set = call i32 %set_pointer(ptr %kernel, i32 %parameter, i64 %value)
  br label %given
given:
  %was_set = phi i32 [ %vector_was_set, %vector ], [ %pointer_was_set, %pointer ]
  %not_set = icmp ne i32 %was_set, 0
  br i1 %not_set, label %failed, label %set
set:
  br label %next
failed:
  ret i32 %was_set
local:
  %has_shared = icmp ne i64 %shared, 0
  br i1 %has_shared, label %set_local, label %run
set_local:
  %set_argument = call ptr @word(ptr %device, i64 2)
  %local_set = call i32 %set_argument(ptr %kernel, i32 %parameter, i64 %shared, ptr null)
  %local_failed = icmp ne i32 %local_set, 0
  br i1 %local_failed, label %refused, label %run
refused:
  ret i32 %local_set
run:
  %enqueue = call ptr @word(ptr %device, i64 3)
  %block = getelementptr i64, ptr %sizes, i64 3
  br label %dimension
dimension:
  %d = phi i64 [ 0, %run ], [ %d_next, %dimension ]
  %blocks = call i64 @element(ptr %sizes, i64 %d)
  %threads = call i64 @element(ptr %block, i64 %d)
  %all = mul i64 %blocks, %threads
  %place = getelementptr i64, ptr %global, i64 %d
  store i64 %all, ptr %place
  %d_next = add i64 %d, 1
  %d_more = icmp ult i64 %d_next, 3
  br i1 %d_more, label %dimension, label %launch
launch:
  %blocks_at_all = load i64, ptr %global
  %is_divided = icmp ugt i64 %blocks_at_all, 1
  %run_pieces = call ptr @word(ptr %device, i64 7)
  %has_threads = icmp ne ptr %run_pieces, null
  %may_be_together = and i1 %is_divided, %has_threads
  br i1 %may_be_together, label %count_threads, label %alone
count_threads:
  %limit_at = call ptr @word(ptr %device, i64 8)
  %limit = load atomic i64, ptr %limit_at monotonic, align 8
  %are_several = icmp sgt i64 %limit, 1
  br i1 %are_several, label %by_several, label %alone
by_several:
  %status_together = call i32 @launch_together(ptr %device, ptr %kernel, i64 %blocks_at_all, i64 %limit, ptr %run_pieces)
  ret i32 %status_together
alone:
  %status = call i32 %enqueue(ptr %queue, ptr %kernel, i32 3, ptr null, ptr %global, ptr %block, i32 0, ptr null, ptr null)
  ret i32 %status
}
declare i64 @llvm.umin.i64(i64, i64)
define internal i32 @launch_together(ptr %device, ptr %kernel, i64 %blocks, i64 %threads, ptr %run_pieces) noinline {
  %context = alloca [5 x i64]
  %pairs = lshr i64 %blocks, 1
  %pairs_or_single = add i64 %pairs, 1
  %wanted = mul i64 %threads, PARTS_OF_THREAD
  %no_more = call i64 @llvm.umin.i64(i64 %pairs_or_single, i64 %wanted)
  %parts = call i64 @llvm.umin.i64(i64 %no_more, i64 MOST_TOGETHER)
  %kernel_at = getelementptr i64, ptr %context, i64 1
  %blocks_at = getelementptr i64, ptr %context, i64 2
  %parts_at = getelementptr i64, ptr %context, i64 3
  %failure_at = getelementptr i64, ptr %context, i64 4
  store ptr %device, ptr %context
  store ptr %kernel, ptr %kernel_at
  store i64 %blocks, ptr %blocks_at
  store i64 %parts, ptr %parts_at
  store i64 0, ptr %failure_at
  %work = mul i64 %blocks, NANOSECONDS_OF_BLOCK
  %run = call i32 %run_pieces(ptr @launch_part, ptr %context, i64 %parts, i64 %work, i64 0, ptr null, i64 0)
  %failure = load atomic i64, ptr %failure_at monotonic, align 8
  %status = trunc i64 %failure to i32
  ret i32 %status
}
; Statuses of workers are the context's alone.
define internal i32 @launch_part(ptr %context, i64 %number, ptr %scratch) {
  %offset = alloca [3 x i64]
  %global = alloca [3 x i64]
  %local = alloca [3 x i64]
  %device = load ptr, ptr %context
  %kernel = call ptr @word(ptr %context, i64 1)
  %blocks = call i64 @element(ptr %context, i64 2)
  %parts = call i64 @element(ptr %context, i64 3)
  %following = add i64 %number, 1
  %product_before = mul i64 %blocks, %number
  %product = mul i64 %blocks, %following
  %begin = udiv i64 %product_before, %parts
  %end = udiv i64 %product, %parts
  %count = sub i64 %end, %begin
  store [3 x i64] zeroinitializer, ptr %offset
  store i64 %begin, ptr %offset
  store [3 x i64] [i64 1, i64 1, i64 1], ptr %global
  store i64 %count, ptr %global
  store [3 x i64] [i64 1, i64 1, i64 1], ptr %local
  %queue_number = add i64 %number, 9
  %queue = call ptr @word(ptr %device, i64 %queue_number)
  %enqueue = call ptr @word(ptr %device, i64 3)
  %status = call i32 %enqueue(ptr %queue, ptr %kernel, i32 3, ptr %offset, ptr %global, ptr %local, i32 0, ptr null, ptr null)
  %is_fine = icmp eq i32 %status, 0
  br i1 %is_fine, label %done, label %failed
failed:
  %failure_at = getelementptr i64, ptr %context, i64 4
  %failure = sext i32 %status to i64
  store atomic i64 %failure, ptr %failure_at monotonic, align 8
  br label %done
done:
  ret i32 %status
}
define internal i32 @transfer(ptr %device, i32 %waits, i64 %target, i64 %source, i64 %size) {
  %queue = call ptr @word(ptr %device, i64 0)
  %function = call ptr @word(ptr %device, i64 4)
  %is_own = icmp eq ptr %function, null
  br i1 %is_own, label %own, label %ask
ask:
  %status = call i32 %function(ptr %queue, i32 %waits, i64 %target, i64 %source, i64 %size, i32 0, ptr null, ptr null)
  ret i32 %status
own:
  %to = inttoptr i64 %target to ptr
  %from = inttoptr i64 %source to ptr
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  ret i32 0
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal i32 @copy(ptr %device, i64 %target, i64 %source, i64 %size) {
  %status = call i32 @transfer(ptr %device, i32 0, i64 %target, i64 %source, i64 %size)
  ret i32 %status
}
define internal i32 @fill(ptr %device, i64 %address, i64 %byte, i64 %size) {
  %pattern = alloca i8
  %narrow = trunc i64 %byte to i8
  %queue = call ptr @word(ptr %device, i64 0)
  %function = call ptr @word(ptr %device, i64 5)
  %is_own = icmp eq ptr %function, null
  br i1 %is_own, label %own, label %ask
ask:
  store i8 %narrow, ptr %pattern
  %status = call i32 %function(ptr %queue, i64 %address, ptr %pattern, i64 1, i64 %size, i32 0, ptr null, ptr null)
  ret i32 %status
own:
  %to = inttoptr i64 %address to ptr
  call void @llvm.memset.p0.i64(ptr %to, i8 %narrow, i64 %size, i1 false)
  ret i32 0
}
define internal i32 @write(ptr %device, i64 %address, ptr %source, i64 %size) {
  %from = ptrtoint ptr %source to i64
  %status = call i32 @transfer(ptr %device, i32 0, i64 %address, i64 %from, i64 %size)
  ret i32 %status
}
define internal i32 @enter(ptr %device, ptr %before) {
  ret i32 0
}
define internal i32 @leave(ptr %device, ptr %before) {
  ret i32 0
}
define internal i32 @read(ptr %device, ptr %target, i64 %address, i64 %size) {
  %to = ptrtoint ptr %target to i64
  %status = call i32 @transfer(ptr %device, i32 1, i64 %to, i64 %address, i64 %size)
  ret i32 %status
}
define internal i32 @flush(ptr %device) {
  %queue = call ptr @word(ptr %device, i64 0)
  %function = call ptr @word(ptr %device, i64 6)
  %is_done = icmp eq ptr %function, null
  br i1 %is_done, label %done, label %flush
flush:
  %status = call i32 %function(ptr %queue)
  ret i32 %status
done:
  ret i32 0
}
"""
OPENCL_FUNCTIONS = (
    _OPENCL_FUNCTIONS.replace("MOST_TOGETHER", str(MOST_TOGETHER))
    .replace("PARTS_OF_THREAD", str(_PARTS_OF_THREAD))
    .replace("NANOSECONDS_OF_BLOCK", str(_NANOSECONDS_OF_BLOCK))
)

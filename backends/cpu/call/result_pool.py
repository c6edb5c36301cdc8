"""A pool of memory for large results.

Writing a fresh large array costs more in page faults than most arithmetic, so the memory of large results that were dropped is
kept for the next ones. The pool is a ``PyDataMem_Handler``, NumPy's interface for memory allocators (NEP 49), in native code:
arrays own their data as usual, and their memory comes back wherever and by whichever thread they are dropped. It holds a few
blocks in a table of slots that are exchanged atomically; no lock, and no need of the global interpreter lock.

Blocks are aligned to 64 bytes, large ones to pages. Processors compare the low bits of addresses, and a load waits for what has
just been stored at the same place of another page: results would lie a little behind NumPy's arrays, 16 bytes into a page.
The environment variable ``PHLOX_RESULT_POOL_BYTES`` sets how many bytes the pool keeps at most
(default: 512 MiB, or a quarter of the machine's memory if that is less; 0 turns it off).
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

from ....runtime.settings import bytes_setting
from ..kept_code import kept_object_code
from ..target import host_target
from . import assembly, native_functions, object_layout

# Results of at least this many bytes come from the pool.
POOLED_BYTES = 1 << 20

_SLOT_COUNT = 16
_DEFAULT_LIMIT = 512 << 20
# A block serves requests down to this part of its size, so that a small array does not hold a large block.
_LARGEST_WASTE_SHIFT = 2
_PAGE_BYTES = 4096
# NumPy asks the kernel for huge pages (MADV_HUGEPAGE) from this size; so do we.
_HUGE_PAGE_BYTES = 1 << 22
_MADV_HUGEPAGE = 14
# The header, 64 bytes before the data: the size of the block without it, and what malloc returned.
_NAMES = {
    "BLOCK_CAPACITY": -64,
    "BLOCK_ORIGIN": -56,
    "SLOT_COUNT": _SLOT_COUNT,
    "POOLED_BYTES": POOLED_BYTES,
    "WASTE_SHIFT": _LARGEST_WASTE_SHIFT,
    "PAGE_BYTES": _PAGE_BYTES,
    "HUGE_PAGE_BYTES": _HUGE_PAGE_BYTES,
    "MADV_HUGEPAGE": _MADV_HUGEPAGE,
}

_POINTERS = (
    "malloc",
    "free",
    "madvise",
    "PyArray_Empty",
    "PyDataMem_SetHandler",
    "Py_DecRef",
    "capsule",
)

_ASSEMBLY = """
; PyDataMem_Handler
%Handler = type { [127 x i8], i8, ptr, ptr, ptr, ptr, ptr }
@handler = global %Handler { [127 x i8] zeroinitializer, i8 1, ptr null, ptr @pool_malloc, ptr @pool_calloc,
                             ptr @pool_realloc, ptr @pool_free }
@handler_name = constant [12 x i8] c"mem_handler\\00"
@limit = global i64 0
@cached = global i64 0
@slots = internal global [SLOT_COUNT x ptr] zeroinitializer
; The capacity of the block in the slot of the same number, a hint that may be out of date.
@hints = internal global [SLOT_COUNT x i64] zeroinitializer
@cursor = internal global i64 0

; PyArray_Empty, with memory from the pool.
define ptr @pooled_empty(i32 %rank, ptr %shape, ptr %dtype, i32 %fortran) {
  %set = load ptr, ptr @PyDataMem_SetHandler
  %drop = load ptr, ptr @Py_DecRef
  %capsule = load ptr, ptr @capsule
  %previous = call ptr %set(ptr %capsule)
  %not_set = icmp eq ptr %previous, null
  br i1 %not_set, label %failed, label %allocate
allocate:
  %empty = load ptr, ptr @PyArray_Empty
  %array = call ptr %empty(i32 %rank, ptr %shape, ptr %dtype, i32 %fortran)
  %ours = call ptr %set(ptr %previous)
  call void %drop(ptr %previous)
  call void %drop(ptr %ours)
  %not_restored = icmp eq ptr %ours, null
  br i1 %not_restored, label %fail_late, label %done
done:
  ret ptr %array
fail_late:
  call void %drop(ptr %array)
  ret ptr null
failed:
  call void %drop(ptr %dtype)
  ret ptr null
}

define internal ptr @pool_malloc(ptr %context, i64 %size) {
start:
  %large = icmp uge i64 %size, POOLED_BYTES
  br i1 %large, label %next, label %fresh
next:
  %index = phi i64 [ 0, %start ], [ %index_after, %mismatch ]
  %searched = icmp eq i64 %index, SLOT_COUNT
  br i1 %searched, label %fresh, label %look
look:
  %hint_at = getelementptr i64, ptr @hints, i64 %index
  %hint = load atomic i64, ptr %hint_at monotonic, align 8
  %hint_suits = call i1 @suits(i64 %hint, i64 %size)
  br i1 %hint_suits, label %take, label %mismatch
mismatch:
  %index_after = add i64 %index, 1
  br label %next
take:
  %slot = getelementptr ptr, ptr @slots, i64 %index
  %block = atomicrmw xchg ptr %slot, ptr null acq_rel
  %gone = icmp eq ptr %block, null
  br i1 %gone, label %mismatch, label %taken
taken:
  %capacity = field i64 %block, BLOCK_CAPACITY
  %before = atomicrmw sub ptr @cached, i64 %capacity monotonic
  %block_suits = call i1 @suits(i64 %capacity, i64 %size)
  br i1 %block_suits, label %recycled, label %put_back
put_back:
  ; Another thread has exchanged the block since the hint was read.
  call void @put(ptr %block, i64 %capacity)
  br label %mismatch
recycled:
  ret ptr %block
fresh:
  %new = call ptr @new_block(i64 %size)
  ret ptr %new
}

; Whether a block of some capacity serves a request: large enough, and not much larger.
define internal i1 @suits(i64 %capacity, i64 %size) alwaysinline {
  %enough = icmp uge i64 %capacity, %size
  %excess = sub i64 %capacity, %size
  %tolerated = lshr i64 %capacity, WASTE_SHIFT
  %close = icmp ule i64 %excess, %tolerated
  %suits = and i1 %enough, %close
  ret i1 %suits
}

define internal ptr @new_block(i64 %size) {
  %too_large = icmp ugt i64 %size, 9223372036854771647
  br i1 %too_large, label %failed, label %allocate
allocate:
  %is_large = icmp uge i64 %size, POOLED_BYTES
  %alignment = select i1 %is_large, i64 PAGE_BYTES, i64 64
  %more = add i64 %alignment, 64
  %whole = add i64 %size, %more
  %malloc = load ptr, ptr @malloc
  %origin = call ptr %malloc(i64 %whole)
  %refused = icmp eq ptr %origin, null
  br i1 %refused, label %failed, label %align
align:
  ; The first multiple of the alignment that leaves 64 bytes before it.
  %origin_address = ptrtoint ptr %origin to i64
  %behind_header = add i64 %origin_address, 64
  %last = sub i64 %alignment, 1
  %padded = add i64 %behind_header, %last
  %mask = sub i64 0, %alignment
  %address = and i64 %padded, %mask
  %block = inttoptr i64 %address to ptr
  %capacity_at = getelementptr i8, ptr %block, i64 BLOCK_CAPACITY
  store i64 %size, ptr %capacity_at
  %origin_at = getelementptr i8, ptr %block, i64 BLOCK_ORIGIN
  store ptr %origin, ptr %origin_at
  %madvise = load ptr, ptr @madvise
  %has_madvise = icmp ne ptr %madvise, null
  %is_huge = icmp uge i64 %size, HUGE_PAGE_BYTES
  %advisable = and i1 %has_madvise, %is_huge
  br i1 %advisable, label %advise, label %done
advise:
  %page_up = add i64 %address, 4095
  %page_address = and i64 %page_up, -4096
  %skipped = sub i64 %page_address, %address
  %length = sub i64 %size, %skipped
  %page = inttoptr i64 %page_address to ptr
  %ignored = call i32 %madvise(ptr %page, i64 %length, i32 MADV_HUGEPAGE)
  br label %done
done:
  ret ptr %block
failed:
  ret ptr null
}

define internal void @delete_block(ptr %block) {
  %origin = field ptr %block, BLOCK_ORIGIN
  %free = load ptr, ptr @free
  call void %free(ptr %origin)
  ret void
}

define internal void @pool_free(ptr %context, ptr %block, i64 %size) {
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %done, label %measure
measure:
  %capacity = field i64 %block, BLOCK_CAPACITY
  %large = icmp uge i64 %capacity, POOLED_BYTES
  %limit = load i64, ptr @limit
  %allowed = icmp ule i64 %capacity, %limit
  %keep = and i1 %large, %allowed
  br i1 %keep, label %cache, label %delete
cache:
  call void @put(ptr %block, i64 %capacity)
  br label %done
delete:
  call void @delete_block(ptr %block)
  br label %done
done:
  ret void
}

; Keeps a block: in an empty slot, else in place of another block. Then drops others until the limit is respected.
define internal void @put(ptr %block, i64 %capacity) {
start:
  %before = atomicrmw add ptr @cached, i64 %capacity monotonic
  %turn = atomicrmw add ptr @cursor, i64 1 monotonic
  %victim = urem i64 %turn, SLOT_COUNT
  br label %next
next:
  %index = phi i64 [ 0, %start ], [ %index_after, %occupied ]
  %searched = icmp eq i64 %index, SLOT_COUNT
  br i1 %searched, label %replace, label %try
try:
  %slot = getelementptr ptr, ptr @slots, i64 %index
  %exchange = cmpxchg ptr %slot, ptr null, ptr %block acq_rel monotonic
  %placed = extractvalue { ptr, i1 } %exchange, 1
  br i1 %placed, label %keep, label %occupied
occupied:
  %index_after = add i64 %index, 1
  br label %next
replace:
  %victim_slot = getelementptr ptr, ptr @slots, i64 %victim
  %old = atomicrmw xchg ptr %victim_slot, ptr %block acq_rel
  call void @evict(ptr %old)
  br label %keep
keep:
  %place = phi i64 [ %index, %try ], [ %victim, %replace ]
  %hint_at = getelementptr i64, ptr @hints, i64 %place
  store atomic i64 %capacity, ptr %hint_at monotonic, align 8
  br label %next_excess
next_excess:
  %distance = phi i64 [ 1, %keep ], [ %distance_after, %excess ]
  %cached = load atomic i64, ptr @cached monotonic, align 8
  %limit = load i64, ptr @limit
  %within = icmp ule i64 %cached, %limit
  %all_dropped = icmp ugt i64 %distance, SLOT_COUNT
  %finished = or i1 %within, %all_dropped
  br i1 %finished, label %done, label %excess
excess:
  ; The block that was just put comes last.
  %other = add i64 %place, %distance
  %other_index = urem i64 %other, SLOT_COUNT
  %other_slot = getelementptr ptr, ptr @slots, i64 %other_index
  %dropped = atomicrmw xchg ptr %other_slot, ptr null acq_rel
  call void @evict(ptr %dropped)
  %distance_after = add i64 %distance, 1
  br label %next_excess
done:
  ret void
}

; Frees a block that was taken out of its slot, if there was one.
define internal void @evict(ptr %block) {
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %done, label %drop
drop:
  %capacity = field i64 %block, BLOCK_CAPACITY
  %before = atomicrmw sub ptr @cached, i64 %capacity monotonic
  call void @delete_block(ptr %block)
  br label %done
done:
  ret void
}

define void @trim() {
start:
  br label %next
next:
  %index = phi i64 [ 0, %start ], [ %index_after, %one ]
  %end = icmp eq i64 %index, SLOT_COUNT
  br i1 %end, label %done, label %one
one:
  %slot = getelementptr ptr, ptr @slots, i64 %index
  %block = atomicrmw xchg ptr %slot, ptr null acq_rel
  call void @evict(ptr %block)
  %index_after = add i64 %index, 1
  br label %next
done:
  ret void
}

define internal ptr @pool_calloc(ptr %context, i64 %count, i64 %element) {
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %element)
  %overflow = extractvalue { i64, i1 } %product, 1
  br i1 %overflow, label %failed, label %allocate
allocate:
  %size = extractvalue { i64, i1 } %product, 0
  %block = call ptr @pool_malloc(ptr null, i64 %size)
  %refused = icmp eq ptr %block, null
  br i1 %refused, label %failed, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %block, i8 0, i64 %size, i1 false)
  ret ptr %block
failed:
  ret ptr null
}

define internal ptr @pool_realloc(ptr %context, ptr %block, i64 %size) {
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %allocate, label %measure
allocate:
  %first = call ptr @pool_malloc(ptr null, i64 %size)
  ret ptr %first
measure:
  %capacity = field i64 %block, BLOCK_CAPACITY
  %stays = call i1 @suits(i64 %capacity, i64 %size)
  br i1 %stays, label %same, label %move
same:
  ret ptr %block
move:
  %new = call ptr @pool_malloc(ptr null, i64 %size)
  %refused = icmp eq ptr %new, null
  br i1 %refused, label %failed, label %copy
copy:
  %copied = call i64 @llvm.umin.i64(i64 %capacity, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %block, i64 %copied, i1 false)
  call void @pool_free(ptr null, ptr %block, i64 %capacity)
  ret ptr %new
failed:
  ret ptr null
}

declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def pooled_empty_address() -> int:
    """The address of a function with the type and effect of PyArray_Empty, with memory from the pool.

    PyArray_Empty itself where the pool is turned off. Raises ValueError if ``PHLOX_RESULT_POOL_BYTES`` is not a number of
    bytes.
    """
    if _limit() == 0:
        return object_layout.numpy_api_address("PyArray_Empty")
    return _pool()["pooled_empty"]


def trim() -> None:
    """Gives all memory that the pool holds back to the system."""
    if _pool.cache_info().currsize:
        ctypes.CFUNCTYPE(None)(_pool()["trim"])()


def cached_bytes() -> int:
    """The number of bytes that the pool holds for future results."""
    if not _pool.cache_info().currsize:
        return 0
    return ctypes.c_int64.from_address(_pool()["cached"]).value


@functools.cache
def _limit() -> int:
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return bytes_setting("PHLOX_RESULT_POOL_BYTES", _DEFAULT_LIMIT)
    return bytes_setting("PHLOX_RESULT_POOL_BYTES", min(_DEFAULT_LIMIT, memory // 4))


@functools.cache
def _pool() -> dict[str, int]:
    """Loads the pool and gives the addresses of its symbols."""
    library = ctypes.CDLL(None) if os.name == "posix" else ctypes.CDLL("ucrtbase")
    pointers = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in ("malloc", "free")}
    if sys.platform == "linux":
        pointers["madvise"] = ctypes.cast(library.madvise, ctypes.c_void_p).value
    for name in ("PyArray_Empty", "PyDataMem_SetHandler", "Py_DecRef"):
        pointers[name] = object_layout.function_address(name)
    text = assembly.pointers(_POINTERS) + assembly.substitute(_ASSEMBLY, _NAMES)
    symbols = ("pooled_empty", "trim", "cached", "limit", "capsule", "handler", "handler_name")
    addresses = native_functions.load_for_good(kept_object_code(text, host_target()), pointers, symbols)
    name = b"phlox_result_pool"
    ctypes.memmove(addresses["handler"], name, len(name))
    ctypes.c_int64.from_address(addresses["limit"]).value = min(_limit(), (1 << 63) - 1)
    # Arrays refer to the capsule, the capsule to the handler and its name, which live in the loaded code: all stay for good.
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    new_capsule = prototype(("PyCapsule_New", ctypes.pythonapi))
    capsule = new_capsule(addresses["handler"], addresses["handler_name"], None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(capsule))
    ctypes.c_void_p.from_address(addresses["capsule"]).value = id(capsule)
    return addresses

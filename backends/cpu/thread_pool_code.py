"""The LLVM assembly of `thread_pool`: how pieces are handed out, and what workers do.

The caller and the workers take numbers from one counter, ``next``. One region at a time has the workers, and ``state`` says
how it stands: the number of workers that may still join, in 16 bits; of those that have joined, in 16 bits; and a bit that
says that there is a region. What describes it is written while only this bit is set. A worker joins by one atomic step, and
counts in ``left`` when it leaves; the caller waits for those that have joined, and not for those that are just waking up.
"""

from __future__ import annotations

import platform
import signal

from .arena import ALIGNMENT
from .call import assembly, python_calls
from .worker_code import WORKERS

# How long a worker looks for the next region before it sleeps.
_SPINNING_NANOSECONDS = 100_000
# Waking a worker takes the caller some microseconds, and the worker some tens: it is done for a region with so much work, or
# when sleeping workers have missed so much of smaller ones.
_WAKING_NANOSECONDS, _MISSED_NANOSECONDS = 50_000, 300_000
_STACK_BYTES = 4 << 20

_NAMES = {
    "TICKET_MASK": (1 << 16) - 1,
    "NO_TICKETS": -(1 << 16),
    "JOIN_STEP": (1 << 16) - 1,  # one more has joined, one less may join
    "JOINED_SHIFT": 16,
    "JOINED_MASK": (1 << 16) - 1,
    "BUSY_STATE": 1 << 32,
    "MOST_WORKERS": (1 << 16) - 2,
    "NO_PIECES": 1 << 62,
    "SPINNING_NANOSECONDS": _SPINNING_NANOSECONDS,
    "WAKING_NANOSECONDS": _WAKING_NANOSECONDS,
    "MISSED_NANOSECONDS": _MISSED_NANOSECONDS,
    "SCRATCH_ALIGNMENT": ALIGNMENT,
    "LOOKS_A_READING": 64,  # looks at the state from one reading of the clock to the next
    "LOOKS_A_YIELD": 4096,
    "STACK_BYTES": _STACK_BYTES,
    "REPLACE_MASK": getattr(signal, "SIG_SETMASK", 0),
    "WORKER_MARK": python_calls.WORKER_MARK,
    "DETACHED_STATE": 2 if platform.system() == "Darwin" else 1,
}

POINTERS = ("timespec_get", "PyThread_tss_set", "checked_key", "check_interrupts", "thread_limit")

_ALONE = """
define internal i32 @run_alone(ptr %function, ptr %context, i64 %count, i64 %checks, ptr %scratch) {
start:
  br label %next_piece
next_piece:
  %number = phi i64 [ 0, %start ], [ %following, %piece ]
  %is_left = icmp slt i64 %number, %count
  br i1 %is_left, label %piece, label %done
piece:
  %following = add i64 %number, 1
  %status = call i32 @piece_and_check(ptr %function, ptr %context, i64 %number, i64 %checks, ptr %scratch)
  %goes_on = icmp eq i32 %status, 0
  br i1 %goes_on, label %next_piece, label %done
done:
  %result = phi i32 [ 0, %next_piece ], [ %status, %piece ]
  ret i32 %result
}

define internal i32 @piece_and_check(ptr %function, ptr %context, i64 %number, i64 %checks, ptr %scratch) {
  %status = call i32 %function(ptr %context, i64 %number, ptr %scratch)
  %is_fine = icmp eq i32 %status, 0
  %wants_check = icmp ne i64 %checks, 0
  %is_checked = and i1 %is_fine, %wants_check
  br i1 %is_checked, label %check, label %done
check:
  %check_interrupts = load ptr, ptr @check_interrupts
  %found = call i32 %check_interrupts()
  ret i32 %found
done:
  ret i32 %status
}
"""

_POOL = """
@state = internal global i64 0, align 128
@next = internal global i64 0, align 128
@left = internal global i64 0, align 128
@function = internal global ptr null, align 128
@context = internal global ptr null
@count = internal global i64 0
@scratch_bytes = internal global i64 0
@modes = internal global i64 0
@cancelled = internal global i32 0, align 128
@paused = internal global i32 0
@owner = internal global i64 0
@started = internal global i64 0
@refused = internal global i1 0
@sleeping = internal global i64 0
@missed = internal global i64 0
@mutex = internal global [128 x i8] zeroinitializer, align 16
@condition = internal global [128 x i8] zeroinitializer, align 16

define i32 @"phlox.run_pieces"(ptr %function, ptr %context, i64 %count, i64 %work, i64 %checks, ptr %scratch,
                                   i64 %bytes) noinline {
  %limit_at = load ptr, ptr @thread_limit
  %limit = load atomic i64, ptr %limit_at monotonic, align 8
  %is_serial = icmp sle i64 %limit, 1
  %seen = load atomic i64, ptr @state monotonic, align 8
  %is_busy = icmp ne i64 %seen, 0
  %stays = or i1 %is_serial, %is_busy
  br i1 %stays, label %alone, label %take
take:
  %exchange = cmpxchg ptr @state, i64 0, i64 BUSY_STATE seq_cst seq_cst
  %is_taken = extractvalue { i64, i1 } %exchange, 1
  br i1 %is_taken, label %taken, label %alone
taken:
  %paused = load atomic i32, ptr @paused seq_cst, align 4
  %is_paused = icmp ne i32 %paused, 0
  br i1 %is_paused, label %give_back, label %start
give_back:
  store atomic i64 0, ptr @state release, align 8
  br label %alone
start:
  %others = sub i64 %limit, 1
  %wanted = call i64 @llvm.umin.i64(i64 %others, i64 MOST_WORKERS)
  %started_before = load i64, ptr @started
  %are_enough = icmp uge i64 %started_before, %wanted
  br i1 %are_enough, label %describe, label %start_more
start_more:
  call void @start_workers(i64 %wanted)
  br label %describe
describe:
  store ptr %function, ptr @function
  store ptr %context, ptr @context
  store i64 %count, ptr @count
  store i64 %bytes, ptr @scratch_bytes
  store i64 0, ptr @next
  store i64 0, ptr @left
  store i32 0, ptr @cancelled
  %self = call i64 @pthread_self()
  store i64 %self, ptr @owner
  %modes = call i64 @rounding_modes()
  store i64 %modes, ptr @modes
  %started = load i64, ptr @started
  %able = call i64 @llvm.umin.i64(i64 %wanted, i64 %started)
  %other_pieces = sub i64 %count, 1
  %tickets = call i64 @llvm.umin.i64(i64 %able, i64 %other_pieces)
  %open = or i64 %tickets, BUSY_STATE
  %closed = cmpxchg ptr @state, i64 BUSY_STATE, i64 %open seq_cst seq_cst
  %sleeping = load atomic i64, ptr @sleeping seq_cst, align 8
  %all_awake = icmp eq i64 %sleeping, 0
  br i1 %all_awake, label %run, label %consider_waking
consider_waking:
  %missed_before = load i64, ptr @missed
  %missed = add i64 %missed_before, %work
  %is_large = icmp sge i64 %work, WAKING_NANOSECONDS
  %are_many = icmp sge i64 %missed, MISSED_NANOSECONDS
  %is_worth_it = or i1 %is_large, %are_many
  %still_missed = select i1 %is_worth_it, i64 0, i64 %missed
  store i64 %still_missed, ptr @missed
  br i1 %is_worth_it, label %wake, label %run
wake:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  call void @wake(i64 %tickets)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %run
run:
  %status = call i32 @run_own(ptr %function, ptr %context, i64 %count, i64 %checks, ptr %scratch)
  %state_before = atomicrmw and ptr @state, i64 NO_TICKETS seq_cst
  %shifted = lshr i64 %state_before, JOINED_SHIFT
  %joined = and i64 %shifted, JOINED_MASK
  call void @wait_for(i64 %joined)
  store i64 0, ptr @owner
  store atomic i64 0, ptr @state release, align 8
  ret i32 %status
alone:
  %status_alone = call i32 @run_alone(ptr %function, ptr %context, i64 %count, i64 %checks, ptr %scratch)
  ret i32 %status_alone
}

; The caller's pieces.
define internal i32 @run_own(ptr %function, ptr %context, i64 %count, i64 %checks, ptr %scratch) {
start:
  br label %next_piece
next_piece:
  %number = atomicrmw add ptr @next, i64 1 acq_rel
  %is_left = icmp slt i64 %number, %count
  br i1 %is_left, label %piece, label %done
piece:
  %status = call i32 @piece_and_check(ptr %function, ptr %context, i64 %number, i64 %checks, ptr %scratch)
  %goes_on = icmp eq i32 %status, 0
  br i1 %goes_on, label %next_piece, label %cancel
cancel:
  store atomic i32 1, ptr @cancelled seq_cst, align 4
  store atomic i64 NO_PIECES, ptr @next seq_cst, align 8
  br label %done
done:
  %result = phi i32 [ 0, %next_piece ], [ %status, %cancel ]
  ret i32 %result
}

; Waits until so many workers have left the region.
define internal void @wait_for(i64 %joined) {
start:
  br label %look
look:
  %looks = phi i64 [ 1, %start ], [ %more_looks, %again ]
  %left = load atomic i64, ptr @left acquire, align 8
  %is_over = icmp eq i64 %left, %joined
  br i1 %is_over, label %done, label %wait
wait:
  call void @pause()
  %more_looks = add i64 %looks, 1
  %part = urem i64 %looks, LOOKS_A_YIELD
  %is_long = icmp eq i64 %part, 0
  br i1 %is_long, label %yield, label %again
yield:
  %yielded = call i32 @sched_yield()
  br label %again
again:
  br label %look
done:
  ret void
}

define internal i64 @now() {
  %time = alloca { i64, i64 }, align 8
  %read_clock = load ptr, ptr @timespec_get
  %base = call i32 %read_clock(ptr %time, i32 1)
  %seconds = load i64, ptr %time
  %nanoseconds_at = getelementptr i8, ptr %time, i64 8
  %nanoseconds = load i64, ptr %nanoseconds_at
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %nanoseconds
  ret i64 %now
}

declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @pthread_self()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_setdetachstate(ptr, i32)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @sched_yield()
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
"""

# Where there are no POSIX threads.
_NO_POOL = """
define i32 @"phlox.run_pieces"(ptr %function, ptr %context, i64 %count, i64 %work, i64 %checks, ptr %scratch,
                                   i64 %bytes) noinline {
  %status = call i32 @run_alone(ptr %function, ptr %context, i64 %count, i64 %checks, ptr %scratch)
  ret i32 %status
}
"""

# How a processor waits for another one, and its modes of rounding, by LLVM's name of the architecture.
_OF_PROCESSOR = {
    "x86_64": """
define internal void @pause() {
  call void @llvm.x86.sse2.pause()
  ret void
}

define internal i64 @rounding_modes() {
  %word = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %modes = load i32, ptr %word
  %wide = zext i32 %modes to i64
  ret i64 %wide
}

define internal void @set_rounding_modes(i64 %wide) {
  %word = alloca i32, align 4
  %modes = trunc i64 %wide to i32
  store i32 %modes, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret void
}

declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
""",
    "aarch64": """
define internal void @pause() {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}

define internal i64 @rounding_modes() {
  %modes = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %modes
}

define internal void @set_rounding_modes(i64 %modes) {
  call void @llvm.aarch64.set.fpcr(i64 %modes)
  ret void
}

declare void @llvm.aarch64.hint(i32)
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
""",
}


def module_assembly(architecture: str | None) -> str:
    """The module for a processor, by LLVM's name of it, or what stands for it where there is no pool."""
    pool = _NO_POOL if architecture is None else _POOL + WORKERS + _OF_PROCESSOR[architecture]
    return assembly.substitute(assembly.pointers(POINTERS) + _ALONE + pool, _NAMES)


ARCHITECTURES = frozenset(_OF_PROCESSOR)

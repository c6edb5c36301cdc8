"""The LLVM assembly of the workers of `thread_pool_code`: a worker's life, and how workers are started, woken and forked."""

from __future__ import annotations

WORKERS = """
; A thread of the pool.
define internal ptr @worker(ptr %nothing) {
start:
  %scratch_at = alloca ptr, align 8
  store ptr null, ptr %scratch_at
  %capacity_at = alloca i64, align 8
  store i64 0, ptr %capacity_at
  ; What check_interrupts finds in a worker.
  %key = load ptr, ptr @checked_key
  %cancelled_at = ptrtoint ptr @cancelled to i64
  %marked = or i64 %cancelled_at, WORKER_MARK
  %mark = inttoptr i64 %marked to ptr
  %set = load ptr, ptr @PyThread_tss_set
  %not_set = call i32 %set(ptr %key, ptr %mark)
  br label %idle
idle:
  %since = call i64 @now()
  br label %look
look:
  %looks = phi i64 [ 1, %idle ], [ %more_looks, %again ], [ 1, %awake ]
  %begin = phi i64 [ %since, %idle ], [ %begin, %again ], [ %woken_at, %awake ]
  %state = load atomic i64, ptr @state monotonic, align 8
  %tickets = and i64 %state, TICKET_MASK
  %is_open = icmp ne i64 %tickets, 0
  br i1 %is_open, label %join, label %spin
spin:
  call void @pause()
  %more_looks = add i64 %looks, 1
  %part = urem i64 %looks, LOOKS_A_READING
  %reads_clock = icmp eq i64 %part, 0
  br i1 %reads_clock, label %read_clock, label %again
read_clock:
  %now = call i64 @now()
  %passed = sub i64 %now, %begin
  %is_idle = icmp ugt i64 %passed, SPINNING_NANOSECONDS
  br i1 %is_idle, label %sleep, label %again
again:
  br label %look
sleep:
  %scratch_no_longer = load ptr, ptr %scratch_at
  call void @free(ptr %scratch_no_longer)
  store ptr null, ptr %scratch_at
  store i64 0, ptr %capacity_at
  call void @sleep_until_woken()
  %woken_at = call i64 @now()
  br label %awake
awake:
  br label %look
join:
  %joining = add i64 %state, JOIN_STEP
  %exchange = cmpxchg ptr @state, i64 %state, i64 %joining acq_rel monotonic
  %has_joined = extractvalue { i64, i1 } %exchange, 1
  br i1 %has_joined, label %joined, label %idle
joined:
  %modes = load i64, ptr @modes
  call void @set_rounding_modes(i64 %modes)
  %function = load ptr, ptr @function
  %context = load ptr, ptr @context
  %count = load i64, ptr @count
  %scratch_before = load ptr, ptr %scratch_at
  %capacity = load i64, ptr %capacity_at
  %bytes = load i64, ptr @scratch_bytes
  %has_enough = icmp uge i64 %capacity, %bytes
  br i1 %has_enough, label %ready, label %allocate
allocate:
  call void @free(ptr %scratch_before)
  %fresh = call ptr @aligned_alloc(i64 SCRATCH_ALIGNMENT, i64 %bytes)
  %is_refused = icmp eq ptr %fresh, null
  %new_capacity = select i1 %is_refused, i64 0, i64 %bytes
  store ptr %fresh, ptr %scratch_at
  store i64 %new_capacity, ptr %capacity_at
  ; Others run the pieces.
  br i1 %is_refused, label %leave, label %ready
ready:
  %scratch = load ptr, ptr %scratch_at
  br label %next_piece
next_piece:
  %paused = load atomic i32, ptr @paused seq_cst, align 4
  %is_paused = icmp ne i32 %paused, 0
  br i1 %is_paused, label %leave, label %take_number
take_number:
  %number = atomicrmw add ptr @next, i64 1 acq_rel
  %is_left = icmp slt i64 %number, %count
  br i1 %is_left, label %piece, label %close
piece:
  %status = call i32 %function(ptr %context, i64 %number, ptr %scratch)
  %goes_on = icmp eq i32 %status, 0
  br i1 %goes_on, label %next_piece, label %close
close:
  %before = atomicrmw and ptr @state, i64 NO_TICKETS monotonic
  br label %leave
leave:
  %left_before = atomicrmw add ptr @left, i64 1 release
  br label %idle
}

; Sleeps until there is a region to join, or somebody has woken this worker for one that is over.
define internal void @sleep_until_woken() {
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %sleeping_before = atomicrmw add ptr @sleeping, i64 1 seq_cst
  %state = load atomic i64, ptr @state seq_cst, align 8
  %tickets = and i64 %state, TICKET_MASK
  %is_open = icmp ne i64 %tickets, 0
  br i1 %is_open, label %awake, label %wait
wait:
  %waited = call i32 @pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %awake
awake:
  %sleeping_with_this = atomicrmw sub ptr @sleeping, i64 1 seq_cst
  ; Who has been woken wakes others.
  %state_now = load atomic i64, ptr @state monotonic, align 8
  %tickets_now = and i64 %state_now, TICKET_MASK
  %wants_more = icmp ugt i64 %tickets_now, 1
  br i1 %wants_more, label %wake, label %unlock
wake:
  call void @wake(i64 %tickets_now)
  br label %unlock
unlock:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

; Wakes one or two workers, with the mutex locked.
define internal void @wake(i64 %tickets) {
  %first = call i32 @pthread_cond_signal(ptr @condition)
  %wants_more = icmp ugt i64 %tickets, 1
  br i1 %wants_more, label %more, label %done
more:
  %second = call i32 @pthread_cond_signal(ptr @condition)
  br label %done
done:
  ret void
}

; Starts workers until there are so many, or there can be no more.
define internal void @start_workers(i64 %wanted) noinline {
start:
  %thread = alloca i64, align 8
  %attributes = alloca [256 x i8], align 16
  %all_signals = alloca [256 x i8], align 16
  %signals = alloca [256 x i8], align 16
  %was_refused = load i1, ptr @refused
  br i1 %was_refused, label %done, label %prepare
prepare:
  %filled = call i32 @sigfillset(ptr %all_signals)
  %masked = call i32 @pthread_sigmask(i32 REPLACE_MASK, ptr %all_signals, ptr %signals)
  %initialized = call i32 @pthread_attr_init(ptr %attributes)
  %sized = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 STACK_BYTES)
  %detached = call i32 @pthread_attr_setdetachstate(ptr %attributes, i32 DETACHED_STATE)
  br label %next_worker
next_worker:
  %started = load i64, ptr @started
  %are_enough = icmp uge i64 %started, %wanted
  br i1 %are_enough, label %finish, label %create
create:
  %error = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @worker, ptr null)
  %is_refused = icmp ne i32 %error, 0
  br i1 %is_refused, label %refuse, label %created
created:
  %one_more = add i64 %started, 1
  store i64 %one_more, ptr @started
  br label %next_worker
refuse:
  store i1 1, ptr @refused
  br label %finish
finish:
  %destroyed = call i32 @pthread_attr_destroy(ptr %attributes)
  %restored = call i32 @pthread_sigmask(i32 REPLACE_MASK, ptr %signals, ptr null)
  br label %done
done:
  ret void
}

; Before a fork: no worker begins a piece from now on; waits until none runs one.
define void @pause_workers() {
  store atomic i32 1, ptr @paused seq_cst, align 4
  %state = atomicrmw and ptr @state, i64 NO_TICKETS seq_cst
  %shifted = lshr i64 %state, JOINED_SHIFT
  %joined = and i64 %shifted, JOINED_MASK
  %is_idle = icmp eq i64 %joined, 0
  br i1 %is_idle, label %done, label %wait
wait:
  call void @wait_for(i64 %joined)
  br label %done
done:
  ret void
}

; After a fork, in the parent.
define void @resume_workers() {
  store atomic i32 0, ptr @paused seq_cst, align 4
  ret void
}

; After a fork, in the child. Where a signal's handler has forked in the middle of a region, this thread runs the rest of it.
define void @forget_workers() {
  store i64 0, ptr @started
  store i64 0, ptr @sleeping
  store i1 0, ptr @refused
  call void @llvm.memset.p0.i64(ptr @mutex, i8 0, i64 128, i1 false)
  call void @llvm.memset.p0.i64(ptr @condition, i8 0, i64 128, i1 false)
  call void @initialize()
  store atomic i32 0, ptr @paused seq_cst, align 4
  %self = call i64 @pthread_self()
  %owner = load i64, ptr @owner
  %is_ours = icmp eq i64 %self, %owner
  br i1 %is_ours, label %done, label %free
free:
  store atomic i64 0, ptr @state seq_cst, align 8
  br label %done
done:
  ret void
}

define void @initialize() {
  %mutex_made = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %condition_made = call i32 @pthread_cond_init(ptr @condition, ptr null)
  ret void
}

define i64 @worker_count() {
  %started = load i64, ptr @started
  ret i64 %started
}
"""

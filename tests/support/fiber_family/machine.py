"""What runs the threads of a block as fibers, in LLVM assembly, and what native code calls it with."""

CONTEXT_BYTES, STACK_BYTES = 1024, 256 << 10  # ucontext_t has 968
MOST_ARGUMENTS = 256  # what a function is given beyond its own arguments it does not see
_LINK, _STACK, _STACK_SIZE = 8, 16, 32  # where they stand in ucontext_t

_ARGUMENTS = ", ".join(f"i64 %a{number}" for number in range(MOST_ARGUMENTS))
_LOADS = "\n".join(
    f"  %p{number} = getelementptr i64, ptr @arguments, i64 {number}\n  %a{number} = load i64, ptr %p{number}"
    for number in range(MOST_ARGUMENTS)
)
MACHINE = f"""
@kernel = global ptr null
@arguments = global [{MOST_ARGUMENTS} x i64] zeroinitializer
@now = global i64 0
@ended = global [1024 x i8] zeroinitializer
@block = global [3 x i64] zeroinitializer
@threads = global [3 x i64] zeroinitializer
@contexts = global ptr null
@stacks = global ptr null
declare i32 @getcontext(ptr) returns_twice
declare void @makecontext(ptr, ptr, i32, ...)
declare i32 @swapcontext(ptr, ptr) returns_twice

define ptr @context(i64 %number) {{
  %contexts = load ptr, ptr @contexts
  %offset = mul i64 %number, {CONTEXT_BYTES}
  %context = getelementptr i8, ptr %contexts, i64 %offset
  ret ptr %context
}}
define i32 @fiber_block(i32 %dimension) {{
  %place = getelementptr i64, ptr @block, i32 %dimension
  %wide = load i64, ptr %place
  %index = trunc i64 %wide to i32
  ret i32 %index
}}
define i32 @fiber_thread(i32 %dimension) {{
  %now = load i64, ptr @now
  %x = load i64, ptr @threads
  %y_at = getelementptr i64, ptr @threads, i64 1
  %y = load i64, ptr %y_at
  %in_x = urem i64 %now, %x
  %above_x = udiv i64 %now, %x
  %in_y = urem i64 %above_x, %y
  %in_z = udiv i64 %above_x, %y
  %is_x = icmp eq i32 %dimension, 0
  %is_y = icmp eq i32 %dimension, 1
  %y_or_z = select i1 %is_y, i64 %in_y, i64 %in_z
  %wide = select i1 %is_x, i64 %in_x, i64 %y_or_z
  %index = trunc i64 %wide to i32
  ret i32 %index
}}
define void @fiber_barrier() {{
  %now = load i64, ptr @now
  %own = add i64 %now, 1
  %from = call ptr @context(i64 %own)
  %to = call ptr @context(i64 0)
  call i32 @swapcontext(ptr %from, ptr %to)
  ret void
}}
define void @fiber() {{
  %kernel = load ptr, ptr @kernel
{_LOADS}
  call void %kernel({_ARGUMENTS})
  %now = load i64, ptr @now
  %place = getelementptr i8, ptr @ended, i64 %now
  store i8 1, ptr %place
  ret void
}}
define void @begin(i64 %number) {{
  %own = add i64 %number, 1
  %context = call ptr @context(i64 %own)
  call i32 @getcontext(ptr %context)
  %link_at = getelementptr i8, ptr %context, i64 {_LINK}
  %link = call ptr @context(i64 0)
  store ptr %link, ptr %link_at
  %stacks = load ptr, ptr @stacks
  %offset = mul i64 %number, {STACK_BYTES}
  %stack = getelementptr i8, ptr %stacks, i64 %offset
  %stack_at = getelementptr i8, ptr %context, i64 {_STACK}
  store ptr %stack, ptr %stack_at
  %size_at = getelementptr i8, ptr %context, i64 {_STACK_SIZE}
  store i64 {STACK_BYTES}, ptr %size_at
  call void (ptr, ptr, i32, ...) @makecontext(ptr %context, ptr @fiber, i32 0)
  %place = getelementptr i8, ptr @ended, i64 %number
  store i8 0, ptr %place
  ret void
}}
; Lets a fiber run until its next barrier; whether there was one.
define i64 @resume(i64 %number) {{
  %place = getelementptr i8, ptr @ended, i64 %number
  %ended = load i8, ptr %place
  %has_ended = icmp ne i8 %ended, 0
  br i1 %has_ended, label %over, label %run
over:
  ret i64 0
run:
  store i64 %number, ptr @now
  %from = call ptr @context(i64 0)
  %own = add i64 %number, 1
  %to = call ptr @context(i64 %own)
  call i32 @swapcontext(ptr %from, ptr %to)
  %ended_now = load i8, ptr %place
  %runs = icmp eq i8 %ended_now, 0
  %more = zext i1 %runs to i64
  ret i64 %more
}}
define void @run_block(i64 %count) {{
entry:
  br label %make
make:
  %made = phi i64 [ 0, %entry ], [ %made_next, %make ]
  call void @begin(i64 %made)
  %made_next = add i64 %made, 1
  %make_more = icmp ult i64 %made_next, %count
  br i1 %make_more, label %make, label %round
round:
  %is_back = phi i1 [ false, %make ], [ %is_forth, %end_of_round ]
  br label %step
step:
  %number = phi i64 [ 0, %round ], [ %next, %step ]
  %running = phi i64 [ 0, %round ], [ %still, %step ]
  %last = sub i64 %count, 1
  %from_end = sub i64 %last, %number
  %which = select i1 %is_back, i64 %from_end, i64 %number
  %runs = call i64 @resume(i64 %which)
  %still = add i64 %running, %runs
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %step, label %end_of_round
end_of_round:
  %is_forth = xor i1 %is_back, true
  %again = icmp ne i64 %still, 0
  br i1 %again, label %round, label %done
done:
  ret void
}}
define i32 @run(ptr %kernel, ptr %sizes, i64 %count, ptr %values) {{
entry:
  store ptr %kernel, ptr @kernel
  %bytes = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr @arguments, ptr %values, i64 %bytes, i1 false)
  %threads_at = getelementptr i64, ptr %sizes, i64 3
  call void @llvm.memcpy.p0.p0.i64(ptr @threads, ptr %threads_at, i64 24, i1 false)
  %tx = load i64, ptr %threads_at
  %ty_at = getelementptr i64, ptr %sizes, i64 4
  %ty = load i64, ptr %ty_at
  %tz_at = getelementptr i64, ptr %sizes, i64 5
  %tz = load i64, ptr %tz_at
  %txy = mul i64 %tx, %ty
  %threads = mul i64 %txy, %tz
  %gx = load i64, ptr %sizes
  %gy_at = getelementptr i64, ptr %sizes, i64 1
  %gy = load i64, ptr %gy_at
  %gz_at = getelementptr i64, ptr %sizes, i64 2
  %gz = load i64, ptr %gz_at
  %gxy = mul i64 %gx, %gy
  %blocks = mul i64 %gxy, %gz
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %run ]
  %more = icmp ult i64 %number, %blocks
  br i1 %more, label %run, label %done
run:
  %in_x = urem i64 %number, %gx
  %above_x = udiv i64 %number, %gx
  %in_y = urem i64 %above_x, %gy
  %in_z = udiv i64 %above_x, %gy
  store i64 %in_x, ptr @block
  store i64 %in_y, ptr getelementptr (i64, ptr @block, i64 1)
  store i64 %in_z, ptr getelementptr (i64, ptr @block, i64 2)
  call void @run_block(i64 %threads)
  %following = add i64 %number, 1
  br label %next
done:
  ret i32 0
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

NATIVE_CALLS = """
define internal i32 @launch(ptr %device, ptr %kernel, ptr %sizes, i64 %shared, i64 %together, i64 %count, ptr %values,
                            ptr %pointers) {
  %run = load ptr, ptr %device
  %status = call i32 %run(ptr %kernel, ptr %sizes, i64 %count, ptr %values)
  ret i32 %status
}
define internal i32 @copy(ptr %device, i64 %target, i64 %source, i64 %size) {
  %to = inttoptr i64 %target to ptr
  %from = inttoptr i64 %source to ptr
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  ret i32 0
}
define internal i32 @fill(ptr %device, i64 %address, i64 %byte, i64 %size) {
  %to = inttoptr i64 %address to ptr
  %narrow = trunc i64 %byte to i8
  call void @llvm.memset.p0.i64(ptr %to, i8 %narrow, i64 %size, i1 false)
  ret i32 0
}
define internal i32 @write(ptr %device, i64 %address, ptr %source, i64 %size) {
  %from = ptrtoint ptr %source to i64
  %status = call i32 @copy(ptr %device, i64 %address, i64 %from, i64 %size)
  ret i32 %status
}
define internal i32 @read(ptr %device, ptr %target, i64 %address, i64 %size) {
  %to = ptrtoint ptr %target to i64
  %status = call i32 @copy(ptr %device, i64 %to, i64 %address, i64 %size)
  ret i32 %status
}
define internal i32 @enter(ptr %device, ptr %before) {
  ret i32 0
}
define internal i32 @leave(ptr %device, ptr %before) {
  ret i32 0
}
define internal i32 @flush(ptr %device) {
  ret i32 0
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

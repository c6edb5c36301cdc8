"""Runs plans in native code: one call a run, whatever it launches.

One function runs the code of all plans on the devices of a driver (`plan_code`), compiled when it is first needed. It returns
to Python for what the host evaluates, for what is read where there is a time limit, and now and then in loops, so that they can
be interrupted; then it goes on where it was.
"""

from __future__ import annotations

import ctypes
import re
import struct
import time
from collections.abc import Sequence
from ctypes import c_int32, c_int64, c_void_p
from typing import Any

from ...runtime.kernel_time import kernel_time
from ...runtime.locks import compilation_lock
from ..cpu.kept_code import kept_object_code
from ..cpu.machine_code import LoadedCode
from ..cpu.target import host_target
from . import plan_code
from .drivers.driver import Device, Kernel
from .drivers.native_calls import READERS
from .host_call import HostInstruction, functions_of
from .plan import HostCall, Launch, Plan
from .plan_code import Packed, PlanCode, encode
from .short_plans import has_blocks_of_one_thread

# What the function returns, besides 0 and the statuses of drivers.
PAUSED, _TO_PYTHON = 0x7FFFFFFF, 0x7FFFFFFE
# A round may take long where devices, or their queues, are full, or where what it computes is read: an interrupt waits for no
# more rounds than these, and for one if so many nanoseconds have passed.
_JUMPS_BETWEEN_PAUSES, _PAUSED_AFTER = 32, 50_000_000
# What the function is given, as words: the addresses of the code, the slots, the device's table, and the number that is read;
# whether Python reads, the most places of an operation; then the state: where it is; what is to be done in Python, the number
# of a call or minus the bytes to be read, or the step that failed; and the addresses of that.
_CODE, _SLOTS, _DEVICE, _REGISTER, _LIMITED, _MOST, _POSITION, _WHAT, _ADDRESSES = range(9)
_RUN = ctypes.CFUNCTYPE(c_int32, c_void_p)
# Where functions of the host are called: with the interpreter's lock, and what they have raised.
_RUN_WITH_CALLS = ctypes.PYFUNCTYPE(c_int32, c_void_p)

_ASSEMBLY = """
define i32 @run(ptr %words) {
  %before = alloca i64
  %device = call ptr @word(ptr %words, i64 2)
  %entered = call i32 @enter(ptr %device, ptr %before)
  %refused = icmp ne i32 %entered, 0
  br i1 %refused, label %not_entered, label %inside
not_entered:
  %what = getelementptr i64, ptr %words, i64 7
  store i64 -1, ptr %what
  ret i32 %entered
inside:
  %status = call i32 @steps(ptr %words, ptr %device)
  %left = call i32 @leave(ptr %device, ptr %before)
  ret i32 %status
}

define internal i32 @steps(ptr %words, ptr %device) {
entry:
  %code = call ptr @word(ptr %words, i64 0)
  %slots = call ptr @word(ptr %words, i64 1)
  %register = call ptr @word(ptr %words, i64 3)
  %limited = call i64 @element(ptr %words, i64 4)
  %most = call i64 @element(ptr %words, i64 5)
  %position = getelementptr i64, ptr %words, i64 6
  %what = getelementptr i64, ptr %words, i64 7
  %values = getelementptr i64, ptr %words, i64 8
  %pointers = alloca ptr, i64 %most
  %jumps = alloca i64
  store i64 0, ptr %jumps
  %began = call i64 @now()
  br label %point_at_values
point_at_values:
  %p = phi i64 [ 0, %entry ], [ %p_next, %point_at_values ]
  %p_value = getelementptr i64, ptr %values, i64 %p
  %p_place = getelementptr ptr, ptr %pointers, i64 %p
  store ptr %p_value, ptr %p_place
  %p_next = add i64 %p, 1
  %p_more = icmp ult i64 %p_next, %most
  br i1 %p_more, label %point_at_values, label %next

next:
  %at = load i64, ptr %position
  %here = getelementptr i64, ptr %code, i64 %at
  %operation = call i64 @element(ptr %here, i64 1)
  %operands = getelementptr i64, ptr %here, i64 2
  switch i64 %operation, label %end [
    i64 LAUNCH, label %launch
    i64 COPY, label %copy
    i64 FILL, label %fill
    i64 POINT, label %point
    i64 READ_BYTE, label %read_byte
    i64 READ_I32, label %read_i32
    i64 JUMP_IF_ZERO, label %jump_if_zero
    i64 JUMP, label %jump
    i64 REPEAT, label %repeat
    i64 COUNT, label %count
    i64 COUNT_DOWN, label %count_down
    i64 SELECT, label %select
    i64 CALL_HOST, label %call_host
    i64 WRITE, label %write_arguments
    i64 READ, label %read_results
  ]
end:
  %flushed = call i32 @flush(ptr %device)
  %not_flushed = icmp ne i32 %flushed, 0
  br i1 %not_flushed, label %failed, label %done
done:
  ret i32 0

launch:
  %kernel_word = call i64 @element(ptr %operands, i64 0)
  %kernel = inttoptr i64 %kernel_word to ptr
  %shared = call i64 @element(ptr %operands, i64 1)
  %together = call i64 @element(ptr %operands, i64 2)
  %sizes = getelementptr i64, ptr %operands, i64 3
  %arguments = call i64 @element(ptr %operands, i64 9)
  %argument_places = getelementptr i64, ptr %operands, i64 10
  call void @addresses(ptr %slots, ptr %argument_places, i64 %arguments, ptr %values)
  %launched = call i32 @launch(ptr %device, ptr %kernel, ptr %sizes, i64 %shared, i64 %together, i64 %arguments, ptr %values,
                               ptr %pointers)
  %launch_words = shl i64 %arguments, 1
  %launch_length = add i64 %launch_words, 12
  br label %advance

copy:
  call void @addresses(ptr %slots, ptr %operands, i64 2, ptr %values)
  %target = call i64 @element(ptr %values, i64 0)
  %source = call i64 @element(ptr %values, i64 1)
  %copy_size = call i64 @element(ptr %operands, i64 4)
  %same = icmp eq i64 %target, %source
  br i1 %same, label %copied, label %copy_bytes
copy_bytes:
  %copy_status = call i32 @copy(ptr %device, i64 %target, i64 %source, i64 %copy_size)
  br label %copied
copied:
  %copied_status = phi i32 [ 0, %copy ], [ %copy_status, %copy_bytes ]
  br label %advance

fill:
  call void @addresses(ptr %slots, ptr %operands, i64 1, ptr %values)
  %filled_address = call i64 @element(ptr %values, i64 0)
  %byte = call i64 @element(ptr %operands, i64 2)
  %fill_size = call i64 @element(ptr %operands, i64 3)
  %filled = call i32 @fill(ptr %device, i64 %filled_address, i64 %byte, i64 %fill_size)
  br label %advance

write_arguments:
  call void @addresses(ptr %slots, ptr %operands, i64 2, ptr %values)
  %written_address = call i64 @element(ptr %values, i64 0)
  %written_from = call ptr @word(ptr %values, i64 1)
  %written_size = call i64 @element(ptr %operands, i64 4)
  %written = call i32 @write(ptr %device, i64 %written_address, ptr %written_from, i64 %written_size)
  br label %advance
read_results:
  call void @addresses(ptr %slots, ptr %operands, i64 2, ptr %values)
  %result_address = call i64 @element(ptr %values, i64 0)
  %result_to = call ptr @word(ptr %values, i64 1)
  %result_size = call i64 @element(ptr %operands, i64 4)
  %results_read = call i32 @read(ptr %device, ptr %result_to, i64 %result_address, i64 %result_size)
  br label %advance

point:
  %moving = call i64 @element(ptr %operands, i64 0)
  %moving_slots = getelementptr i64, ptr %operands, i64 1
  %moving_places = getelementptr i64, ptr %moving_slots, i64 %moving
  call void @addresses(ptr %slots, ptr %moving_places, i64 %moving, ptr %values)
  %point_words = mul i64 %moving, 3
  %point_length = add i64 %point_words, 3
  br label %move
move:
  %m = phi i64 [ 0, %point ], [ %m_next, %move ]
  %m_slot = call i64 @element(ptr %moving_slots, i64 %m)
  %m_place = getelementptr i64, ptr %slots, i64 %m_slot
  %m_value = call i64 @element(ptr %values, i64 %m)
  store i64 %m_value, ptr %m_place
  %m_next = add i64 %m, 1
  %m_more = icmp ult i64 %m_next, %moving
  br i1 %m_more, label %move, label %advance

read_byte:
  br label %read
read_i32:
  br label %read
read:
  %read_size = phi i64 [ 1, %read_byte ], [ 4, %read_i32 ]
  call void @addresses(ptr %slots, ptr %operands, i64 1, ptr %values)
  store i64 0, ptr %register
  %by_python = icmp ne i64 %limited, 0
  br i1 %by_python, label %read_by_python, label %read_directly
read_by_python:
  %size_code = sub i64 0, %read_size
  store i64 %size_code, ptr %what
  br label %advance
read_directly:
  %read_address = call i64 @element(ptr %values, i64 0)
  %read_status = call i32 @read(ptr %device, ptr %register, i64 %read_address, i64 %read_size)
  br label %advance

jump_if_zero:
  %decides = load i64, ptr %register
  %is_zero = icmp eq i64 %decides, 0
  br i1 %is_zero, label %jump, label %advance
jump:
  %target_position = call i64 @element(ptr %operands, i64 0)
  store i64 %target_position, ptr %position
  br label %next

count:
  %counter = call i64 @element(ptr %operands, i64 0)
  %counter_place = getelementptr i64, ptr %slots, i64 %counter
  %trips = call i64 @element(ptr %operands, i64 1)
  store i64 %trips, ptr %counter_place
  br label %advance
count_down:
  %counted = call i64 @element(ptr %operands, i64 0)
  %counted_place = getelementptr i64, ptr %slots, i64 %counted
  %before = load i64, ptr %counted_place
  %left = sub i64 %before, 1
  store i64 %left, ptr %counted_place
  %counted_out = icmp eq i64 %left, 0
  %count_target = call i64 @element(ptr %operands, i64 1)
  br i1 %counted_out, label %advance, label %back
repeat:
  %repeat_target = call i64 @element(ptr %operands, i64 0)
  br label %back
back:
  %back_position = phi i64 [ %count_target, %count_down ], [ %repeat_target, %repeat ]
  store i64 %back_position, ptr %position
  %jumped = load i64, ptr %jumps
  %jumped_more = add i64 %jumped, 1
  store i64 %jumped_more, ptr %jumps
  %phase = urem i64 %jumped_more, JUMPS
  %counted_all = icmp eq i64 %phase, 0
  %now = call i64 @now()
  %passed = sub i64 %now, %began
  %is_late = icmp uge i64 %passed, NANOSECONDS
  %pauses = or i1 %counted_all, %is_late
  br i1 %pauses, label %pause, label %next
pause:
  ret i32 PAUSED

select:
  %which = load i64, ptr %register
  %targets = call i64 @element(ptr %operands, i64 0)
  %last = sub i64 %targets, 1
  %is_one = icmp ult i64 %which, %targets
  %selected = select i1 %is_one, i64 %which, i64 %last
  %target_number = add i64 %selected, 1
  %selected_position = call i64 @element(ptr %operands, i64 %target_number)
  store i64 %selected_position, ptr %position
  br label %next

call_host:
  %call = call i64 @element(ptr %operands, i64 0)
  %host_function = call ptr @word(ptr %operands, i64 1)
  %operand_count = call i64 @element(ptr %operands, i64 2)
  %call_count = call i64 @element(ptr %operands, i64 3)
  %call_places = getelementptr i64, ptr %operands, i64 4
  call void @addresses(ptr %slots, ptr %call_places, i64 %call_count, ptr %values)
  store i64 %call, ptr %what
  %call_words = shl i64 %call_count, 1
  %call_length = add i64 %call_words, 6
  %has_function = icmp ne ptr %host_function, null
  br i1 %has_function, label %look_for_queue, label %called_host
look_for_queue:
  %flush_queue = call ptr @word(ptr %device, i64 6)
  %all_is_done = icmp eq ptr %flush_queue, null
  br i1 %all_is_done, label %call_function, label %called_host
call_function:
  %call_results = getelementptr i64, ptr %values, i64 %operand_count
  %function_status = call i32 %host_function(ptr %values, ptr %call_results)
  br label %called_host
called_host:
  %call_status = phi i32 [ TO_PYTHON, %call_host ], [ TO_PYTHON, %look_for_queue ], [ %function_status, %call_function ]
  br label %advance

advance:
  %status = phi i32 [ %launched, %launch ], [ %copied_status, %copied ], [ %filled, %fill ], [ 0, %move ],
                    [ TO_PYTHON, %read_by_python ], [ %read_status, %read_directly ], [ 0, %jump_if_zero ], [ 0, %count ],
                    [ 0, %count_down ], [ %call_status, %called_host ],
                    [ %written, %write_arguments ], [ %results_read, %read_results ]
  %length = phi i64 [ %launch_length, %launch ], [ 7, %copied ], [ 6, %fill ], [ %point_length, %move ],
                    [ 4, %read_by_python ], [ 4, %read_directly ], [ 3, %jump_if_zero ], [ 4, %count ],
                    [ 4, %count_down ], [ %call_length, %called_host ],
                    [ 7, %write_arguments ], [ 7, %read_results ]
  %after = add i64 %at, %length
  store i64 %after, ptr %position
  %wrong = icmp ne i32 %status, 0
  br i1 %wrong, label %stop, label %next
stop:
  %to_python = icmp eq i32 %status, TO_PYTHON
  br i1 %to_python, label %leave, label %failed
failed:
  %failure = phi i32 [ %flushed, %end ], [ %status, %stop ]
  %step = load i64, ptr %here
  store i64 %step, ptr %what
  ret i32 %failure
leave:
  ret i32 TO_PYTHON
}

declare i32 @clock_gettime(i32, ptr)

define internal i64 @now() noinline {
  %moment = alloca [2 x i64]
  %read = call i32 @clock_gettime(i32 CLOCK, ptr %moment)
  %seconds = call i64 @element(ptr %moment, i64 0)
  %rest = call i64 @element(ptr %moment, i64 1)
  %of_seconds = mul i64 %seconds, 1000000000
  %nanoseconds = add i64 %of_seconds, %rest
  ret i64 %nanoseconds
}

; The addresses of places.
define internal void @addresses(ptr %slots, ptr %places, i64 %count, ptr %values) {
entry:
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %place ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %place, label %end
place:
  %words = shl i64 %number, 1
  %here = getelementptr i64, ptr %places, i64 %words
  %slot = call i64 @element(ptr %here, i64 0)
  %offset = call i64 @element(ptr %here, i64 1)
  %base = call i64 @element(ptr %slots, i64 %slot)
  %address = add i64 %base, %offset
  %value = getelementptr i64, ptr %values, i64 %number
  store i64 %address, ptr %value
  %following = add i64 %number, 1
  br label %next
end:
  ret void
}
"""

_loaded: dict[str, tuple[LoadedCode, Any]] = {}


class Words:
    """What the native function is given for one run at a time, and what it points to."""

    def __init__(self, device: Device, code: PlanCode) -> None:
        self.slots = (c_int64 * code.slots)()
        self.register = device.host_block(8)
        self.words = (c_int64 * (_ADDRESSES + code.most_places + code.most_together))()
        addresses = [code.numbers.ctypes.data, ctypes.addressof(self.slots), 0, self.register.address]
        self.words[: len(addresses)] = addresses
        self.words[_MOST] = code.most_places
        self.address = ctypes.addressof(self.words)
        self.position_address = self.address + 8 * _POSITION


class NativeRun:
    """A plan with its kernels on a device. Safe to use from several threads at once."""

    def __init__(
        self,
        device: Device,
        plan: Plan,
        kernels: dict[str, Kernel],
        arguments: int,
        results: int,
        packed: Packed | None = None,
        of_entry: bool = False,
    ) -> None:
        self.device, self._kernels = device, kernels
        functions = functions_of(device, plan, of_entry)
        self._code = encode(
            plan,
            arguments,
            results,
            lambda launch: (kernels[launch.kernel].handle, kernels[launch.kernel].together),
            packed,
            lambda call: functions[call.instruction].address if call.instruction in functions else 0,
        )
        self.functions = functions
        for launch in {step.kernel: step for step in self._code.steps if isinstance(step, Launch)}.values():
            device.prepare(kernels[launch.kernel], len(launch.arguments), launch.shared_bytes)
        self._host_calls = [HostInstruction(device, call.instruction) for call in self._code.host_calls]
        self._launches = [(step.kernel, step.source) for step in self._code.steps if isinstance(step, Launch)]
        calls = device.native_calls()
        tables = (calls.table, calls.by_own_thread, calls.of_entries)
        self._tables = [None if table is None else (c_int64 * len(table))(*table) for table in tables]
        addresses = [None if table is None else ctypes.addressof(table) for table in self._tables]
        self._table, by_own_thread, self._of_entries = addresses
        self._by_own_thread = by_own_thread if has_blocks_of_one_thread(plan.steps) else None
        self._is_short = plan.is_short
        self._lock, self._asked = calls.lock, calls.asked
        self._waits = packed is not None
        self._run = _run_function(calls.functions)
        if functions:
            self._run = _RUN_WITH_CALLS(ctypes.cast(self._run, c_void_p).value)
        self._pack = struct.Struct(f"={arguments + results + 3}q").pack_into
        self._unused: list[Words] = []
        self._given = arguments + results

    def __call__(
        self, arguments: Sequence[int], results: Sequence[int], constants: int, temporaries: int, host: int = 0
    ) -> None:
        """Ask the device for all of it. Raises what a step raises; no step comes after that."""
        self.at([*arguments, *results, constants, temporaries, host])

    def words_of_entry(self, constants: int, temporaries: int) -> tuple[Words, int]:
        """What the function is given by calls that bypass Python, and the address of that function.

        They are run by the thread, in turn; the addresses of arguments and results are still to be stored in the first slots.
        """
        words = Words(self.device, self._code)
        words.slots[self._given : self._given + 2] = [constants, temporaries]
        words.words[_DEVICE] = self._of_entries
        address = ctypes.cast(self._run, c_void_p).value
        assert address
        return words, address

    def at(self, addresses: Sequence[int], waits: bool = False) -> None:
        """As a call, with all addresses in order. ``waits``: the thread is to wait for all of it in any case."""
        device = self.device
        device.require_usable()
        try:
            used = self._unused.pop()
        except IndexError:
            used = Words(device, self._code)
        words, lock, asked = used.words, self._lock, self._asked
        self._pack(used.slots, 0, *addresses)
        if self._launches:
            device.launched.programs.append(self._launches)
        words[_POSITION] = 0
        is_limited = words[_LIMITED] = kernel_time.seconds is not None
        if asked is None:
            words[_DEVICE] = self._table
            self._run_to_end(used, lock)
        elif (waits or self._is_short) and self._by_own_thread is not None and asked.is_done and not is_limited:
            words[_DEVICE] = self._by_own_thread
            self._run_to_end(used, lock)
        else:
            words[_DEVICE], last = self._table, asked.more()
            self._run_to_end(used, lock)
            if self._waits:
                asked.done_until(last)
            else:
                asked.more()
        self._unused.append(used)

    def _run_to_end(self, used: Words, lock: Any) -> None:
        address = used.address
        status = self._run(address) if lock is None else self._run_locked(address)
        waited = time.monotonic_ns() if status else 0
        while status:
            if status == _TO_PYTHON:
                self._go_on(used)
            elif status != PAUSED:
                self.fail(status, used)
            elif self.device.properties.is_processor and time.monotonic_ns() - waited > _PAUSED_AFTER:
                # Its queue takes any number of launches, and who waits for all of them cannot be interrupted.
                self.device.synchronize()
                waited = time.monotonic_ns()
            status = self._run(address) if lock is None else self._run_locked(address)

    def _run_locked(self, address: int) -> int:
        with self._lock:
            return self._run(address)

    def _go_on(self, used: Words) -> None:
        words = used.words
        what = words[_WHAT]
        if self._asked is not None and words[_DEVICE] == self._table:
            self._asked.more()  # also what has just been put there is to be waited for
        if what < 0:
            self.device.read(used.register.address, words[_ADDRESSES], -what)
        else:
            call = self._host_calls[what]
            call(words[_ADDRESSES : _ADDRESSES + call.arrays])

    def fail(self, status: int, used: Words) -> None:
        """Raise what a status of the driver stands for that a run has ended with."""
        number = used.words[_WHAT]
        if number < 0:
            self.device.check(status, "beginning to run a program")
        step = self._code.steps[number]
        if isinstance(step, Launch):
            kernel = self._kernels[step.kernel]
            self.device.check_launch(status, kernel, step.grid, step.block, step.shared_bytes)
        if isinstance(step, HostCall) and step.instruction in self.functions:
            self.functions[step.instruction].executable.raise_error(status)
        self.device.check(status, str(step))


def _run_function(functions: str) -> Any:
    with compilation_lock:
        if functions not in _loaded:
            names = {name: str(value) for name, value in vars(plan_code).items() if name.isupper()}
            names |= {"PAUSED": str(PAUSED), "TO_PYTHON": str(_TO_PYTHON), "JUMPS": str(_JUMPS_BETWEEN_PAUSES)}
            names |= {"NANOSECONDS": str(_PAUSED_AFTER), "CLOCK": str(time.CLOCK_MONOTONIC)}
            text = re.sub(r"\b[A-Z][A-Z_0-9]+\b", lambda found: names[found.group()], _ASSEMBLY)
            code = LoadedCode([kept_object_code(READERS + functions + text, host_target())], host_target(), {})
            _loaded[functions] = code, _RUN(code.address("run"))
        return _loaded[functions][1]

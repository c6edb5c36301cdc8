"""What this machine can do, measured: the bandwidth of its memory and caches, and the peak of its vector units, on all threads.

The loops are LLVM assembly, compiled by llvmlite alone, so that no contender's code decides what the limit is.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
from llvmlite import binding

# Beyond this a triad is in memory; below, its arrays stay in a cache from one pass to the next.
LARGEST_FOOTPRINT = 1 << 28
SMALLEST_FOOTPRINT = 1 << 16
ACCUMULATORS = 12  # enough to hide the latency of two multiply-adds a cycle, and no more than AVX2 has registers for

_TRIAD = """
define void @{name}(ptr %a, ptr %b, ptr %c, i64 %count, i64 %passes) {{
entry:
  br label %pass
pass:
  %p = phi i64 [ 0, %entry ], [ %p.next, %done ]
  br label %loop
loop:
  %i = phi i64 [ 0, %pass ], [ %i.next, %loop ]
{body}
  %i.next = add i64 %i, 32
  %more = icmp ult i64 %i.next, %count
  br i1 %more, label %loop, label %done
done:
  %p.next = add i64 %p, 1
  %again = icmp ult i64 %p.next, %passes
  br i1 %again, label %pass, label %out
out:
  {fence}
  ret void
}}
"""


class Limits:
    """The limits for a number of threads; each is measured when it is first asked for."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.bandwidths: dict[int, float] = {}
        self.peaks: dict[str, float] = {}

    def bandwidth(self, footprint: float = LARGEST_FOOTPRINT) -> float:
        """Bytes a second, read and written, of a triad over about this many bytes."""
        clamped = min(max(int(footprint), SMALLEST_FOOTPRINT), LARGEST_FOOTPRINT)
        size = 1 << (clamped - 1).bit_length()
        if size not in self.bandwidths:
            self.bandwidths[size] = _triad(size, self.threads)
        return self.bandwidths[size]

    def peak(self, unit: str) -> float:
        """Operations a second, a multiply-add being two; of f32, f64, and where the machine has instructions, int8 and bf16."""
        if unit not in self.peaks:
            self.peaks[unit] = _multiply_adds(unit, self.threads)
        return self.peaks[unit]

    def as_data(self) -> dict[str, object]:
        return {"threads": self.threads, "bytes per second by footprint": self.bandwidths, "flops": self.peaks}


@cache
def _features() -> dict[str, bool]:
    return dict(binding.get_host_cpu_features())


def _target_machine() -> binding.TargetMachine:
    """A new one for each engine, which takes it over."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=3
    )


def _compiled(text: str, name: str, *types: type) -> tuple[Callable[..., None], object]:
    """The function, which runs without the interpreter's lock, and what keeps its code."""
    engine = binding.create_mcjit_compiler(binding.parse_assembly(text), _target_machine())
    engine.finalize_object()
    return ctypes.CFUNCTYPE(None, *types)(engine.get_function_address(name)), engine


def _least(calls: Sequence[Callable[[], None]], turns: int) -> float:
    """The least seconds that the calls take, each in a thread of its own."""
    return min(_together(calls) for _ in range(turns))


def _together(calls: Sequence[Callable[[], None]]) -> float:
    """Seconds from when all begin to when the last one ends."""
    barrier = threading.Barrier(len(calls))
    times: list[tuple[float, float]] = []

    def run(call: Callable[[], None]) -> None:
        barrier.wait()
        start = time.perf_counter()
        call()
        times.append((start, time.perf_counter()))

    workers = [threading.Thread(target=run, args=(call,)) for call in calls]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return max(end for _, end in times) - min(start for start, _ in times)


def _triad_body(store: str) -> str:
    lines = []
    for k in range(4):
        lines += [
            f"  %o{k} = add i64 %i, {8 * k}",
            *(f"  %{one}{k} = getelementptr double, ptr %{one}, i64 %o{k}" for one in "abc"),
            f"  %x{k} = load <8 x double>, ptr %b{k}, align 64",
            f"  %y{k} = load <8 x double>, ptr %c{k}, align 64",
            f"  %t{k} = fmul <8 x double> %y{k}, splat (double 3.0)",
            f"  %s{k} = fadd <8 x double> %x{k}, %t{k}",
            f"  store <8 x double> %s{k}, ptr %a{k}, align 64{store}",
        ]
    return "\n".join(lines)


def _triad(footprint: int, threads: int) -> float:
    """The better of ordinary stores and those that pass by the caches."""
    count = footprint // 24 // threads // 32 * 32
    memory = np.ones(3 * count * threads + 8)
    first = memory.ctypes.data + -memory.ctypes.data % 64
    pointers = [[first + 8 * count * (3 * number + k) for k in range(3)] for number in range(threads)]
    passes = max(1, (1 << 26) // footprint)
    best = 0.0
    for store, fence in (("", ""), (", !nontemporal !0", "fence seq_cst")):
        text = _TRIAD.format(name="triad", body=_triad_body(store), fence=fence) + "!0 = !{i32 1}\n"
        function, engine = _compiled(text, "triad", *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_int64)
        calls = [partial(function, *those, count, passes) for those in pointers]
        best = max(best, 24.0 * count * threads * passes / _least(calls, 25))
        del engine
    return best


def _multiply_adds(unit: str, threads: int) -> float:
    vector, step, work = _instruction(unit)
    rounds = 200_000
    entry = "\n".join(f"  %s{k} = load {vector}, ptr %data, align 4" for k in range(ACCUMULATORS))
    phis = "\n".join(f"  %v{k} = phi {vector} [ %s{k}, %entry ], [ %w{k}, %loop ]" for k in range(ACCUMULATORS))
    steps = "\n".join(f"  %w{k} = {step.format(f'%v{k}')}" for k in range(ACCUMULATORS))
    stores = "\n".join(f"  store volatile {vector} %w{k}, ptr %data, align 4" for k in range(ACCUMULATORS))
    text = f"""
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
define void @adds(ptr %data, i64 %rounds) {{
entry:
  %x = load volatile {vector}, ptr %data, align 4
{entry}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
{phis}
{steps}
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %rounds
  br i1 %more, label %loop, label %out
out:
{stores}
  ret void
}}
"""
    function, engine = _compiled(text, "adds", ctypes.c_void_p, ctypes.c_int64)
    data = [np.zeros(64, np.uint8) for _ in range(threads)]
    seconds = _least([partial(function, one.ctypes.data, rounds) for one in data], 60)
    del engine
    return float(work * ACCUMULATORS * rounds * threads) / seconds


def has_unit(unit: str) -> bool:
    """Whether there are instructions for products of these numbers; AMX is not looked for."""
    names = {"int8": "avx512vnni", "bf16": "avx512bf16"}
    return unit not in names or _features().get(names[unit], False)


def _instruction(unit: str) -> tuple[str, str, int]:
    """The type of an accumulator, a multiply-add of %x and it, and how many operations that is."""
    if unit == "int8":
        return "<16 x i32>", 'call <16 x i32> asm "vpdpbusd $2, $2, $0", "=v,0,v"(<16 x i32> {0}, <16 x i32> %x)', 128
    if unit == "bf16":
        return "<16 x float>", 'call <16 x float> asm "vdpbf16ps $2, $2, $0", "=v,0,v"(<16 x float> {0}, <16 x float> %x)', 64
    lanes = (16 if _features().get("avx512f") else 8) // (2 if unit == "f64" else 1)
    element = "double" if unit == "f64" else "float"
    vector = f"<{lanes} x {element}>"
    return vector, f"call {vector} @llvm.fma.v{lanes}{unit}({vector} %x, {vector} %x, {vector} {{0}})", 2 * lanes

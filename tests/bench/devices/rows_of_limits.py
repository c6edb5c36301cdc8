"""The rows of `tests.bench.limits` on a device beside JAX there, as users' calls with arrays that stay on the device.

JAX runs on whatever device it has chosen, and multiplies f32 as f32. Results are compared first. Another backend of phlox may
take JAX's place: ``cpu`` for OpenCL on a processor, in the same process, by turns, on as many threads (Intel's runtime has as
many as ``DPCPP_CPU_NUM_CUS`` says, else one for each core; the CPU backend, as ``PHLOX_NUM_THREADS`` says). Beside the ratio of
times stands that of the processor's time in all threads, which hardly depends on what else the machine does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from math import exp, log
from typing import Any

import phlox

from ..limits.contenders import jax, leaves
from ..limits.measuring import compare
from ..limits.rows import chosen
from .contenders import of_module, to_host, waiting_for
from .peers import mapped
from .timing import Contender, times_of

# What says nothing of a device: its rows are about NumPy's calls, or memory of the process.
LEFT_OUT = {"Calls", "Cold functions: trace, compile, first run", "Memory beside the arguments", "Loops over elements"}
# Rows, by what they begin with, that measure something else than calls.
NO_CALLS = ("error of ", "compilation of ")


def rows_of(words: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Chapters and rows that have one of these words in their names."""
    for chapter, rows in chosen(words):
        if chapter.TITLE not in LEFT_OUT:
            yield from ((chapter.TITLE, row) for row in rows if not row.name.startswith(NO_CALLS))


def measured(row: Any, backend: str, beside: str | None) -> dict[str, Any]:
    """The record of a row, with the error where it cannot be measured."""
    record: dict[str, Any] = {"row": row.name}
    try:
        case = row.make()
        ours = case.contenders["phlox"]
        contenders = {"phlox": on_device(ours.function, ours.arguments, backend)}
        if beside is not None:
            contenders[beside] = on_device(ours.function, ours.arguments, beside)
        elif (theirs := case.contenders.get("JAX")) is not None:
            contenders["JAX"] = of_jax(theirs)
        results = {}
        for name, (call, wait) in contenders.items():
            started = time.perf_counter()
            first = call()
            wait(first)
            record["first call" if name == "phlox" else f"first call of {name}"] = time.perf_counter() - started
            results[name] = list(leaves(case.comparable(to_host(first))))
        for other in results.keys() - {"phlox"}:
            compare("phlox", results["phlox"], other, results[other], 10 * case.tolerance)
        del results, first
        for name, (seconds, of_processor) in times_of(contenders).items():
            record |= {name: seconds / case.per, f"{name}, processor": of_processor / case.per}
        record |= {"bytes": case.bytes / case.per, "flops": case.flops / case.per}
    except Exception as error:
        record["error"] = f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]
    return record


def of_jax(contender: Any) -> Contender:
    return contender, jax.block_until_ready


def on_device(function: Any, arguments: tuple[Any, ...], backend: str) -> Contender:
    """A call of the contender's function, compiled for another backend, with its arguments there."""
    if hasattr(function, "executable"):
        return of_module(function.module, arguments, backend)
    compiled = phlox.jit(function.__wrapped__, backend=backend)
    given = [mapped(lambda array: phlox.device_put(array, backend), one) for one in arguments]
    return lambda: compiled(*given), waiting_for(backend)


def line(record: dict[str, Any], other: str) -> str:
    if "error" in record:
        return f"{record['row']:52} {record['error']}"
    ours, theirs = record["phlox"], record.get(other)
    ratio = f"{theirs / ours:6.2f} x {other}" if theirs else ""
    if theirs and other != "JAX":  # what others do on the machine does not count then
        ratio += f", {record[f'{other}, processor'] / max(record['phlox, processor'], 1e-9):5.2f} in processor time"
    rates = [f"{record[key] / ours / scale:8.{digits}f} {unit}" for key, scale, digits, unit in
             (("bytes", 1e9, 0, "GB/s"), ("flops", 1e12, 2, "TFLOP/s")) if record[key]]  # fmt: skip
    return f"{record['row']:52} {ours * 1e6:10.1f} us {ratio:14} {'  '.join(rates)}"


def markdown(device: str, chapters: list[tuple[str, list[dict[str, Any]]]], other: str) -> str:
    beside = "JAX's on the same one" if other == "JAX" else f"those of the {other} backend"
    lines = [
        f"# Benchmarks on a device\n\nMeasured on {device} by `python -m tests.bench.devices`: calls with arrays that stay on "
        f"the device, beside {beside}.\n"
    ]
    for title, records in chapters:
        ratios = [one[other] / one["phlox"] for one in records if one.get(other) and "phlox" in one]
        times = f"{exp(sum(map(log, ratios)) / len(ratios)):.2f}" if ratios else ""
        mean = f" ({times} times as fast as {other} in the geometric mean)" if ratios else ""
        lines.append(f"\n## {title}{mean}\n\n| | phlox | x {other} | GB/s | TFLOP/s |\n|---|---:|---:|---:|---:|")
        for one in records:
            if "error" in one:
                lines.append(f"| {one['row']} | {one['error']} | | | |")
                continue
            ours = one["phlox"]
            ratio = f"{one[other] / ours:.2f}" if one.get(other) else ""
            moved = f"{one['bytes'] / ours / 1e9:.0f}" if one["bytes"] else ""
            computed = f"{one['flops'] / ours / 1e12:.2f}" if one["flops"] else ""
            lines.append(f"| {one['row']} | {ours * 1e6:.1f} us | {ratio} | {moved} | {computed} |")
    return "\n".join(lines) + "\n"

"""phlox on a device beside JAX there: the rows of `tests.bench.limits`, as users' calls with arrays that stay on the device.

    python -m tests.bench.devices --backend cuda [ROW ...] [--json FILE] [--markdown FILE] [--seconds S]
    python -m tests.bench.devices --backend opencl --beside cpu [ROW ...]

JAX runs on whatever device it has chosen, and multiplies f32 as f32. Results are compared first. A time is that of a call among
many that are asked for one behind the other, the last of which is waited for. ``--beside`` names another backend of phlox to
take JAX's place: ``cpu`` for OpenCL on a processor, in the same process, by turns, on as many threads (Intel's runtime has as
many as ``DPCPP_CPU_NUM_CUS`` says, else one for each core; the CPU backend, as ``PHLOX_NUM_THREADS`` says). Beside the ratio of
times stands that of the processor's time in all threads, which hardly depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from math import exp, log
from typing import Any

# What says nothing of a device: its rows are about NumPy's calls, or memory of the process.
LEFT_OUT = {"Calls", "Cold functions: trace, compile, first run", "Memory beside the arguments", "Loops over elements"}
BATCH, TURNS = 0.004, 25
SETTLE = 1e-3  # seconds between turns, in which the other contenders' threads fall asleep


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.devices", description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only the rows, or chapters, with this in their names")
    parser.add_argument("--backend", default="gpu", help="cuda, rocm, opencl, gpu (default)")
    parser.add_argument("--beside", metavar="BACKEND", help="compare with this backend of phlox, instead of JAX")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured there")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there")
    parser.add_argument("--seconds", type=float, default=600.0, help="no row is begun after so long (default: 600)")
    return parser.parse_args()


Contender = tuple[Callable[[], Any], Callable[[Any], Any]]  # a call, and what waits for its result


def times_of(contenders: dict[str, Contender]) -> dict[str, tuple[float, float]]:
    """Seconds of each one's call, and of the processor in all threads: the least of batches of calls, which take turns."""
    counts = {}
    for name, (call, wait) in contenders.items():
        wait(call())
        started = time.perf_counter()
        wait(call())
        counts[name] = max(1, min(200, round(BATCH / max(time.perf_counter() - started, 1e-6))))
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for _ in range(TURNS):
        for name, (call, wait) in contenders.items():
            time.sleep(SETTLE)
            started = time.perf_counter(), time.process_time()
            for _ in range(counts[name]):
                result = call()
            wait(result)
            ended = time.perf_counter(), time.process_time()
            found[name].append(tuple([(end - start) / counts[name] for start, end in zip(started, ended)]))
    return {name: tuple(map(min, zip(*times))) for name, times in found.items()}


def measured(row: Any, backend: str, beside: str | None) -> dict[str, Any]:
    """The record of a row, with the error where it cannot be measured."""
    from .limits.contenders import leaves
    from .limits.measuring import _compare

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
            _compare("phlox", results["phlox"], other, results[other], 10 * case.tolerance)
        del results, first
        for name, (seconds, of_processor) in times_of(contenders).items():
            record |= {name: seconds / case.per, f"{name}, processor": of_processor / case.per}
        record |= {"bytes": case.bytes / case.per, "flops": case.flops / case.per}
    except Exception as error:
        record["error"] = f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]
    return record


def of_jax(contender: Any) -> Contender:
    from .limits.contenders import jax

    return contender, jax.block_until_ready


def on_device(function: Any, arguments: tuple[Any, ...], backend: str) -> Contender:
    """A call of the contender's function, compiled for another backend, with its arguments there."""
    import phlox
    from phlox.backends.registry import get_backend

    memory = get_backend(backend).memory
    synchronize = getattr(memory, "synchronize", None)  # the process's memory has none: calls wait

    def wait(result: Any) -> None:
        if synchronize is not None:
            synchronize()

    if not hasattr(function, "executable"):
        compiled = phlox.jit(function.__wrapped__, backend=backend)
        given = [one if isinstance(one, int | float) else phlox.device_put(one, backend) for one in arguments]
        return lambda: compiled(*given), wait
    executable = get_backend(backend).compile(function.module)  # a program of HLO text
    buffers = [memory.share(argument) for argument in arguments]
    return lambda: Buffers(executable.execute(buffers), memory), wait


class Buffers(tuple):
    """The results of a program of HLO text."""

    def __new__(cls, buffers: Any, memory: Any) -> Buffers:
        made = super().__new__(cls, buffers)
        made.memory = memory
        return made


def to_host(result: Any) -> Any:
    import numpy as np

    if isinstance(result, Buffers):
        return tuple(map(result.memory.read, result))
    if isinstance(result, dict):
        return {key: to_host(one) for key, one in result.items()}
    if isinstance(result, tuple | list):
        return type(result)(map(to_host, result))
    return np.asarray(result)


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


def main() -> int:
    options = parse_options()
    os.environ.setdefault("PHLOX_CACHE", "0")
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("JAX_DEFAULT_MATMUL_PRECISION", "highest")  # f32, as phlox multiplies them
    warnings.simplefilter("ignore")
    import phlox

    from .limits.rows import chosen

    device = phlox.devices(options.backend)[0]
    begun, chapters, other = time.perf_counter(), [], options.beside or "JAX"
    for chapter, rows in chosen(options.rows):
        if chapter.TITLE in LEFT_OUT:
            continue
        print(f"\n{chapter.TITLE}", flush=True)
        records: list[dict[str, Any]] = []
        chapters.append((chapter.TITLE, records))
        for row in rows:
            if time.perf_counter() - begun > options.seconds:
                break
            records.append(measured(row, options.backend, options.beside))
            print(line(records[-1], other), flush=True)
    properties = getattr(device.backend, "properties", None)
    name = device.name if properties is None else f"{properties.name} ({properties.driver})"
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"device": name, "chapters": dict(chapters)}, file, indent=1)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(markdown(name, chapters, other))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""phlox on a device beside JAX there: the rows of `tests.bench.limits`, as users' calls with arrays that stay on the device.

    python -m tests.bench.devices --backend cuda [ROW ...] [--json FILE] [--markdown FILE] [--seconds S]

JAX runs on whatever device it has chosen, and multiplies f32 as f32. Results are compared first. A time is that of a call among
many that are asked for one behind the other, the last of which is waited for.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from math import exp, log
from typing import Any

# What says nothing of a device: its rows are about NumPy's calls, or memory of the process.
LEFT_OUT = {"Calls", "Cold functions: trace, compile, first run", "Memory beside the arguments", "Loops over elements"}
BATCH, TURNS = 0.02, 5


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.devices", description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only the rows, or chapters, with this in their names")
    parser.add_argument("--backend", default="gpu", help="cuda, rocm, opencl, gpu (default)")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured there")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there")
    parser.add_argument("--seconds", type=float, default=600.0, help="no row is begun after so long (default: 600)")
    return parser.parse_args()


def time_of(call: Callable[[], Any], wait: Callable[[Any], Any]) -> float:
    """Seconds of a call: the median of a few batches of calls."""
    started = time.perf_counter()
    wait(call())
    count = max(1, min(200, round(BATCH / max(time.perf_counter() - started, 1e-6))))
    found = []
    for _ in range(TURNS):
        started = time.perf_counter()
        for _ in range(count):
            result = call()
        wait(result)
        found.append((time.perf_counter() - started) / count)
    return statistics.median(found)


def measured(row: Any, backend: str) -> dict[str, Any]:
    """The record of a row, with the error where it cannot be measured."""
    import numpy as np

    from .limits.contenders import jax, leaves
    from .limits.measuring import _compare

    record: dict[str, Any] = {"row": row.name}
    try:
        case = row.make()
        ours = case.contenders["phlox"]
        started = time.perf_counter()
        function, arguments = on_device(ours.function, ours.arguments, backend)
        first = function(*arguments)
        wait_for(first)
        record["first call"] = time.perf_counter() - started
        found = list(leaves(case.comparable(to_host(first))))
        theirs = case.contenders.get("JAX")
        if theirs is not None:
            started = time.perf_counter()
            expected = jax.block_until_ready(theirs())
            record["first call of JAX"] = time.perf_counter() - started
            _compare(
                "phlox", found, "JAX", list(leaves(case.comparable(jax.tree.map(np.asarray, expected)))), 10 * case.tolerance
            )
        record["phlox"] = time_of(lambda: function(*arguments), wait_for) / case.per
        if theirs is not None:
            record["JAX"] = time_of(theirs, jax.block_until_ready) / case.per
        record |= {"bytes": case.bytes / case.per, "flops": case.flops / case.per}
    except Exception as error:
        record["error"] = f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]
    return record


def on_device(function: Any, arguments: tuple[Any, ...], backend: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The contender's function, compiled for another backend, and its arguments there."""
    import phlox
    from phlox.backends.registry import get_backend

    if not hasattr(function, "executable"):
        return phlox.jit(function.__wrapped__, backend=backend), phlox.device_put(arguments, backend)
    memory = get_backend(backend).memory  # a program of HLO text
    executable = get_backend(backend).compile(function.module)
    buffers = [memory.share(argument) for argument in arguments]
    return lambda *given: Buffers(executable.execute(given), memory), tuple(buffers)


class Buffers(tuple):
    """The results of a program of HLO text."""

    def __new__(cls, buffers: Any, memory: Any) -> Buffers:
        made = super().__new__(cls, buffers)
        made.memory = memory
        return made


def wait_for(result: Any) -> None:
    """Wait for the arrays of a result."""
    if isinstance(result, Buffers):
        result.memory.synchronize()
        return
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, tuple | list):
        for one in result:
            wait_for(one)
    elif hasattr(result, "block_until_ready"):
        result.block_until_ready()


def to_host(result: Any) -> Any:
    import numpy as np

    if isinstance(result, Buffers):
        return tuple(map(result.memory.read, result))
    if isinstance(result, dict):
        return {key: to_host(one) for key, one in result.items()}
    if isinstance(result, tuple | list):
        return type(result)(map(to_host, result))
    return np.asarray(result)


def line(record: dict[str, Any]) -> str:
    if "error" in record:
        return f"{record['row']:52} {record['error']}"
    ours, theirs = record["phlox"], record.get("JAX")
    ratio = f"{theirs / ours:6.2f} x JAX" if theirs else ""
    rates = [f"{record[key] / ours / scale:8.{digits}f} {unit}" for key, scale, digits, unit in
             (("bytes", 1e9, 0, "GB/s"), ("flops", 1e12, 2, "TFLOP/s")) if record[key]]  # fmt: skip
    return f"{record['row']:52} {ours * 1e6:10.1f} us {ratio:14} {'  '.join(rates)}"


def markdown(device: str, chapters: list[tuple[str, list[dict[str, Any]]]]) -> str:
    lines = [
        f"# Benchmarks on a device\n\nMeasured on {device} by `python -m tests.bench.devices`: calls with arrays that stay on "
        "the device, beside JAX's on the same one.\n"
    ]
    for title, records in chapters:
        ratios = [one["JAX"] / one["phlox"] for one in records if one.get("JAX") and "phlox" in one]
        mean = f" ({exp(sum(map(log, ratios)) / len(ratios)):.2f} times as fast as JAX in the geometric mean)" if ratios else ""
        lines.append(f"\n## {title}{mean}\n\n| | phlox | x JAX | GB/s | TFLOP/s |\n|---|---:|---:|---:|---:|")
        for one in records:
            if "error" in one:
                lines.append(f"| {one['row']} | {one['error']} | | | |")
                continue
            ours = one["phlox"]
            ratio = f"{one['JAX'] / ours:.2f}" if one.get("JAX") else ""
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
    begun, chapters = time.perf_counter(), []
    for chapter, rows in chosen(options.rows):
        if chapter.TITLE in LEFT_OUT:
            continue
        print(f"\n{chapter.TITLE}", flush=True)
        records: list[dict[str, Any]] = []
        chapters.append((chapter.TITLE, records))
        for row in rows:
            if time.perf_counter() - begun > options.seconds:
                break
            records.append(measured(row, options.backend))
            print(line(records[-1]), flush=True)
    properties = getattr(device.backend, "properties", None)
    name = device.name if properties is None else f"{properties.name} ({properties.driver})"
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"device": name, "chapters": dict(chapters)}, file, indent=1)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(markdown(name, chapters))
    return 0


if __name__ == "__main__":
    sys.exit(main())

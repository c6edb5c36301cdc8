"""Where the time of a whole program goes, kernel by kernel, and how near each is to what the machine can do."""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from ..backends.registry import get_backend, in_place_of
from ..runtime.source_lines import shown_line
from ..tracer.calls.diversion import diverted
from ..tracer.calls.jitted_function import JittedFunctionBase
from ..tracer.calls.profile import duration
from .machine_limits import MachineLimits, machine_limits

# Beginnings of kernels that are kept for the trace: 24 bytes each.
_ROOM = 1 << 20
_VARIABLE = "PHLOX_PROFILE"


class KernelRow(NamedTuple):
    """A kernel: the program that it belongs to, and all runs of it together.

    ``operations`` are the opcodes that it computes, ``lines`` the places that they come from, that of the result first;
    ``bytes``, ``flops`` and ``transcendentals`` are estimates for one run, read from the shapes. Of arrays whose size the
    program decides the bound counts.
    """

    program: str
    operations: tuple[str, ...]
    lines: tuple[tuple[str, int], ...]
    calls: int
    seconds: float
    flops: int
    transcendentals: int
    bytes: int
    element_bytes: int

    def fraction_of_limit(self, limits: MachineLimits) -> float:
        """The time that it would take at the machine's limits, of the time that it takes.

        Above 1 where its arrays come from a cache, which is faster than memory.
        """
        peak = limits.flops_double if self.element_bytes > 4 else limits.flops_single
        least = max(self.bytes / limits.bytes, self.flops / peak)
        return least * self.calls / self.seconds if self.seconds else 0.0


class KernelProfile:
    """What `kernels` has measured; at its end complete. ``rows`` has the kernel that took longest first."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    @property
    def rows(self) -> Sequence[KernelRow]:
        found = [
            KernelRow(clock.name, key.opcodes, key.lines, calls, seconds, *key.cost, key.element_bytes)
            for clock in self._backend.moments.clocks
            for key, (seconds, calls) in clock.seconds().items()
        ]
        return sorted(found, key=lambda row: -row.seconds)

    @property
    def seconds(self) -> float:
        """The time that all kernels took."""
        return sum(row.seconds for row in self.rows)

    def __str__(self) -> str:
        rows, limits = self.rows, machine_limits()
        total = sum(row.seconds for row in rows) or 1.0
        heading = f"kernels: {len(rows)}, {total:.3g} s; limits of this machine: {limits}"
        table = [("share", "calls", "a call", "GB/s", "GFLOP/s", "of limit", "program", "lines", "operations")]
        table += [_cells(row, total, limits) for row in rows]
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = [
            "  ".join(cell.rjust(width) if n < 6 else cell.ljust(width) for n, (cell, width) in enumerate(zip(cells, widths)))
            for cells in table
        ]
        return "\n".join([heading, *(line.rstrip() for line in lines)])

    __repr__ = __str__

    def chrome_trace(self, file: str | os.PathLike[str]) -> None:
        """Write when each kernel ran and each program was compiled, as JSON that ``chrome://tracing`` and Perfetto show.

        The first million runs of kernels are kept. Source of the format: "Trace Event Format", Google, 2016.
        """
        with open(file, "w", encoding="utf-8") as opened:
            json.dump({"traceEvents": list(self._events()), "displayTimeUnit": "ns"}, opened)

    def _events(self) -> Iterator[dict[str, Any]]:
        clocks = self._backend.moments.clocks
        for name, start, end in self._backend.compilations:
            times = {"ts": start / 1e3, "dur": (end - start) / 1e3}
            yield {"ph": "X", "name": f"compile {name}", "cat": "compilation", "pid": 0, "tid": len(clocks), **times}
        yield {"ph": "M", "name": "thread_name", "pid": 0, "tid": len(clocks), "args": {"name": "compilation"}}
        for number, clock in enumerate(clocks):
            yield {"ph": "M", "name": "thread_name", "pid": 0, "tid": number, "args": {"name": clock.name}}
        keys = [{row: key for key, row in clock.rows.items()} for clock in clocks]
        begun: dict[int, tuple[int, Any]] = {}
        for moment, number, row in self._backend.moments:
            start, key = begun.pop(number, (0, None))
            if key is not None:
                places = ", ".join(shown_line(*line) for line in key.lines)
                yield {
                    "ph": "X", "name": places or ", ".join(key.opcodes), "cat": "kernel", "pid": 0, "tid": number,
                    "ts": start / 1e3, "dur": (moment - start) / 1e3,
                    "args": {"operations": ", ".join(key.opcodes), **key.cost._asdict()},
                }  # fmt: skip
            begun[number] = moment, keys[number].get(row)


@contextmanager
def kernels() -> Iterator[KernelProfile]:
    """Within, jitted functions run code that times what it computes in one go: loops over memory, products, sorts, transforms.

    They are compiled anew for that; what ``f.compile`` and `load_hlo` give within keeps its clocks. Gives a `KernelProfile`: a
    table, and ``chrome_trace(file)``. The environment variable ``PHLOX_PROFILE=1`` does it for a whole process and prints the
    table at its end; ``PHLOX_PROFILE=trace.json`` writes the trace there, too.

    Raises NotImplementedError for calls of functions of a backend that has no clocks.

    >>> from phlox import debug, jit
    >>> @jit
    ... def scaled(x):
    ...     return np.cos(np.sort(x))
    >>> with debug.kernels() as profile:
    ...     for _ in range(3):
    ...         _ = scaled(np.arange(1000.0))
    >>> sorted((row.operations, row.calls, row.bytes) for row in profile.rows)
    [(('cosine',), 3, 16000), (('sort',), 3, 16000)]
    """
    timing = get_backend("cpu").timing_kernels(_ROOM)  # type: ignore[attr-defined]

    def timed_call(function: JittedFunctionBase, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        backend = function.backend_of_call(args, kwargs)
        if backend.name != "cpu":
            raise NotImplementedError(f"kernels: the backend {backend.name!r} does not time kernels; 'cpu' does")
        return function.compiled_by(timing).run_compiled(args, kwargs)

    with in_place_of(timing.name, timing), diverted(timed_call):
        yield KernelProfile(timing)


def profile_as_asked() -> None:
    """Profile this process where ``PHLOX_PROFILE`` says so: to be called once, when phlox is imported."""
    wish = os.environ.get(_VARIABLE, "0")
    if wish in ("", "0"):
        return
    stack = ExitStack()
    profile = stack.enter_context(kernels())

    def finish() -> None:
        stack.close()
        print(profile, file=sys.stderr)
        if wish != "1":
            profile.chrome_trace(wish)

    atexit.register(finish)


def _cells(row: KernelRow, total: float, limits: MachineLimits) -> tuple[str, ...]:
    each = row.seconds / row.calls
    bandwidth, rate = (f"{amount / each / 1e9:.3g}" if each else "-" for amount in (row.bytes, row.flops))
    lines = ", ".join(dict.fromkeys(shown_line(*line) for line in row.lines[:3])) + (", ..." if len(row.lines) > 3 else "")
    operations = ", ".join(row.operations[:6]) + (", ..." if len(row.operations) > 6 else "")
    share, limit = row.seconds / total, row.fraction_of_limit(limits)
    return (
        f"{share:.1%}",
        f"{row.calls:,}",
        duration(each),
        bandwidth,
        rate,
        f"{limit:.0%}",
        row.program,
        lines or "-",
        operations,
    )

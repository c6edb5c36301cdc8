"""What a call costs, what compiling costs, and how fast chains, reductions, products and loops run.

Every row is measured in this one process, the contenders taking turns, so that what disturbs the machine disturbs them all;
the fastest turn counts. The last columns compare with what the machine can do: rows that move memory with its copy bandwidth,
matrix products with the fastest of the contenders. Contenders that are not installed are left out::

    python tests/bench/calls_and_chains.py [--threads N] [--only WORD] [--turns N]
"""

from __future__ import annotations

import argparse
import math
import os
import sys

PEERS = ("phlox", "NumPy", "JAX", "Numba")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads for every contender (default: 1)")
    parser.add_argument("--turns", type=int, default=15, metavar="N", help="turns of each contender in a row (default: 15)")
    parser.add_argument("--only", default="", metavar="WORD", help="only the rows whose title contains this")
    parser.add_argument("--backend", default="cpu", metavar="NAME", help="phlox's backend (default: cpu)")
    return parser.parse_args()


def limit_threads(threads):
    """For all contenders; before any of them is imported, because that is when they read it."""
    for variable in ("PHLOX_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = str(threads)
    os.environ["PHLOX_CACHE"] = "0"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["JAX_ENABLE_X64"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])  # JAX has no other switch


def measure(row, turns):
    """Seconds of the fastest turn of each contender; a turn is as many calls as take about 2 ms."""
    timers = {}
    for name, contender in row.contenders.items():
        timer = contender.timer()
        timer.timeit(1)
        timers[name] = timer, max(1, round(2e-3 / max(timer.timeit(1), 1e-8)))
    for _ in range(turns):
        for name, (timer, calls) in timers.items():
            seconds = timer.timeit(calls) / calls / row.per
            row.seconds[name] = min(row.seconds.get(name, math.inf), seconds)


def duration(seconds):
    for unit, scale in (("s ", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:7.2f} {unit}"
    return f"{seconds * 1e9:7.1f} ns"


def print_row(row, bandwidth):
    phlox = row.seconds["phlox"]
    ratios = [f"{row.seconds[name] / phlox:9.2f}" if name in row.seconds else "        -" for name in PEERS[1:]]
    limit = ""
    if row.bytes:
        rate = row.bytes / phlox
        limit = f"{rate / 1e9:7.1f} GB/s   {rate / bandwidth:4.0%} of copying"
    elif row.operations:
        limit = f"{row.operations / phlox / 1e9:7.1f} GF/s   {min(row.seconds.values()) / phlox:4.0%} of the fastest"
    print(f"{row.title:46}{duration(phlox)} {' '.join(ratios)}   {limit}".rstrip())


def copy_bandwidth(turns):
    """Bytes a second, read and written, of NumPy's copy of an array that no cache holds."""
    import numpy as np
    from calls_and_chains_rows import Contender, Row

    source = np.ones(20_000_000, np.float32)
    row = Row("copy", {"NumPy": Contender(np.copyto, (np.empty_like(source), source))})
    measure(row, turns)
    return 2 * source.nbytes / row.seconds["NumPy"]


def main():
    options = parse_options()
    limit_threads(options.threads)

    from calls_and_chains_rows import compile_rows, run_rows
    from phlox import jit

    def compiled(function):
        return jit(function, backend=options.backend)

    bandwidth = copy_bandwidth(options.turns)
    plural = "s" * (options.threads != 1)
    print(f"{options.threads} thread{plural}; copying moves {bandwidth / 1e9:.1f} GB/s")
    print("phlox: time of one call; the others: how many times as long they take\n")
    print(f"{'':46}{'phlox':>10} {' '.join(f'{name:>9}' for name in PEERS[1:])}   limit")
    for row in (*run_rows(compiled), *compile_rows(compiled)):
        if options.only in row.title:
            measure(row, options.turns)
            print_row(row, bandwidth)
    return 0


if __name__ == "__main__":
    sys.exit(main())

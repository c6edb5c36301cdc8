"""Each function of NumPy's, called by itself, decorated and not, on 10, 1,000 and 1,000,000 elements.

The calls stand in `numpy_functions_rows.py`; matrices of linear algebra have 3, 32 and 300 rows. Both are measured in this one
process, in turn, and the medians of the time that one core spends are compared; first calls do not count. The table has the
slowest first, beside NumPy::

    python -m tests.bench.numpy_functions [NAME ...] [--below RATIO] [--sizes N ...] [--json FILE]

A NAME is a function's, as in docs/numpy_functions.md, or a part of a call: ``np.sort``, ``axis=1``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import timeit
import warnings

# Before NumPy is imported, which is when they are read.
for variable in ("PHLOX_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from phlox import jit  # noqa: E402

from .numpy_functions_rows import left_out, rows  # noqa: E402

# A turn takes so long, or one call; all turns of a row so long, where these are not too few.
TURN_SECONDS, ROW_SECONDS = 4e-3, 0.2


def seconds(row):
    """The medians of NumPy's and of phlox's turns, in seconds a call."""
    function = row.function()
    timers, calls = [], []
    for one in (function, jit(function)):
        arguments = row.arguments()
        timer = timeit.Timer("one(*arguments)", timer=time.thread_time, globals={"one": one, "arguments": arguments})
        timer.timeit(1)
        estimate = timer.timeit(1)
        estimate = estimate if estimate > TURN_SECONDS else timer.timeit(5) / 5
        timers.append(timer)
        calls.append(max(1, int(TURN_SECONDS / max(estimate, 1e-8))))
    found, begin = [], time.thread_time()
    while len(found) < 3 or len(found) < 25 and time.thread_time() - begin < ROW_SECONDS:
        found.append([timer.timeit(count) / count for timer, count in zip(timers, calls)])
    return [statistics.median(one) for one in zip(*found)]


def duration(value):
    for unit, scale in (("s ", 1), ("ms", 1e3), ("us", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:7.2f} {unit}"
    return f"{value * 1e9:7.1f} ns"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only the rows of this name, or whose call contains it")
    parser.add_argument("--below", type=float, metavar="RATIO", help="print only rows below this")
    parser.add_argument(
        "--sizes", type=int, nargs="*", metavar="N", help="only these numbers of elements, or of a matrix's rows"
    )
    parser.add_argument("--json", metavar="FILE", help="write all rows there")
    options = parser.parse_args()
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    found, failed = [], []
    wanted = [row for row in rows(options.names) if not options.sizes or row.size in options.sizes]
    for number, row in enumerate(wanted):
        if sys.stderr.isatty():
            print(f"\r{number}/{len(wanted)} {row.text[:60]:60}", end="", file=sys.stderr)
        try:
            numpy, phlox = seconds(row)
        except Exception as error:
            failed.append((row, f"{type(error).__name__}: {error}".partition("\n")[0]))
            continue
        found.append(
            {"name": row.name, "call": row.text, "size": row.size, "numpy": numpy, "phlox": phlox, "ratio": numpy / phlox}
        )
    found.sort(key=lambda one: one["ratio"])
    print(f"{'call':62} {'size':>8} {'NumPy':>10} {'phlox':>10}  NumPy / phlox")
    for one in found:
        if options.below is None or one["ratio"] < options.below:
            times = f"{duration(one['numpy'])} {duration(one['phlox'])}"
            print(f"{one['call'][:62]:62} {one['size']:>8} {times} {one['ratio']:9.2f}")
    for row, error in failed:
        print(f"{row.text} ({row.size}): {error[:100]}")
    if not options.names:
        print(f"not called: {', '.join(left_out())}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())

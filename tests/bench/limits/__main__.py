"""phlox beside NumPy, SciPy, JAX, Numba and the limits of the machine, with a target for each row.

All run in this one process, with the same number of threads, the contenders taking turns; the median of the turns counts. Their
results are compared first. phlox takes and returns ndarrays, JAX its own arrays::

    python -m tests.bench.limits [ROW ...] [--json FILE] [--markdown FILE] [--threads N] [--seconds S]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.limits", description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only the rows, or chapters, with this in their names")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured there")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="threads for every contender (default: 2)")
    parser.add_argument(
        "--seconds", type=float, default=1.0, metavar="S", help="about so long for the turns of a row (default: 1)"
    )
    return parser.parse_args()


def limit_threads(threads: int) -> None:
    """For all contenders; before any of them is imported, because that is when they read it."""
    for variable in ("PHLOX_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = str(threads)
    os.environ["PHLOX_CACHE"] = "0"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["JAX_ENABLE_X64"] = "1"
    # Threads that wait for more work would take a core from whose turn it is: OpenBLAS's do for 2^20 cycles instead of 2^26.
    os.environ["OPENBLAS_THREAD_TIMEOUT"] = "20"
    os.environ["OMP_WAIT_POLICY"] = "passive"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])  # JAX has no other switch


def processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        import platform

        return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    import importlib.metadata

    names = {"NumPy": "numpy", "SciPy": "scipy", "JAX": "jax", "Numba": "numba", "llvmlite": "llvmlite"}
    found = {}
    for name, package in names.items():
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def write(options: argparse.Namespace, result: dict) -> None:
    from . import report

    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(report.markdown(result))


def main() -> int:
    options = parse_options()
    limit_threads(options.threads)
    warnings.simplefilter("ignore")

    import gc

    import numpy as np

    from . import report
    from .machine import Limits
    from .measuring import measured
    from .rows import chosen

    np.seterr(all="ignore")
    limits = Limits(options.threads)
    print(f"{processor()}, {options.threads} threads: memory {limits.bandwidth() / 1e9:.1f} GB/s, ", end="")
    print(", ".join(f"{unit} {limits.peak(unit) / 1e9:.0f} GFLOP/s" for unit in ("f32", "f64")))
    print("phlox: the median of one call; the others: how many times as long they take; rates are those of the fastest turn\n")
    print(report.text_header())
    machine = {"processor": processor(), "versions": versions(), "limits": limits.as_data()}
    result = {"machine": machine, "chapters": []}
    for chapter, rows in chosen(options.rows):
        print(f"\n{chapter.TITLE}")
        records = []
        result["chapters"].append({"title": chapter.TITLE, "mean": getattr(chapter, "MEAN", {}), "rows": records})
        for row in rows:
            records.append(measured(row, limits, options.seconds))
            print("\n".join(report.text_lines(row.name, records[-1])), flush=True)
            gc.collect()
        for target in report.geometric_means(result["chapters"][-1]):
            print(f"    {report.mean_text(target)}")
        write(options, result)
    print(f"\n{report.summary(result['chapters'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""phlox on a device: the table of targets, the rows of `tests.bench.limits`, or the choices between ways of computing.

    python -m tests.bench.devices --targets [--chapters NAME ...] [ROW ...]    # the targets, what matters most first
    python -m tests.bench.devices [--beside cpu] [ROW ...]                     # the rows of tests.bench.limits
    python -m tests.bench.devices --choices [CONSTANT ...]                     # constants of backends/gpu/choices.py

What is measured is written as it is found, line by line (``--json FILE``), and ``--resume FILE`` goes on with what is not there
yet; nothing is begun after ``--seconds``. With ``--seconds 0`` only the tables of a file are made.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings
from typing import Any

ENVIRONMENT = {
    "PHLOX_CACHE": "0",
    "PHLOX_KERNEL_SECONDS": "30",
    "CUDA_CACHE_DISABLE": "1",  # of what CUDA's driver makes of PTX
    "JAX_ENABLE_X64": "1",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "JAX_DEFAULT_MATMUL_PRECISION": "highest",  # f32, as phlox multiplies them
}


def parse_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.devices", description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only the rows with this in their names (or their chapters')")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--targets", action="store_true", help="the table of targets")
    what.add_argument("--choices", action="store_true", help="the neighbours of chosen constants")
    names = "memory, products, calls, compilation, networks, orders"
    parser.add_argument("--chapters", nargs="+", default=[], metavar="NAME", help=f"of targets, in this order, of {names}")
    parser.add_argument("--backend", default="gpu", help="cuda, rocm, opencl, gpu (default)")
    parser.add_argument("--beside", metavar="BACKEND", help="compare with this backend of phlox, instead of JAX")
    parser.add_argument("--json", metavar="FILE", help="write what is measured there, line by line")
    parser.add_argument("--resume", metavar="FILE", help="likewise, and measure only what is not there")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there")
    parser.add_argument("--seconds", type=float, default=500.0, help="no row is begun after so long (default: 500)")
    parser.add_argument("--tiny", action="store_true", help="small arrays, to try this program out: times say nothing")
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    options = parse_options(given)
    from .run import CHILD, supervised

    if CHILD in os.environ:
        vars(options).update(json.loads(os.environ[CHILD]))
        options.in_process = True
    if options.in_process:
        return measure(options)

    path = options.resume or options.json or tempfile.mkstemp(".jsonl", "phlox-devices-")[1]
    if options.resume is None and os.path.exists(path):
        os.remove(path)
    status = supervised("tests.bench.devices", given, path, options.seconds)
    print(f"written to {path}")
    return status


def measure(options: argparse.Namespace) -> int:
    """In this process, what the file lacks, and the tables of all of it."""
    for name, value in ENVIRONMENT.items():
        # A processor's thread runs nothing itself where there is a limit.
        if options.beside is None or name != "PHLOX_KERNEL_SECONDS":
            os.environ.setdefault(name, value)
    if options.choices:
        os.environ.setdefault("PHLOX_OPENCL_KERNELS", "gpu")  # which they are made for
    warnings.simplefilter("ignore")
    from phlox.backends.registry import BackendUnavailableError

    from .journal import Journal

    kind = _targets if options.targets else _choices if options.choices else _rows_of_limits
    try:
        return kind(options, Journal(options.resume))
    except BackendUnavailableError as error:
        print(error, file=sys.stderr)
        return 2


def _targets(options: argparse.Namespace, journal: Any) -> int:
    from . import report
    from .cases import FULL, TINY
    from .chapters import rows_of
    from .run import measure_rows

    sizes = TINY if options.tiny else FULL
    rows = rows_of(options.chapters, options.rows, sizes)
    bench = Opened(options, journal, sizes)
    status = measure_rows(rows, bench.measured, report.line, journal, options.seconds, bench.is_lost)
    print(f"\n{report.described(journal.facts)}\n{report.as_text(journal.chapters())}")
    _write(options.markdown, report.markdown(journal.facts, journal.chapters()))
    return status


def _rows_of_limits(options: argparse.Namespace, journal: Any) -> int:
    from . import rows_of_limits
    from .cases import FULL
    from .run import measure_rows

    other = options.beside or "JAX"
    bench = Opened(options, journal, FULL)

    def measured(row: Any) -> dict[str, Any]:
        return rows_of_limits.measured(row, bench.opened().name, options.beside)

    rows = rows_of_limits.rows_of(options.rows)
    status = measure_rows(
        rows, measured, lambda record: rows_of_limits.line(record, other), journal, options.seconds, bench.is_lost
    )
    _write(options.markdown, rows_of_limits.markdown(journal.facts.get("device", ""), journal.chapters(), other))
    return status


def _choices(options: argparse.Namespace, journal: Any) -> int:
    from . import choices
    from .cases import FULL, TINY
    from .run import measure_rows

    sizes = TINY if options.tiny else FULL
    bench = Opened(options, journal, sizes)
    rows = choices.rows_of(options.rows, sizes)
    status = measure_rows(rows, bench.measured, choices.line, journal, options.seconds, bench.is_lost)
    print(f"\n{choices.as_text(journal.chapters())}")
    _write(options.markdown, choices.markdown(journal.facts.get("device", ""), journal.chapters()))
    return status


def _write(path: str | None, text: str) -> None:
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class Opened:
    """A bench that is made when something is measured, so that tables can be made of a file on any machine."""

    def __init__(self, options: argparse.Namespace, journal: Any, sizes: Any) -> None:
        self.options, self.journal, self.sizes, self.bench = options, journal, sizes, None

    def opened(self) -> Any:
        from .bench import Bench

        if self.bench is None:
            self.bench = Bench(self.options.backend, self.sizes)
            copies = [one for one in self.journal.records.values() if one["row"] == "copy" and "seconds" in one]
            for record in copies:
                self.bench.copy_bandwidth = record["bytes"] / record["seconds"]
            self.journal.tell(self.bench.facts())
        return self.bench

    def measured(self, row: Any) -> dict[str, Any]:
        return self.opened().measured(row)

    def is_lost(self) -> bool:
        return self.opened().is_lost()


if __name__ == "__main__":
    sys.exit(main())

"""Print an HLO file as a backend's passes leave it."""

from __future__ import annotations

import argparse
import textwrap

from ..backends.registry import get_backend
from ..compile import available_passes, run_named_passes, run_passes
from ..compile.pass_manager import Pass
from .errors import WRONG_USE, CommandError
from .files import check_backend, read_hlo_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.hlo", nargs="?", help="HLO text, as phlox or XLA write it")
    parser.add_argument("--passes", metavar="A,B,C", help="the passes to run, in this order (default: the backend's pipeline)")
    parser.add_argument("--backend", metavar="NAME", help="the backend whose passes these are (default: PHLOX_BACKEND, or cpu)")
    parser.add_argument("--metadata", action="store_true", help="print where in the source each instruction comes from")
    parser.add_argument("--list", action="store_true", help="list the passes")


def run(options: argparse.Namespace) -> int:
    pipeline = get_backend(check_backend(options.backend)).pipeline
    if options.list:
        passes = available_passes(pipeline)
        width = max(map(len, passes))
        for name, found in passes.items():
            print(textwrap.fill(f"{name:{width}}  {_summary(found)}", 110, subsequent_indent=" " * (width + 2)))
        return 0
    if options.file is None:
        raise CommandError("a file is required, or --list", WRONG_USE)
    module = read_hlo_file(options.file)
    if options.passes is None:
        module = run_passes(module, pipeline)
    else:
        try:
            names = [name.strip() for name in options.passes.split(",") if name.strip()]
            module = run_named_passes(module, names, pipeline)
        except ValueError as error:
            raise CommandError(str(error), WRONG_USE) from error
    print(module.as_text(metadata=options.metadata), end="")
    return 0


def _summary(found: Pass) -> str:
    """The first paragraph of the pass's documentation, on one line."""
    return " ".join(found.documentation.partition("\n\n")[0].split())

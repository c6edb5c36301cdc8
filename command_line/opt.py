"""Print an HLO file as the passes leave it."""

from __future__ import annotations

import argparse

from .errors import WRONG_USE, CommandError
from .files import read_hlo_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.hlo", nargs="?", help="HLO text, as phlox or XLA write it")
    parser.add_argument("--passes", metavar="A,B,C", help="the passes to run, in this order (default: the whole pipeline)")
    parser.add_argument("--list", action="store_true", help="list the passes")


def run(options: argparse.Namespace) -> int:
    from ..compile.pass_manager import PASSES, run_passes
    from ..compile.pipeline import optimize

    if options.list:
        width = max(map(len, PASSES))
        for name, found in sorted(PASSES.items()):
            print(f"{name:{width}}  {found.documentation.partition(chr(10))[0]}")
        return 0
    if options.file is None:
        raise CommandError("a file is required, or --list", WRONG_USE)
    module = read_hlo_file(options.file)
    if options.passes is None:
        module = optimize(module)
    else:
        try:
            module = run_passes(module, [name.strip() for name in options.passes.split(",") if name.strip()])
        except ValueError as error:
            raise CommandError(str(error), WRONG_USE) from error
    print(module.as_text(), end="")
    return 0

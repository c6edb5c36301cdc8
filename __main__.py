"""``python -m phlox``: the commands, and how their errors reach the user."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from . import __version__
from .backends.registry import BackendUnavailableError
from .command_line import cache, demo, info, operation_pages, opt, run
from .command_line.errors import FAILED, WRONG_USE, CommandError
from .hlo import HloError

COMMANDS = {"demo": demo, "info": info, "run": run, "opt": opt, "docs": operation_pages, "cache": cache}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. ``arguments`` defaults to those of the process."""
    options = make_parser().parse_args(arguments)
    try:
        exit_code = options.command(options)
        sys.stdout.flush()
        return exit_code
    except CommandError as error:
        return _fail(options, str(error), error.exit_code)
    except BackendUnavailableError as error:
        return _fail(options, str(error), WRONG_USE)
    except HloError as error:
        return _fail(options, str(error), FAILED)
    except NotImplementedError as error:
        return _fail(options, f"not implemented: {error}", FAILED)
    except BrokenPipeError:
        # The reader (``| head``) has seen enough; the interpreter must not complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return 130


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands; ``command`` of what it returns is the function to run."""
    parser = argparse.ArgumentParser(
        prog="phlox", description="phlox traces NumPy functions into XLA's HLO and compiles them to native code."
    )
    parser.add_argument("--version", action="version", version=f"phlox {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=summary, description=summary)
        module.add_arguments(command)
        command.set_defaults(command=module.run, command_name=name)
    return parser


def _fail(options: argparse.Namespace, message: str, exit_code: int) -> int:
    sys.stdout.flush()
    file = getattr(options, "file", None)
    if exit_code == FAILED and file and file not in message:
        message = f"{file}: {message}"
    print(f"phlox {options.command_name}: error: {message}", file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())

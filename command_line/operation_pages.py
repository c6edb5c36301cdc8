"""Write the pages that describe the operations.

Each family of operations has a page, made of its records; README.md lists all operations with what each backend does.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..backends.registry import operation_support
from ..hlo.documentation import Support, pages
from .errors import CommandError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", metavar="FOLDER", required=True, help="where the pages are written, as FAMILY.md and README.md"
    )


def run(options: argparse.Namespace) -> int:
    folder = Path(options.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        texts = operation_pages()
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"the pages cannot be written to {folder}: {error.strerror}") from error
    print(f"{len(texts)} pages written to {folder}")
    for path in sorted(folder.glob("*.md")):
        if path.name not in texts:
            print(f"{path} is of no family that exists; remove it")
    return 0


def operation_pages() -> dict[str, str]:
    """The text of every page, by file name, with a column for each backend that can be used here, and one for GPUs."""
    columns = operation_support()

    def support(opcode: str) -> Support:
        return {name: support_of(opcode) for name, support_of in columns.items()}

    return pages(support)

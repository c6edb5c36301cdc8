"""Show, clear, pack or unpack the compiled code that is kept on disk.

Without an option it says where the code is, how much there is of it, and what. A packed cache is a file that another machine
with the same processor, or an image of it, can start with; entries for another processor, or from another version of phlox,
are not used there.
"""

from __future__ import annotations

import argparse
import io
import re
import tarfile
import time
from pathlib import Path

from ..runtime.disk_cache import DiskCache, Entry, disk_cache
from .errors import WRONG_USE, CommandError

_LABEL = "PHLOX.label"
_KEY = re.compile(r"[0-9a-f]{64}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--clear", action="store_true", help="remove all entries")
    what.add_argument("--pack", metavar="FILE", help="write all entries to a file, a compressed archive")
    what.add_argument("--unpack", metavar="FILE", help="add the entries of such a file, which comes from whom you trust")
    parser.add_argument("--all", action="store_true", help="list every entry, not the last twenty used")


def run(options: argparse.Namespace) -> int:
    kept = disk_cache()
    if kept is None:
        raise CommandError("nothing is kept on disk: PHLOX_CACHE is 0, or there is no home for it", WRONG_USE)
    try:
        if options.clear:
            print(f"{kept.clear()} entries removed from {kept.folder}")
        elif options.pack:
            print(f"{_pack(kept, Path(options.pack))} entries of {kept.folder} written to {options.pack}")
        elif options.unpack:
            print(f"{_unpack(kept, Path(options.unpack))} entries of {options.unpack} added to {kept.folder}")
        else:
            _show(kept, None if options.all else 20)
    except BrokenPipeError:
        raise  # the reader has seen enough
    except (OSError, tarfile.TarError) as error:
        raise CommandError(f"the cache in {kept.folder}: {error}") from error
    return 0


def _show(kept: DiskCache, at_most: int | None) -> None:
    entries = kept.entries()
    size = sum(entry.size for entry in entries)
    print(f"{kept.folder}: {len(entries)} entries, {_amount(size)} of {_amount(kept.limit)}")
    for entry in entries[:at_most]:
        label = kept.label(entry.key)
        what = "cannot be used: damaged, or others can write it" if label is None else label
        print(f"  {entry.key[:12]}  {_age(entry):>9}  {_amount(entry.size):>9}  {what}")
    if at_most is not None and len(entries) > at_most:
        print(f"  and {len(entries) - at_most} that were used before (--all)")


def _pack(kept: DiskCache, target: Path) -> int:
    count = 0
    with tarfile.open(target, "w:gz") as archive:
        for entry in kept.entries():
            found = kept.read(entry.key)
            if found is not None:
                label, data = found
                member = tarfile.TarInfo(entry.key)
                member.size, member.mtime, member.pax_headers = len(data), int(entry.used), {_LABEL: label}
                archive.addfile(member, io.BytesIO(data))
                count += 1
    return count


def _unpack(kept: DiskCache, source: Path) -> int:
    count = 0
    with tarfile.open(source, "r:gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() and _KEY.fullmatch(member.name) else None
            if file is None:
                raise tarfile.ReadError(f"{source} is no packed cache: it has {member.name!r}")
            kept.put(member.name, file.read(), member.pax_headers.get(_LABEL, ""))
            count += 1
    return count


def _amount(size: int) -> str:
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size = size / 1000
    return f"{size:.4g} GB"


def _age(entry: Entry) -> str:
    seconds = max(0.0, time.time() - entry.used)
    for unit, length in (("days", 86400), ("hours", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"

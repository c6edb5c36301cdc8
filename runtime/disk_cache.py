"""What a process keeps on disk for the next ones: bytes, under keys that say all that they depend on.

An entry is a file, written beside its place and moved there, so that other processes find it whole or not at all. What is
read was written by this user, or by the system's administrator, cannot be written by others, and has the sum that it was
written with; anything else counts as not there. A disk that is full or cannot be written costs nothing but the entries.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..hlo.interrupts import not_of_a_signal
from .settings import bytes_setting

_MAGIC = b"phlox cache entry 1\n"
_DIGEST = 32
_SUFFIX = ".phlox"
_TEMPORARY = ".part"
_STANDARD_LIMIT = 1 << 30
# An entry that is used again is marked as used once in so many seconds, an unfinished one is left alone for so many.
_MARKED_AGAIN, _UNFINISHED = 3600.0, 3600.0
# After so many entries of a process, and after the first one, the size of the cache is looked at.
_LOOKED_AT_EACH = 64
# Neither through a link, nor waiting for whoever writes into a pipe.
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class Entry:
    """A file of a cache: its key, its size in bytes, and when it was used last, in seconds since the epoch."""

    key: str
    path: Path
    size: int
    used: float


class DiskCache:
    """The entries in a folder, which together have about ``limit`` bytes at most; beyond that the least recently used go.

    Keys are hexadecimal digests.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = DiskCache(Path(folder) / "entries", limit=1 << 20)
    ...     kept.put("5f", b"code")
    ...     kept.get("5f"), kept.get("60")
    (b'code', None)
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder, self.limit = folder, limit
        self._until_looked_at = 0

    def get(self, key: str) -> bytes | None:
        """The bytes of an entry; None where there is none that can be trusted."""
        found = self.read(key)
        return None if found is None else found[1]

    def label(self, key: str) -> str | None:
        """What `put` was told that the entry is; None where there is none that can be trusted."""
        found = self.read(key)
        return None if found is None else found[0]

    def read(self, key: str) -> tuple[str, bytes] | None:
        """The label and the bytes of an entry; None where there is none that can be trusted."""
        path = self._path(key)
        try:
            if not self._is_trusted():
                return None
            with open(os.open(path, _READ), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or not _only_trusted_write(status):
                    return None
                data = file.read()
                if time.time() - status.st_mtime > _MARKED_AGAIN:
                    with suppress(OSError):
                        os.utime(path)
        except not_of_a_signal(OSError, MemoryError):  # TimeoutError, which handlers raise, is an OSError
            return None
        body = data[len(_MAGIC) + _DIGEST :]
        if not body or data[: -len(body)] != _MAGIC + hashlib.sha256(key.encode() + body).digest():
            return None
        label, _, content = body.partition(b"\n")
        return label.decode(), content

    def put(self, key: str, data: bytes, label: str = "") -> None:
        """Keep bytes, in place of those of this key, with a line that says what they are. Does nothing where that fails."""
        body = label.replace("\n", " ").encode() + b"\n" + data
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_trusted():
                return
            descriptor, name = tempfile.mkstemp(_TEMPORARY, dir=self.folder)  # which nobody else can read or write
            try:
                with open(descriptor, "wb") as file:
                    file.write(_MAGIC + hashlib.sha256(key.encode() + body).digest() + body)
                os.replace(name, self._path(key))
            except BaseException:
                with suppress(OSError):
                    os.unlink(name)
                raise
            self._until_looked_at -= 1
            if self._until_looked_at < 0:
                self._until_looked_at = _LOOKED_AT_EACH
                self._drop_old_ones()
        except not_of_a_signal(OSError):
            pass

    def entries(self) -> list[Entry]:
        """The entries, the most recently used first."""
        found = []
        for path, status in self._files(_SUFFIX):
            found.append(Entry(path.name.removesuffix(_SUFFIX), path, status.st_size, status.st_mtime))
        return sorted(found, key=lambda entry: -entry.used)

    def clear(self) -> int:
        """Remove all entries; returns how many there were. Raises OSError where one cannot be removed."""
        entries = self.entries()
        for path in [*(entry.path for entry in entries), *(path for path, _ in self._files(_TEMPORARY))]:
            path.unlink(missing_ok=True)
        return len(entries)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _is_trusted(self) -> bool:
        """Whether the folder is one that only those can write whom this process trusts."""
        status = os.lstat(self.folder)
        return stat.S_ISDIR(status.st_mode) and _only_trusted_write(status)

    def _files(self, suffix: str) -> Iterator[tuple[Path, os.stat_result]]:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.folder) as found:
            for one in found:
                with suppress(FileNotFoundError):  # another process may remove it
                    if one.name.endswith(suffix) and one.is_file(follow_symlinks=False):
                        yield Path(one.path), one.stat(follow_symlinks=False)

    def _drop_old_ones(self) -> None:
        entries = self.entries()
        size = sum(entry.size for entry in entries)
        if size > self.limit:
            while entries and size > self.limit * 3 // 4:
                oldest = entries.pop()
                size -= oldest.size
                oldest.path.unlink(missing_ok=True)
        for path, status in self._files(_TEMPORARY):
            if time.time() - status.st_mtime > _UNFINISHED:
                path.unlink(missing_ok=True)


def _only_trusted_write(status: os.stat_result) -> bool:
    if os.name != "posix":  # where the user's folder is closed to others by other means
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & _OTHERS_MAY_WRITE


def standard_folder() -> Path:
    """Where entries are kept if ``PHLOX_CACHE_DIR`` names no folder: where the system keeps what can be made again."""
    if named := os.environ.get("PHLOX_CACHE_DIR"):
        return Path(named).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "phlox"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "phlox" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "phlox"


@cache
def disk_cache() -> DiskCache | None:
    """The cache of this process; None where ``PHLOX_CACHE`` is 0, or the user has no home of his own for it.

    Raises ValueError where ``PHLOX_CACHE_BYTES`` is no number of bytes.
    """
    limit = bytes_setting("PHLOX_CACHE_BYTES", _STANDARD_LIMIT)
    if os.environ.get("PHLOX_CACHE", "1") == "0":
        return None
    try:
        if not os.environ.get("PHLOX_CACHE_DIR") and os.name == "posix" and Path.home().stat().st_uid != os.geteuid():
            return None  # the administrator in a user's place, who must not leave folders there
        return DiskCache(standard_folder(), limit)
    except (RuntimeError, OSError):
        return None

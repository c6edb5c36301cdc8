"""Rows one after the other, as long as there is time; in a process of its own, which may end with the device.

Whoever asks for rows starts this again where it ended: after a device was lost, after a crash, and after a row that took longer
than any should.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .journal import Journal

# What a process that measures is told, whatever its arguments are: it never starts others.
CHILD = "PHLOX_BENCH_CHILD"
LOST = 75  # the exit status where nothing more can be measured in a process
ROW_SECONDS = 150.0  # more than any row takes
GRACE = 15.0  # seconds in which the last row may end
TABLE_SECONDS = 60.0


def measure_rows(
    rows: Iterable[tuple[str, Any]],
    measured: Callable[[Any], dict[str, Any]],
    line: Callable[[dict[str, Any]], str],
    journal: Journal,
    seconds: float,
    is_lost: Callable[[], bool] = lambda: False,
) -> int:
    """Add the records of the rows that the journal lacks; none is begun after so long. Returns the exit status."""
    until, title, left = time.monotonic() + seconds, None, 0
    for chapter, row in rows:
        if (chapter, row.name) in journal.records:
            continue
        if time.monotonic() >= until:
            left += 1
            continue
        if chapter != title:
            print(f"\n{chapter}", flush=True)
            title = chapter
        journal.begin(chapter, row.name)
        record = measured(row)
        journal.add(chapter, record)
        print(line(record), flush=True)
        if is_lost():
            print("the device cannot be used any more in this process", flush=True)
            return LOST
    if left:
        print(f"\nthe time is over: {left} rows are left; --resume {journal.path} goes on with them", flush=True)
    return 0


def supervised(module: str, arguments: Sequence[str], path: str, seconds: float) -> int:
    """Run the module in processes of its own, one after the other, until all is measured or the time is over."""
    until = time.monotonic() + seconds
    while True:
        journal = Journal(path)
        left = max(0.0, until - time.monotonic())
        own = {CHILD: json.dumps({"resume": path, "seconds": left})}
        child = subprocess.Popen([sys.executable, "-m", module, *arguments], env={**os.environ, **own})
        status = _status(child, journal, until + GRACE if left else time.monotonic() + TABLE_SECONDS)
        if status >= 0 and status != LOST:
            return status
        after, is_over = Journal(path), time.monotonic() >= until
        if status != LOST and after.begun is not None and not is_over:  # else it is left to who resumes
            chapter, row = after.begun
            why = "it took too long" if -status == signal.SIGKILL else f"the process ended: {signal.Signals(-status).name}"
            after.add(chapter, {"row": row, "error": why})
        # Where the time is over, a last process makes the tables.
        if left == 0 or (not is_over and len(after.records) == len(journal.records)):
            return 1


def _status(child: subprocess.Popen[bytes], journal: Journal, until: float) -> int:
    """The exit status of the process, which is ended when it writes nothing for too long."""
    size, changed = -1, time.monotonic()
    while True:
        try:
            return child.wait(0.2)
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            here = journal.path.stat().st_size if journal.path.exists() else 0
            if here != size:
                size, changed = here, now
            if now > until or now - changed > ROW_SECONDS:
                child.kill()
        except KeyboardInterrupt:
            child.wait()
            raise

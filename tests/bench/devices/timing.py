"""What calls take whose results are waited for together."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

BATCH, TURNS = 0.004, 25
SETTLE = 1e-3  # seconds between turns, in which the other contenders' threads fall asleep

Contender = tuple[Callable[[], Any], Callable[[Any], Any]]  # a call, and what waits for its result


def times_of(contenders: dict[str, Contender], turns: int = TURNS) -> dict[str, tuple[float, float]]:
    """Seconds of each one's call, and of the processor in all threads: the least of batches of calls, which take turns."""
    counts = {}
    for name, (call, wait) in contenders.items():
        wait(call())
        started = time.perf_counter()
        wait(call())
        counts[name] = max(1, min(200, round(BATCH / max(time.perf_counter() - started, 1e-6))))
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, (call, wait) in contenders.items():
            time.sleep(SETTLE)
            started = time.perf_counter(), time.process_time()
            for _ in range(counts[name]):
                result = call()
            wait(result)
            ended = time.perf_counter(), time.process_time()
            found[name].append(tuple([(end - start) / counts[name] for start, end in zip(started, ended)]))
    return {name: tuple(map(min, zip(*times))) for name, times in found.items()}

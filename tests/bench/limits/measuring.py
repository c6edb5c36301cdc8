"""Contenders in turns: what a row takes, and how that compares with its targets."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from .contenders import PEERS, Case, Contender, Row, Target, leaves
from .machine import Limits

TURN = 4e-3  # seconds of calls in one turn of a contender
SETTLE = 1e-3  # seconds between turns, in which the other contenders' threads fall asleep


class WrongResult(AssertionError):
    """Two contenders do not compute the same."""


def measured(row: Row, limits: Limits, seconds: float) -> dict[str, Any]:
    """The record of a row, with the error where it cannot be measured. seconds: how long its turns may take together, about."""
    record: dict[str, Any] = {"row": row.name}
    try:
        case = row.make()
        errors = prepare(case)
        values = in_turns(case, seconds)
    except Exception as error:
        return record | {"error": _text(error), "targets": [_target(one, None) for one in row.targets]}
    return record | assessed(row.targets, case, values, limits) | ({"errors": errors} if errors else {})


def prepare(case: Case) -> dict[str, str]:
    """Compile, and compare what comes out. Peers that fail, or compute something else, leave the row, with the error's text.

    Raises WrongResult where phlox's results are not those of the first peer, and what phlox raises.
    """
    errors = {}
    found = {}
    for name, contender in list(case.contenders.items()):
        try:
            found[name] = list(leaves(case.comparable(contender())))
        except Exception as error:
            if name == "phlox":
                raise
            errors[name] = _text(error)
            del case.contenders[name]
    peers = [name for name in found if name != "phlox"]
    for name in peers:
        try:
            compare("phlox", found["phlox"], name, found[name], case.tolerance)
        except WrongResult as error:
            if name == peers[0]:
                raise
            errors[name] = _text(error)
            del case.contenders[name]
    return errors


def compare(one: str, ours: list[np.ndarray], other: str, theirs: list[np.ndarray], tolerance: float) -> None:
    if len(ours) != len(theirs):
        raise WrongResult(f"{one} has {len(ours)} results, {other} {len(theirs)}")
    for mine, expected in zip(ours, theirs):
        if mine.shape != expected.shape:
            raise WrongResult(f"{one} has a result of shape {mine.shape}, {other} of {expected.shape}")
        if not mine.size:
            continue
        scale = float(np.nanmax(np.abs(expected))) if expected.dtype.kind != "b" else 1.0
        if not np.allclose(mine, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            error = np.nanmax(np.abs(mine.astype(np.complex128) - expected))
            raise WrongResult(f"{one} and {other} differ by {error:.3g}, where values reach {scale:.3g}")


def in_turns(case: Case, seconds: float) -> dict[str, list[float]]:
    """What each turn of each contender has measured; none is always behind the same one."""
    if case.quantity != "seconds":
        return {name: [contender()] for name, contender in case.contenders.items()}
    timers = {name: _timer(contender, case) for name, contender in case.contenders.items()}
    one_round = sum(timer.timeit(calls) for timer, calls in timers.values())
    turns = max(3, min(case.turns, round(seconds / max(one_round, 1e-6))))
    names = list(timers)
    found: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(turns):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            timer, calls = timers[name]
            time.sleep(SETTLE)
            found[name].append(timer.timeit(calls) / calls / case.per)
    return found


def _timer(contender: Contender, case: Case) -> tuple[Any, int]:
    timer = contender.timer()
    if case.fresh:
        return timer, 1
    timer.timeit(1)
    once = timer.timeit(1)
    return timer, max(1, round(TURN / max(once, 1e-8)))


def assessed(wanted: Iterable[Target], case: Case, values: dict[str, list[float]], limits: Limits) -> dict[str, Any]:
    """The medians, the part of the machine's limit, and how much of each target is reached.

    Limits are the best of many turns, so that the part of them is that of the best turn, too; ratios are those of medians.
    """
    medians = {name: statistics.median(found) for name, found in values.items()}
    least = {name: min(found) for name, found in values.items()}
    record: dict[str, Any] = {
        "quantity": case.quantity,
        "medians": medians,
        "least": least,
        "turns": min(len(found) for found in values.values()),
        "bytes": case.bytes,
        "flops": case.flops,
    }
    parts = {}
    if case.quantity == "seconds" and case.bytes:
        record["GB/s"] = case.bytes / case.per / least["phlox"] / 1e9
        parts["bandwidth"] = record["GB/s"] * 1e9 / limits.bandwidth(case.footprint or case.bytes)
    if case.quantity == "seconds" and case.flops:
        record["GFLOP/s"] = case.flops / case.per / least["phlox"] / 1e9
        parts["peak"] = record["GFLOP/s"] * 1e9 / limits.peak(case.unit)
    record["limits"] = parts
    record["targets"] = [_target(one, _reached(one, medians, parts)) for one in wanted]
    return record


def _reached(target: Target, medians: dict[str, float], parts: dict[str, float]) -> float | None:
    """In the target's own measure; None where nothing says it, as the contender is not there."""
    if target.against in ("bandwidth", "peak"):
        return parts.get(target.against)
    if target.against == "at most":
        return medians["phlox"]
    peers = [medians[name] for name in PEERS if name in medians]
    other = min(peers, default=None) if target.against == "best" else medians.get(target.against)
    return None if other is None else other / medians["phlox"]


def _target(target: Target, reached: float | None) -> dict[str, Any]:
    """score: 1 and more where the target is met."""
    score = None
    if reached is not None:
        score = target.value / max(reached, 1e-12) if target.against == "at most" else reached / target.value
    return {"against": target.against, "wanted": target.value, "reached": reached, "score": score}


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().partition("\n")[0][:300]

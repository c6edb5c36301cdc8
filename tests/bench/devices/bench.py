"""A device and its peers, and how the row of a case is measured there."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import phlox
from phlox.backends.registry import get_backend

from ..limits.contenders import leaves
from ..limits.measuring import compare
from .cases import AT_MOST, COPY, Case, Row, Sizes, Target
from .contenders import of_module, on_device, to_host
from .peers import Peer, find_peers
from .timing import Contender, times_of


class Bench:
    """``copy_bandwidth``: bytes a second, read and written; None before it was measured."""

    def __init__(self, backend: str, sizes: Sizes) -> None:
        self.name, self.sizes = backend, sizes
        self.backend = get_backend(backend)
        self.properties = getattr(self.backend, "properties", None)
        is_processor = self.properties is None or self.properties.is_processor
        self.peers, self.missing = find_peers(backend, is_processor)
        self.copy_bandwidth: float | None = None
        self.turns = 3 if sizes.is_tiny else 25

    @property
    def device(self) -> str:
        return self.name if self.properties is None else f"{self.properties.name} ({self.properties.driver})"

    def facts(self) -> dict[str, Any]:
        """What is said at the head of the results."""
        versions = {name: peer.version for name, peer in self.peers.items()}
        return {"device": self.device, "backend": self.name, "peers": versions, "missing": self.missing}

    def is_lost(self) -> bool:
        """Whether nothing can be asked of the device any more."""
        require_usable = getattr(getattr(self.backend, "device", None), "require_usable", None)
        try:
            if require_usable is not None:
                require_usable()
        except phlox.gpu.DeviceError:
            return True
        return False

    def measured(self, row: Row) -> dict[str, Any]:
        """The record of a row, with the error where it cannot be measured."""
        record: dict[str, Any] = {"row": row.name}
        begun = time.perf_counter()
        try:
            record |= row.measure(self)
        except Exception as error:
            record["error"] = f"{type(error).__name__}: {error}".strip().splitlines()[0][:300]
        record["took"] = time.perf_counter() - begun
        if row.target is not None:
            record |= self.reached(row.target, record)
        for peer in self.peers.values():
            peer.forget()
        gc.collect()
        return record

    def reached(self, target: Target, record: dict[str, Any]) -> dict[str, Any]:
        """How much of a target: ``score`` is 1 or more where it is met, and not there where nothing says it."""
        names = (target.against,) if isinstance(target.against, str) else target.against
        found: dict[str, Any] = {"against": names[0], "wanted": target.value}
        seconds, times = record.get("seconds"), record.get("peers", {})
        if target.against == AT_MOST:
            if seconds:
                found |= {"reached": seconds, "score": target.value / seconds}
            return found
        if target.against == COPY:
            if seconds and self.copy_bandwidth:
                part = record["bytes"] / seconds / self.copy_bandwidth
                found |= {"reached": part, "score": part / target.value}
            return found
        there = next((name for name in names if name in times), None)
        if there is None:
            found["unmeasured"] = " nor ".join(names)
        elif seconds:
            ratio = times[there] / seconds
            found |= {"against": there, "reached": ratio, "score": ratio / target.value}
        return found

    def contender(self, case: Case) -> Contender:
        """phlox's."""
        if case.module is not None:
            return of_module(case.module, case.arguments, self.name)
        assert case.function is not None
        function = phlox.jit(case.function, backend=self.name, **case.options) if case.is_compiled else case.function
        return on_device(function, case.arguments, self.name)


def of_calls(make: Callable[[Bench], Case]) -> Callable[[Bench], dict[str, Any]]:
    """What measures the calls of a case, after their results were compared, and once more the last ones."""

    def measure(bench: Bench) -> dict[str, Any]:
        case = make(bench)
        with case.settings(bench):
            return _measured(bench, case)

    return measure


def _measured(bench: Bench, case: Case) -> dict[str, Any]:
    def seen(name: str, result: Any) -> list[Any]:
        host = to_host(result) if name == "phlox" else mapped_to_host(bench.peers[name], result)
        return list(leaves(case.sample(host)))

    contenders = {"phlox": bench.contender(case)}
    started = time.perf_counter()
    result = contenders["phlox"][0]()
    contenders["phlox"][1](result)
    record: dict[str, Any] = {"first call": time.perf_counter() - started, "bytes": case.bytes, "flops": case.flops}
    expected = None if case.reference is None else list(leaves(case.reference()))
    if expected is not None:
        compare("phlox", seen("phlox", result), "NumPy", expected, case.tolerance)
    errors = {}
    for name, function in case.peers.items():
        if name not in bench.peers:
            continue
        peer = bench.peers[name]
        try:
            call = peer.call(function, case.arguments)
            theirs = call()
            peer.wait(theirs)
            found = seen(name, theirs)
            if expected is not None:
                compare(name, found, "what it has to be", expected, 10 * case.tolerance)
        except Exception as error:
            errors[name] = f"{name}: {type(error).__name__}: {error}".splitlines()[0][:200]
            continue
        finally:
            theirs = None
        if expected is None:
            expected = found
            compare("phlox", seen("phlox", result), name, expected, case.tolerance)
        contenders[name] = call, peer.wait
    if expected is None:
        reasons = "; ".join([(errors | bench.missing)[name] for name in case.peers if name in errors | bench.missing])
        raise RuntimeError(f"nothing to compare the results with: {reasons}")
    last: list[Any] = []
    ours, wait = contenders["phlox"]

    def call_and_keep() -> Any:
        last[:] = [ours()]
        return last[0]

    del result
    times = times_of({**contenders, "phlox": (call_and_keep, wait)}, bench.turns)
    compare("phlox, called many times,", seen("phlox", last[0]), "the first call", expected, case.tolerance)
    record |= {"seconds": times["phlox"][0], "processor": times["phlox"][1]}
    record["peers"] = {name: seconds for name, (seconds, _) in times.items() if name != "phlox"}
    return record | ({"errors": errors} if errors else {})


def mapped_to_host(peer: Peer, result: Any) -> Any:
    if isinstance(result, tuple | list):
        return tuple(mapped_to_host(peer, one) for one in result)
    if isinstance(result, dict):
        return {key: mapped_to_host(peer, one) for key, one in result.items()}
    return peer.to_host(result)

"""Loops whose predicate the device computes, read some rounds ahead: kernels of the body do nothing once it is false."""

from __future__ import annotations

from llvmlite import ir

from ..llvm.types import I8
from .frame import Frame
from .kernel import Grid, Kernel
from .plan import Fill, Launch, Place, Point, Step, While


def running_ahead(frame: Frame, loop: While, is_odd: Place | None) -> While | None:
    """The loop with kernels that look at its predicate first; None where something else than these changes memory, but for
    what fills memory that kernels of the same round have for themselves.

    ``is_odd`` is a byte that says whether an odd number of rounds has run, where the body swaps pointers.
    """
    assert loop.predicate is not None
    swaps = [step for step in loop.body if isinstance(step, Point)]
    if len(swaps) != (is_odd is not None):
        return None
    if not all(isinstance(step, Point | Fill) or _can_be_guarded(frame, step) for step in loop.body):
        return None
    body = [_guarded(frame, step, loop.predicate) if isinstance(step, Launch) else step for step in loop.body]
    return While(body, loop.predicate, runs_ahead=True, is_odd=is_odd, last=swaps[0] if swaps else None)


def _can_be_guarded(frame: Frame, step: Step) -> bool:
    return isinstance(step, Launch) and step.kernel in frame.kernels.phases and not step.shared_bytes


def _guarded(frame: Frame, launch: Launch, predicate: Place) -> Launch:
    """The launch of a kernel that does nothing where the predicate is false."""
    inner = frame.kernels.phases[launch.kernel]

    def emit(kernel: Kernel) -> None:
        b: ir.IRBuilder = kernel.builder
        *arguments, guard = kernel.pointers
        with b.if_then(b.icmp_unsigned("!=", b.load(guard, typ=I8, align=1), I8(0))):
            b.call(inner.phase, [*arguments, *inner.indices(b)])

    places = (*launch.arguments, predicate)
    grid = Grid(launch.grid, launch.block)
    name = frame.kernels.kernel(f"{launch.kernel}_if", launch.kernel, len(places), grid, emit, overlap=True)
    return Launch(name, launch.grid, launch.block, places, 0, launch.source)

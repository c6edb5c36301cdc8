"""Compilation within a budget of time, and the warning that it took longer all the same."""

from __future__ import annotations

from functools import partial

from ...backends.registry import Backend, Executable, compile_for_buffers
from ...hlo.source_lines import warn_user
from ...runtime.compile_budget import CompileBudget
from .recorded_function import Recording


class BudgetExceededWarning(UserWarning):
    """Tracing and compiling a function took longer than the budget that `jit` was given for it."""

    __module__ = "phlox"  # where users find it


def compiled_within(
    seconds: float | None, backend: Backend, name: str, recording: Recording, on_device: bool = False
) -> Executable:
    """What was recorded of the function ``name``, compiled; warns where that, and recording it, took longer than allowed.

    seconds: the budget; None where it may take as long as it takes. on_device: whether arrays lie in the backend's memory.
    """
    compile = partial(compile_for_buffers, backend) if on_device else backend.compile
    recording.module.inferred = None  # what is not verified until now never is
    if seconds is None:
        return compile(recording.module)
    with CompileBudget(seconds, recording.trace_seconds).active() as budget:
        executable = compile(recording.module)
    if budget.left < 0:
        given_up = "; ".join(budget.given_up) or "nothing"
        warn_user(
            f"{name} took {budget.spent:.2g} s to trace and compile, more than its budget of {seconds:.2g} s: "
            f"{recording.trace_seconds:.2g} s to trace; given up for it: {given_up}",
            BudgetExceededWarning,
        )
    return executable

"""Functions of a program whose code is not worth LLVM's optimizations, since a call spends its time in others."""

from __future__ import annotations

from ..llvm.interruption import Interruption

# The share of a call's instructions that all these functions together may run: without optimizations they take 1.4 times as
# long, and up to twice that, and others may be divided among many threads.
_SHARE = 4096


def rare_functions(kernel: Interruption) -> frozenset[str]:
    """The names of functions that run no more than that share, those that run least before others."""
    counts = _counts_of_calls(kernel)
    left, found = kernel.cost // _SHARE, []
    runs = {one: _own_cost(one) * count for one, count in counts.items() if count and _is_counted(one)}
    for one in sorted(runs, key=lambda one: (runs[one], one.function.name)):
        left -= runs[one]
        if left < 0:
            break
        found.append(one.function.name)
    return frozenset(found)


def _counts_of_calls(kernel: Interruption) -> dict[Interruption, int | None]:
    """How often a call of the kernel calls each function; None for any number of times."""
    counts: dict[Interruption, int | None] = {one: 0 for one in _callers_first(kernel)}
    counts[kernel] = 1
    for one, count in counts.items():
        for other, times in one.calls:
            before = counts[other]
            counts[other] = None if times is None or count is None or before is None else before + count * times
    return counts


def _callers_first(kernel: Interruption) -> list[Interruption]:
    behind: dict[Interruption, None] = {}
    stack = [(kernel, iter(kernel.calls))]
    while stack:
        one, calls = stack[-1]
        following = next((other for other, _ in calls if other not in behind), None)
        if following is None:
            stack.pop()
            behind[one] = None
        else:
            stack.append((following, iter(following.calls)))
    return list(behind)[::-1]


def _is_counted(one: Interruption) -> bool:
    """Whether it is known how many instructions of its own a function runs: all, or those that stand in it."""
    return not one.has_loops or not (one.calls or one.can_leave)


def _own_cost(one: Interruption) -> int:
    return one.cost if one.has_loops else one.standing

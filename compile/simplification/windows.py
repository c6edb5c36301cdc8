"""Rules of windows."""

from __future__ import annotations

from collections.abc import Sequence

from ... import hlo
from ...hlo import F32, Instruction, scalar_computation
from ...hlo.window import WindowDimension, make_window
from ..scan_steps import running_step
from .rule import f32, rule


def _running(padding, size=5, along=1):
    def program():
        sizes, paddings = [1, 1], [(0, 0), (0, 0)]
        sizes[along], paddings[along] = size, padding
        window = make_window(sizes, padding=paddings)
        add = scalar_computation("add", F32)
        return hlo.reduce_window(f32(5, 5), hlo.constant(0, F32), window=window, to_apply=add)

    return program


@rule(
    "reduce-window",
    fires=[_running((4, 0)), _running((0, 4), along=0), _running((6, 0), size=7)],
    unchanged=[_running((3, 0)), _running((2, 2)), _running((3, 0), size=4)],
    tolerance=1e-5,
)
def window_of_all_before(reduction: Instruction) -> Instruction | None:
    """reduce-window(x, init) -> scan(x, broadcast(init)), where each place of the window holds all elements up to its own, or
    all from its own on"""
    count = len(reduction.operands) // 2
    arrays, inits = reduction.operands[:count], reduction.operands[count:]
    sizes = arrays[0].shape.dimensions
    found = _running_dimension(reduction.attributes["window"], sizes)
    if found is None:
        return None
    along, is_reverse = found
    rest = sizes[:along] + sizes[along + 1 :]
    scan = hlo.scan(
        *arrays, *(hlo.broadcast_in_dim(init, rest, ()) for init in inits), dimensions=(along,), num_carries=count,
        is_reverse=is_reverse, to_apply=running_step(reduction.attributes["to_apply"], rest),
    )  # fmt: skip
    totals = [hlo.get_tuple_element(scan, index) for index in range(count)]
    return hlo.tuple(*totals) if reduction.shape.is_tuple else totals[0]


def _running_dimension(window: Sequence[WindowDimension], bases: Sequence[int]) -> tuple[int, bool] | None:
    """The one dimension along which each place holds all elements up to its own, or (then True) all from its own on, while the
    window is 1 along the others; None where it is not so."""
    found = None
    for number, (dimension, base) in enumerate(zip(window, bases)):
        if dimension._replace(window_dilation=1, reversal=False) == WindowDimension(1):
            continue
        paddings, whole = (dimension.padding_low, dimension.padding_high), (dimension.size - 1, 0)
        is_plain = dimension.stride == dimension.base_dilation == dimension.window_dilation == 1
        if found or not is_plain or dimension.size < base or base < 2 or paddings not in (whole, whole[::-1]):
            return None
        found = number, paddings != whole
    return found

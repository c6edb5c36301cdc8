"""Runs a plan on a device step by step, by the driver's own functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from phlox.backends.gpu.drivers.driver import Device, Kernel
from phlox.backends.gpu.host_call import HostInstruction
from phlox.backends.gpu.plan import Advance, Conditional, Copy, Fill, HostCall, Launch, Place, Plan, Point, Step, While


class Run:
    """One run of a plan: where the arguments, the results, the constants and the temporaries of this run are."""

    def __init__(
        self, device: Device, plan: Plan, kernels: dict[str, Kernel], arguments: Sequence[int], results: Sequence[int],
        constants: int, temporaries: int,
    ) -> None:  # fmt: skip
        self._device, self._kernels = device, kernels
        self._regions = {"argument": arguments, "result": results}
        self._bases = {"constant": constants, "temporary": temporaries, "number": 0}
        self._moving = [0] * plan.moving

    def address(self, place: Place) -> int:
        if place.region in self._bases:
            return self._bases[place.region] + place.number
        if place.region == "moving":
            return self._moving[place.number]
        return self._regions[place.region][place.number]

    def run(self, steps: Sequence[Step]) -> None:
        device, address = self._device, self.address
        for step in steps:
            match step:
                case Launch():
                    kernel = self._kernels[step.kernel]
                    device.launch(kernel, step.grid, step.block, [address(one) for one in step.arguments], step.shared_bytes)
                case Copy():
                    target, source = address(step.target), address(step.source)
                    if target != source:
                        device.copy(target, source, step.size)
                case Fill():
                    device.fill(address(step.target), step.byte, step.size)
                case Point():
                    for number, found in zip(step.numbers, [address(one) for one in step.places]):
                        self._moving[number] = found
                case Advance():
                    for number in step.numbers:
                        self._moving[number] += step.size
                case While():
                    self._repeat(step)
                case Conditional():
                    self.run(step.branches[self._chosen(step)])
                case HostCall():
                    places = (*step.operands, *step.results)
                    HostInstruction(device, step.instruction)([address(one) for one in places])

    def _repeat(self, loop: While) -> None:
        if loop.predicate is None:
            for _ in range(loop.trips or 0):
                self.run(loop.body)
            return
        while self._read(self.address(loop.predicate), np.dtype(np.uint8)):
            self.run(loop.body)

    def _chosen(self, step: Conditional) -> int:
        if step.is_predicate:
            return 0 if self._read(self.address(step.selector), np.dtype(np.uint8)) else 1
        number = self._read(self.address(step.selector), np.dtype(np.int32))
        return number if 0 <= number < len(step.branches) else len(step.branches) - 1

    def _read(self, address: int, dtype: np.dtype) -> int:
        value = np.empty((), dtype)
        self._device.read(value.ctypes.data, address, dtype.itemsize)
        return int(value)

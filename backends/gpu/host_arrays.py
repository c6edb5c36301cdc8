"""Calls with arrays of the host where a device is the processor, whose kernels reach them: nothing is copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .drivers.driver import Device
from .memory_pool import Block
from .native_run import NativeRun
from .program import GpuProgram


def reaches_arrays(program: GpuProgram, device: Device) -> bool:
    """Whether a program runs on arrays wherever they lie: its kernels are the CPU backend's, which take any address."""
    return device.properties.reaches_host and program.target.processor is not None and not program.custom_kernels


def call_where_they_lie(
    program: GpuProgram,
    device: Device,
    run: NativeRun,
    allocate: Callable[[int], Block],
    constants: Block,
    arguments: Sequence[Any],
) -> tuple[Any, ...]:
    """The results of a program for arrays that it can take, when all of it has been done."""
    given = [np.require(argument, requirements="A") for argument in arguments]
    results = [np.empty(shape.dimensions, shape.dtype) for shape in program.results]
    temporaries = allocate(program.plan.temporary_bytes)
    addresses = [array.ctypes.data for array in (*given, *results)]
    try:
        run.at([*addresses, constants.address, temporaries.address, 0], waits=True)
    finally:
        device.synchronize()  # also where it is interrupted: what has been launched writes to the results
    return tuple([result if result.ndim else result[()] for result in results])

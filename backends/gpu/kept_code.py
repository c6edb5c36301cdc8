"""Programs that earlier processes have kept on disk, under their HLO, their target and the compiler.

They name lines of the user by instructions of their module: those of a program that does the same may stand elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...hlo import Module
from ...runtime.disk_cache import disk_cache
from ...runtime.gpu_kernels import KernelCall
from ..instruction_texts import instructions_of, instructions_text
from ..kept_programs import line_of_number, number_of_line, program_key
from ..program_bytes import interface_data, packed, padding_data, parsed_interface, parsed_padding, unpacked
from .custom_kernels import CustomKernel
from .frame import is_deterministic
from .plan import HostCall, Plan, inside
from .plan_data import steps_data, steps_of
from .program import GpuProgram, Texts
from .target import Target


def kept_program(
    module: Module, target: Target, make: Callable[[Module, Target], GpuProgram], texts: Callable[[Module, Target], Texts]
) -> GpuProgram:
    """The program of a module that an earlier process has kept, or the one that ``make`` makes, which is kept then.

    ``texts`` makes what the kept one was made from, when it is asked for.
    """
    settings = "the same from run to run" if is_deterministic(module) else "by atomic operations"
    kept, key = disk_cache(), program_key(module, (*target.identity, settings))
    if kept is None or key is None:
        return make(module, target)
    data = kept.get(key)
    if data is not None:
        return program_of_bytes(data, module, target, lambda: texts(module, target))
    program = make(module, target)
    parameters = ", ".join(str(shape.without_layout()) for _, shape in program.parameters)
    code = target.architecture or target.family.name
    kept.put(key, bytes_of_program(program, module), f"{program.name}({parameters}) for {code}")
    return program


# --- programs as bytes ---


def bytes_of_program(program: GpuProgram, module: Module) -> bytes:
    """The program of a module, for `program_of_bytes`."""
    plan, number_of = program.plan, number_of_line(module)
    calls = list(dict.fromkeys(step.instruction for step in inside(plan.steps) if isinstance(step, HostCall)))
    places = {instruction: number for number, instruction in enumerate(calls)}

    header = {
        "name": program.name,
        "steps": steps_data(plan.steps, number_of, places.__getitem__),
        "temporary_bytes": plan.temporary_bytes,
        "moving": plan.moving,
        "is_short": plan.is_short,
        "kernels": program.kernels,
        "host_instructions": instructions_text(calls) if calls else "",
        "host_lines": [number_of(call.source) for call in calls],
        "custom_kernels": [
            {
                "name": one.name,
                "entry": one.entry,
                "call": (one.call.entry, one.call.grid, one.call.block, one.call.shared_bytes),
                "arguments": one.arguments,
                "declared_bytes": one.declared_bytes,
                "launch_bytes": one.launch_bytes,
                "source": number_of(one.source),
            }
            for one in program.custom_kernels
        ],
        **interface_data(program.parameters, program.results),
        "padding": padding_data(program.padding),
    }
    return packed(header, [program.code, plan.constants, *[one.code for one in program.custom_kernels]])


def program_of_bytes(data: bytes, module: Module, target: Target, texts: Callable[[], Texts]) -> GpuProgram:
    """The program of such a module that `bytes_of_program` gave these bytes for; ``texts`` makes what it was made from."""
    header, blobs = unpacked(memoryview(data))
    source_of = line_of_number(module)
    code, constants = bytes(next(blobs)), bytes(next(blobs))
    lines = [source_of(number) for number in header["host_lines"]]
    calls = instructions_of(header["host_instructions"], lines) if lines else ()
    steps = steps_of(header["steps"], source_of, calls)
    return GpuProgram(
        name=header["name"],
        target=target,
        plan=Plan(steps, header["temporary_bytes"], constants, header["moving"], header["is_short"]),
        code=code,
        kernels=tuple(header["kernels"]),
        custom_kernels=tuple([_custom_kernel(one, bytes(next(blobs)), source_of) for one in header["custom_kernels"]]),
        **parsed_interface(header),
        padding=parsed_padding(header["padding"]),
        texts=texts,
    )


def _custom_kernel(data: dict[str, Any], code: bytes, source_of: Callable[[int | None], Any]) -> CustomKernel:
    entry, grid, block, shared_bytes = data["call"]
    call = KernelCall(entry, tuple(grid), tuple(block), shared_bytes, {})
    sizes = data["arguments"], data["declared_bytes"], data["launch_bytes"]
    return CustomKernel(data["name"], data["entry"], code, call, *sizes, source_of(data["source"]))

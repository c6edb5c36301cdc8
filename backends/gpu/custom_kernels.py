"""Kernels of users: custom-calls that hold the code of a kernel. It is loaded beside the program's, and launched in its queue.

LLVM assembly that is code for all families has a plain function, which a kernel of the family calls; what differs between
families it calls by the names of `_FUNCTIONS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from llvmlite import binding, ir

from ...hlo import Instruction
from ...hlo.tracebacks import raised_within
from ...runtime.gpu_kernels import KERNEL_TARGET, KernelCall, kernel_call
from ..llvm.builder import Builder
from ..llvm.module import DeviceFeatures, DeviceModule
from ..llvm.types import I8, I32, POINTER
from . import kernel as kernels
from .code_generation.address_spaces import with_variables_in
from .code_generation.compiling import compile_kernels
from .driver_code import load_code
from .drivers.driver import Device, Kernel
from .emitter_table import emits
from .errors import DeviceCodeError, SharedMemoryError
from .frame import Frame
from .given_code.parameters import ARRAY, SHARED, check_kernel
from .given_code.reading import read_code, with_version
from .plan import Launch
from .target import Target
from .values import Leaf, Values

_KERNEL_CONVENTION = re.compile(r"\b(ptx_kernel|spir_kernel|amdgpu_kernel)\b")
_ENTRY = "custom_kernel"  # the kernel that calls a function


@dataclass(frozen=True, eq=False)
class CustomKernel:
    """A user's kernel: its name in the plan and in its code, and what it is launched with.

    ``declared_bytes`` of shared memory are in its code, ``launch_bytes`` asked for by the launch.
    """

    name: str
    entry: str
    code: bytes
    call: KernelCall
    arguments: int
    declared_bytes: int
    launch_bytes: int
    source: Any


def is_custom_kernel(instruction: Instruction) -> bool:
    """Whether a custom-call holds the code of a kernel."""
    return instruction.attributes["custom_call_target"] == KERNEL_TARGET


@emits("custom-call", is_native=is_custom_kernel)
def custom_kernel(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """A launch of the kernel, whose arguments are the operands and then the results."""
    config = instruction.attributes["backend_config"]
    call = kernel_call(config)
    operands = [frame.stored(leaf) for operand in instruction.operands for leaf in values[operand] if leaf is not None]
    outputs = frame.outputs(instruction)
    places = tuple([one.place for one in (*operands, *outputs) if one is not None])

    def make(name: str) -> CustomKernel:
        return compile_kernel(name, call, len(places), frame.target, instruction.source)

    if prod(call.grid):
        kernel = frame.custom_kernel(call.entry, (config, len(places)), make)
        frame.add(Launch(kernel.name, call.grid, call.block, places, kernel.launch_bytes, instruction.source))
    return list(outputs)


def compile_kernel(name: str, call: KernelCall, arguments: int, target: Target, source: Any) -> CustomKernel:
    """The kernel for a target.

    Raises NotImplementedError where it has no code for it, and DeviceCodeError for code that cannot be it: both at the user's
    line, ``source``.
    """
    try:
        code = call.code_for(target.family.backend)
        if isinstance(code, str) and re.search(r"^\s*define\b", code, re.MULTILINE):
            return _of_llvm_ir(code, name, call, arguments, target, source)
        compiled, kernels = read_code(code, call.entry, target)
        if kernels is not None:
            check_kernel(kernels, call.entry, arguments, _has_shared_argument(call, target))
        return CustomKernel(name, call.entry, compiled, call, arguments, 0, call.shared_bytes, source)
    except (DeviceCodeError, NotImplementedError) as error:
        raised_within(error, source)
        raise


def load_kernel(device: Device, kernel: CustomKernel) -> Kernel:
    """The kernel on a device. Raises DeviceCodeError and SharedMemoryError, at the user's line."""
    limits, call = device.properties, kernel.call
    shared = kernel.declared_bytes + kernel.launch_bytes
    try:
        if shared > limits.shared_bytes:
            raise SharedMemoryError(
                f"the kernel {call.entry!r} needs {shared:,} bytes of shared memory; {limits.name} has {limits.shared_bytes:,}"
            )
        if prod(call.block) > limits.threads:
            raise DeviceCodeError(
                f"the kernel {call.entry!r} is to run in blocks of {prod(call.block):,} threads; {limits.name} has at most "
                f"{limits.threads:,}"
            )
        loaded = load_code(device, kernel.code).kernel(kernel.entry)
        device.prepare(loaded, kernel.arguments, kernel.launch_bytes)
    except DeviceCodeError as error:
        told = with_version(error, kernel.code)
        raised_within(told, kernel.source)
        raise told from None
    return loaded


def _has_shared_argument(call: KernelCall, target: Target) -> bool:
    return target.family.shared_is_argument and call.shared_bytes > 0


# --- LLVM assembly ---


def _index(read: str, dimension: int) -> Callable[[ir.IRBuilder, Target, KernelCall], ir.Value]:
    return lambda b, target, call: getattr(target, read)(b, dimension)


def _size(sizes: str, dimension: int) -> Callable[[ir.IRBuilder, Target, KernelCall], ir.Value]:
    return lambda b, target, call: I32(getattr(call, sizes)[dimension])


# What assembly for all families calls: each an i32.
_FUNCTIONS: dict[str, Callable[[ir.IRBuilder, Target, KernelCall], ir.Value]] = {
    f"phlox.{name}.{axis}": make(of, dimension)
    for dimension, axis in enumerate("xyz")
    for name, make, of in (
        ("thread", _index, "thread_index"),
        ("block", _index, "block_index"),
        ("threads", _size, "block"),
        ("blocks", _size, "grid"),
    )
}
_BARRIER, _SHARED = "phlox.barrier", "phlox.shared"


def _of_llvm_ir(text: str, name: str, call: KernelCall, arguments: int, target: Target, source: Any) -> CustomKernel:
    is_kernel, called, llvm_ir = _linked(text, call, arguments, target)
    try:
        code = compile_kernels(llvm_ir, target, is_trusted=False)
    except (NotImplementedError, RuntimeError) as error:
        raise _refused(call, error) from None
    if is_kernel:
        return CustomKernel(name, call.entry, code, call, arguments, 0, call.shared_bytes, source)
    declared = call.shared_bytes if _SHARED in called else 0
    sizes = (0, declared) if target.dynamic_bytes else (declared, 0)
    return CustomKernel(name, _ENTRY, code, call, arguments, *sizes, source)


def _refused(call: KernelCall, error: Exception) -> DeviceCodeError:
    return DeviceCodeError(f"LLVM does not take the code of the kernel {call.entry!r}: {str(error).strip()}")


def _linked(text: str, call: KernelCall, arguments: int, target: Target) -> tuple[bool, set[str], str]:
    """Whether the function is a kernel as it stands; the functions that it declares; and assembly of the kernel."""
    # Modules are closed before their context is: what an exception refers to may go in any order.
    with binding.create_context() as context:
        try:
            with binding.parse_assembly(text, context) as given:
                given.verify()
                _check_triple(call.entry, given.triple, target)
                given.triple, given.data_layout = target.triple, ""
                defined = {function.name: function for function in given.functions if not function.is_declaration}
                called = {function.name for function in given.functions if function.is_declaration}
                is_kernel = call.entry in defined and _is_kernel(defined[call.entry])
                has_shared = is_kernel and _has_shared_argument(call, target)
                arrays = {"ptr", "ptr addrspace(1)"} if is_kernel else {"ptr"}
                if is_kernel and not target.family.takes_generic_pointers:
                    arrays.remove("ptr")
                takes = {name: [_parameter(one, arrays) for one in function.arguments] for name, function in defined.items()}
                check_kernel(takes, call.entry, arguments, has_shared)
                _check_result(call.entry, defined[call.entry])
                if is_kernel:
                    return True, called, text
                _check_functions(call.entry, called)
                with binding.parse_assembly(_caller(call, arguments, target, called), context) as caller:
                    caller.link_in(given)
                    _make_internal(caller)
                    return False, called, with_variables_in(str(caller), target.spaces.device)
        except RuntimeError as error:
            if isinstance(error, DeviceCodeError):
                raise
            raise _refused(call, error) from None


def _is_kernel(function: binding.ValueRef) -> bool:
    return _KERNEL_CONVENTION.search(str(function).partition("@")[0]) is not None


def _parameter(argument: binding.ValueRef, arrays: set[str]) -> str:
    """What a parameter is, in the words of `check_kernel`."""
    type_ = str(argument.type)
    return ARRAY if type_ in arrays else SHARED if type_ == "ptr addrspace(3)" else type_


def _check_triple(entry: str, triple: str, target: Target) -> None:
    """Raise DeviceCodeError where assembly is for another processor: it asks for instructions of that one."""
    processor, own = triple.partition("-")[0], target.triple.partition("-")[0]
    if processor not in ("", "unknown", own, own.replace("spirv", "spir")):
        raise DeviceCodeError(f"the assembly of the kernel {entry!r} is for {triple}; {target.triple} is required, or none")


def _check_result(entry: str, function: binding.ValueRef) -> None:
    result = str(function.global_value_type).partition(" (")[0]
    if result != "void":
        raise DeviceCodeError(f"the kernel {entry!r} returns {result}; a kernel writes its results, and returns void")


def _check_functions(entry: str, called: set[str]) -> None:
    known = [*_FUNCTIONS, _BARRIER, _SHARED]
    others = sorted(name for name in called if name not in known and not name.startswith("llvm."))
    if others:
        raise DeviceCodeError(f"the kernel {entry!r} calls {others[0]}, which is not defined; there are {', '.join(known)}")


def _make_internal(module: binding.ModuleRef) -> None:
    """Let all functions but the kernel, and all variables, be parts of it."""
    for variable in module.global_variables:
        if not variable.is_declaration and not variable.name.startswith("llvm."):
            variable.linkage = "internal"
    for function in module.functions:
        if not function.is_declaration and function.name != _ENTRY:
            function.linkage = "internal"
            if not any(b"noinline" in attribute for attribute in function.attributes):
                function.add_function_attribute("alwaysinline")


def _caller(call: KernelCall, arguments: int, target: Target, called: set[str]) -> str:
    """LLVM assembly of a kernel that calls the function, and of those that it calls."""
    module = DeviceModule(_ENTRY, DeviceFeatures(target.spaces.device, target.lacks))
    module.triple = target.triple
    apart = replace(target, arguments_together=1)  # as the user's own kernels are launched
    kernel = kernels.Kernel(module, apart, _ENTRY, arguments, kernels.Grid(call.grid, call.block), overlap=True)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER] * arguments), call.entry)
    kernel.builder.call(function, kernel.pointers)
    kernel.end()
    for name in called & _FUNCTIONS.keys():
        b = _body(module, name, I32)
        b.ret(_FUNCTIONS[name](b, target, call))
    if _BARRIER in called:
        b = _body(module, _BARRIER, ir.VoidType(), "convergent")
        target.barrier(b)
        b.ret_void()
    if _SHARED in called:
        size = 0 if target.dynamic_bytes else call.shared_bytes
        memory = ir.GlobalVariable(module, ir.ArrayType(I8, size), f"{_ENTRY}_shared", addrspace=target.spaces.shared)
        memory.linkage, memory.align = "external" if target.dynamic_bytes else "internal", 16
        if not target.dynamic_bytes:
            memory.initializer = ir.Constant(memory.value_type, ir.Undefined)
        b = _body(module, _SHARED, POINTER)
        b.ret(b.addrspacecast(memory, POINTER))
    return str(module)


def _body(module: ir.Module, name: str, result: ir.Type, attribute: str | None = None) -> ir.IRBuilder:
    function = ir.Function(module, ir.FunctionType(result, []), name)
    if attribute is not None:
        function.attributes.add(attribute)
    return Builder(function.append_basic_block("entry"))

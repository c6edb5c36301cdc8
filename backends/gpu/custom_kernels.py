"""Kernels of users: custom-calls that hold the code of a kernel. It is loaded beside the program's, and launched in its queue.

LLVM assembly that is code for all families has a plain function, which a kernel of the family calls; what differs between
families it calls by the names of `_FUNCTIONS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
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
from .code import compile_kernels
from .driver_code import load_code
from .drivers.driver import Device, Kernel
from .emitter_table import emits
from .errors import DeviceCodeError, SharedMemoryError
from .frame import Frame
from .given_code.parameters import ARRAY, check_kernel
from .given_code.spirv_assembler import assemble_spirv
from .given_code.spirv_module import MAGIC as SPIRV
from .given_code.spirv_module import spirv_kernels
from .plan import Launch
from .target import Target
from .values import Leaf, Values

_BACKENDS = {"nvptx": "cuda", "amdgpu": "rocm", "spirv": "opencl"}
# What begins code that is no text: code objects of both vendors, NVIDIA's of several architectures.
_ELF, _FAT_BINARY = b"\x7fELF", b"\x50\xed\x55\xba"
_FORMS = {
    "nvptx": ("PTX text, a cubin, or LLVM assembly", (_ELF, _FAT_BINARY)),
    "amdgpu": ("a code object (bytes), or LLVM assembly", (_ELF,)),
    "spirv": ("SPIR-V as text, a SPIR-V module (bytes), or LLVM assembly", (SPIRV,)),
}
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
        code = call.code_for(_BACKENDS[target.family])
        if isinstance(code, str) and re.search(r"^\s*define\b", code, re.MULTILINE):
            return _of_llvm_ir(code, name, call, arguments, target, source)
        text, beginnings = _FORMS[target.family]
        if target.family == "spirv" and isinstance(code, str):
            code = _assembled(code, call)
        if isinstance(code, bytes) and code.startswith(beginnings):
            compiled = code
            _check_binary(code, call, arguments)
        elif target.is_text:
            compiled = code.encode() if isinstance(code, str) else code
            _check_ptx(compiled.decode(errors="replace"), call.entry, arguments)
        else:
            raise DeviceCodeError(f"the kernel {call.entry!r}: {text} is required for {_BACKENDS[target.family]}")
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
        raised_within(error, kernel.source)
        raise
    return loaded


def _assembled(text: str, call: KernelCall) -> bytes:
    """The module of SPIR-V's text."""
    try:
        return assemble_spirv(text)
    except ValueError as error:
        raise DeviceCodeError(f"the kernel {call.entry!r} is taken as the text of SPIR-V: {error}") from None


def _check_binary(code: bytes, call: KernelCall, arguments: int) -> None:
    """Raise DeviceCodeError where a binary has no kernel of this name with these parameters: SPIR-V says what it has."""
    if not code.startswith(SPIRV):
        return
    try:
        kernels = spirv_kernels(code)
    except ValueError as error:
        raise DeviceCodeError(f"the code of the kernel {call.entry!r} is no SPIR-V module: {error}") from None
    check_kernel(kernels, call.entry, arguments, call.shared_bytes > 0)


def _check_ptx(text: str, entry: str, arguments: int) -> None:
    """Raise DeviceCodeError where PTX has no kernel of this name with so many parameters: the driver reads what it has."""
    found = dict(re.findall(r"\.entry\s+([\w$]+)\s*(\([^)]*\))?", text))
    check_kernel({name: [ARRAY] * parameters.count(".param") for name, parameters in found.items()}, entry, arguments)


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
                given.triple, given.data_layout = target.triple, ""
                defined = {function.name: function for function in given.functions if not function.is_declaration}
                called = {function.name for function in given.functions if function.is_declaration}
                is_kernel = call.entry in defined and _KERNEL_CONVENTION.search(str(defined[call.entry]).partition("@")[0])
                has_shared = bool(is_kernel) and target.family == "spirv" and call.shared_bytes > 0
                parameters = {name: [ARRAY] * len(list(function.arguments)) for name, function in defined.items()}
                check_kernel(parameters, call.entry, arguments, has_shared)
                if is_kernel:
                    return True, called, text
                _check_functions(call.entry, called)
                with binding.parse_assembly(_caller(call, arguments, target, called), context) as caller:
                    caller.link_in(given)
                    _make_internal(caller)
                    return False, called, str(caller)
        except RuntimeError as error:
            if isinstance(error, DeviceCodeError):
                raise
            raise _refused(call, error) from None


def _check_functions(entry: str, called: set[str]) -> None:
    known = [*_FUNCTIONS, _BARRIER, _SHARED]
    others = sorted(name for name in called if name not in known and not name.startswith("llvm."))
    if others:
        raise DeviceCodeError(f"the kernel {entry!r} calls {others[0]}, which is not defined; there are {', '.join(known)}")


def _make_internal(module: binding.ModuleRef) -> None:
    """Let all functions but the kernel be parts of it."""
    for function in module.functions:
        if not function.is_declaration and function.name != _ENTRY:
            function.linkage = "internal"
            if not any(b"noinline" in attribute for attribute in function.attributes):
                function.add_function_attribute("alwaysinline")


def _caller(call: KernelCall, arguments: int, target: Target, called: set[str]) -> str:
    """LLVM assembly of a kernel that calls the function, and of those that it calls."""
    module = DeviceModule(_ENTRY, DeviceFeatures(target.spaces.device, target.lacks))
    module.triple = target.triple
    kernel = kernels.Kernel(module, target, _ENTRY, arguments, kernels.Grid(call.grid, call.block), overlap=True)
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

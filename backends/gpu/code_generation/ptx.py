"""PTX text, which an assembler goes over once more: the driver's, or ptxas."""

from __future__ import annotations

from ...llvm.llvm_threads import emit, in_threads
from ..kernel import IS_PLAIN
from ..target import Target
from .kernel_parts import joined_ptx, kernel_parts
from .optimized_modules import emit_users_code, optimized
from .straight_code import is_straight, straight_code

# Of kernels that say so of themselves: half of the time, for the same code.
_PASSES_OF_PLAIN_KERNELS = (
    "always_inliner", "global_dead_code_eliminate", "sroa", "simplify_cfg", "loop_rotate", "loop_unroll", "instruction_combine",
    "simplify_cfg", "post_order_function_attributes",
)  # fmt: skip
_PASSES_OF_STRAIGHT_CODE = ("always_inliner", "global_dead_code_eliminate", "instruction_combine", "simplify_cfg")
_CODE_LEVEL_OF_STRAIGHT_CODE = 0


def compile_to_ptx(llvm_ir: str, target: Target, is_trusted: bool) -> bytes:
    """The text, which ends with a zero, as drivers take it. Raises NotImplementedError."""
    if not is_trusted:
        return emit_users_code(llvm_ir, target, "assembly") + b"\0"
    parts = kernel_parts(llvm_ir, target.calling_convention)
    return joined_ptx(in_threads(lambda part: ptx_text(part, target), parts)).encode() + b"\0"


def ptx_text(llvm_ir: str, target: Target) -> str:
    """The text of all kernels of a module."""
    if not 0 < llvm_ir.count(IS_PLAIN) == llvm_ir.count(f"define {target.calling_convention} "):
        options = {}
    elif is_straight(llvm_ir) and (straight := straight_code(llvm_ir)) is not None:
        llvm_ir, options = straight, {"code_level": _CODE_LEVEL_OF_STRAIGHT_CODE, "passes": _PASSES_OF_STRAIGHT_CODE}
    else:
        options = {"passes": _PASSES_OF_PLAIN_KERNELS}
    with optimized(llvm_ir, target, **options) as (machine, module):
        return emit(machine, module, as_object=False).decode()

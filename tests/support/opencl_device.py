"""The first OpenCL device of this machine, and kernels for it; tests are skipped where there is none."""

import functools

import pytest
from llvmlite import binding
from phlox.backends.gpu.drivers.available import find_driver
from phlox.backends.gpu.errors import DriverUnavailableError

TRIPLE = "spirv64-unknown-unknown"

# Turns around what each block of 64 threads has, by way of local memory.
REVERSE = """
@tile = internal addrspace(3) global [64 x float] undef
declare spir_func i64 @_Z12get_local_idj(i32)
declare spir_func i64 @_Z12get_group_idj(i32)
declare spir_func void @_Z7barrierj(i32) convergent
define spir_kernel void @reverse(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %thread = call spir_func i64 @_Z12get_local_idj(i32 0)
  %block = call spir_func i64 @_Z12get_group_idj(i32 0)
  %begin = mul i64 %block, 64
  %index = add i64 %begin, %thread
  %source = getelementptr float, ptr addrspace(1) %x, i64 %index
  %value = load float, ptr addrspace(1) %source
  %here = getelementptr [64 x float], ptr addrspace(3) @tile, i64 0, i64 %thread
  store float %value, ptr addrspace(3) %here
  call spir_func void @_Z7barrierj(i32 1) convergent
  %other = sub i64 63, %thread
  %there = getelementptr [64 x float], ptr addrspace(3) @tile, i64 0, i64 %other
  %found = load float, ptr addrspace(3) %there
  %target = getelementptr float, ptr addrspace(1) %y, i64 %index
  store float %found, ptr addrspace(1) %target
  ret void
}
"""

# The same with local memory that the launch asks for.
REVERSE_DYNAMIC = (
    REVERSE.replace("@tile = internal addrspace(3) global [64 x float] undef\n", "")
    .replace("ptr addrspace(1) %y)", "ptr addrspace(1) %y, ptr addrspace(3) %tile)")
    .replace("@tile", "%tile")
)

# Runs until the number at the address is not 0.
WAIT = """
define spir_kernel void @wait(ptr addrspace(1) %flag) {
entry:
  br label %again
again:
  %value = load atomic i32, ptr addrspace(1) %flag monotonic, align 4
  %stop = icmp ne i32 %value, 0
  br i1 %stop, label %end, label %again
end:
  ret void
}
"""


@functools.cache
def spirv(llvm_ir: str) -> bytes:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = binding.parse_assembly(f'target triple = "{TRIPLE}"\n{llvm_ir}')
    module.verify()
    return bytes(binding.Target.from_triple(TRIPLE).create_target_machine().emit_object(module))


def opencl_driver():
    """Skips the test where OpenCL has no device that takes SPIR-V."""
    try:
        return find_driver("opencl")
    except DriverUnavailableError as error:
        pytest.skip(f"no OpenCL device: {error}")

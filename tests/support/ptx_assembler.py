"""NVIDIA's assembler, ptxas, from the wheel `nvidia-cuda-nvcc` or the PATH, and what it says about kernels."""

import functools
import re
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

_KERNEL = re.compile(r"Compiling entry function '(\S+)' for")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass
class Resources:
    """What a kernel uses: registers a thread, bytes of shared memory a block, and bytes of stack and of spills a thread."""

    registers: int = 0
    shared_bytes: int = 0
    stack_bytes: int = 0
    spill_bytes: int = 0


@functools.cache
def find_ptxas():
    """The path of ptxas; None where there is none."""
    installed = sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/*/bin/ptxas"))
    return str(installed[-1]) if installed else shutil.which("ptxas")


def assemble(ptx, architecture):
    """The kernels of PTX text, by name, with their resources. Raises AssertionError where the text is refused."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.ptx"
        source.write_bytes(ptx.rstrip(b"\0"))
        command = [find_ptxas(), f"-arch={architecture}", "-v", str(source), "-o", str(Path(folder) / "kernels.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, f"ptxas refuses code for {architecture}:\n{done.stdout}{done.stderr}"
    return _resources(done.stderr)


def _resources(said):
    """What is said of the functions that a kernel calls follows what is said of the kernel."""
    found = {}
    for line in said.splitlines():
        if begins := _KERNEL.search(line):
            kernel = found[begins[1]] = Resources()
        elif stack := _STACK.search(line):
            frame, stores, loads = map(int, stack.groups())
            kernel.stack_bytes += frame
            kernel.spill_bytes += stores + loads
        elif registers := _REGISTERS.search(line):
            kernel.registers = int(registers[1])
            kernel.shared_bytes = int(shared[1]) if (shared := _SHARED.search(line)) else 0
    return found

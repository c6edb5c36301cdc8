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
_SECTION = re.compile(r"\.section\s+\.text\.")
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z0-9]+)")


@dataclass
class Resources:
    """What a kernel uses: registers a thread, bytes of shared memory a block, and bytes of stack and of spills a thread.

    ``instructions`` are those of its code, ``loads`` those of them that load from the device's memory; 0 where nothing counts
    them.
    """

    registers: int = 0
    shared_bytes: int = 0
    stack_bytes: int = 0
    spill_bytes: int = 0
    instructions: int = 0
    loads: int = 0


@functools.cache
def find_ptxas():
    """The path of ptxas; None where there is none."""
    return _find("ptxas")


@functools.cache
def _find(name):
    installed = sorted(Path(sysconfig.get_path("purelib")).glob(f"nvidia/*/bin/{name}"))
    return str(installed[-1]) if installed else shutil.which(name)


def assemble(ptx, architecture, counted=False):
    """The kernels of PTX text, by name, with their resources. Raises AssertionError where the text is refused.

    counted: whether nvdisasm, of the wheel `nvidia-cuda-nvdisasm` or from the PATH, counts instructions, where it is there.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.ptx"
        source.write_bytes(ptx.rstrip(b"\0"))
        target = str(Path(folder) / "kernels.cubin")
        command = [find_ptxas(), f"-arch={architecture}", "-v", str(source), "-o", target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not done.returncode, f"ptxas refuses code for {architecture}:\n{done.stdout}{done.stderr}"
        found = _resources(done.stderr)
        if counted and _find("nvdisasm") is not None:
            taken_apart = subprocess.run([_find("nvdisasm"), "-c", target], capture_output=True, text=True, check=True)
            _count_instructions(found, taken_apart.stdout)
    return found


def _count_instructions(found, text):
    for part in _SECTION.split(text)[1:]:
        name, _, code = part.partition("\n")
        opcodes = [opcode for opcode in _INSTRUCTION.findall(code) if opcode != "NOP"]
        kernel = found[name.split(",")[0].strip()]
        kernel.instructions = len(opcodes)
        kernel.loads = sum(opcode.startswith(("LDG", "LDGSTS", "UBLKCP")) for opcode in opcodes)


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

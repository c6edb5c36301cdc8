"""LLVM assembly to object code in a process of its own.

LLVM 22's SPIR-V target keeps, from one module to the next, which labels it has given to blocks, by their addresses, which are
used again: in a process that has emitted code before, blocks get labels of other things. And where it lacks code for something
it ends the process, as all targets do: so code that a user has written is emitted here for each of them.

Run as a program it reads assembly from its input, and writes code to its output: `python -I -S FILE FOLDER FORM TRIPLE
PROCESSOR FEATURES LEVEL`, where the folder has llvmlite, and the form is that of the output, ``object`` or ``assembly``.
"""

import sys


def emit_apart(llvm_ir: str, form: str, triple: str, processor: str = "", features: str = "", level: int = 0) -> bytes:
    """The code. Raises NotImplementedError with what LLVM says where it ends the process."""
    import subprocess  # which the program below does not need
    from pathlib import Path  # likewise

    import llvmlite  # which the program below finds in the folder that it is told

    folder = str(Path(llvmlite.__file__).parent.parent)
    command = [sys.executable, "-I", "-S", __file__, folder, form, triple, processor, features, str(level)]
    done = subprocess.run(command, input=llvm_ir.encode(), capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise NotImplementedError(f"LLVM has no code for a kernel on {triple}: {said[-1] if said else done.returncode}")
    return done.stdout


def main(folder: str, form: str, triple: str, processor: str, features: str, level: str) -> None:
    sys.path.append(folder)
    from llvmlite import binding  # which is in this folder

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=processor, features=features, opt=int(level), reloc="pic")
    module = binding.parse_assembly(sys.stdin.buffer.read().decode())
    module.data_layout = str(machine.target_data)
    module.verify()
    sys.stdout.buffer.write(machine.emit_object(module) if form == "object" else machine.emit_assembly(module).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])

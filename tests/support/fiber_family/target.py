"""The target: machine code of this processor, which calls the machine for what differs between families."""

from llvmlite import binding, ir
from phlox.backends.gpu.code_generation.optimized_modules import assembly_text, object_code
from phlox.backends.gpu.family import Family
from phlox.backends.gpu.target import AddressSpaces, Target
from phlox.backends.llvm.module import declaration
from phlox.backends.llvm.types import I32

FIBERS = Family(name="fibers", backend="fibers", compile=object_code, assembly=assembly_text, forms=())


def _reader(name):
    def read(builder, dimension):
        return builder.call(declaration(builder.module, name, I32, [I32]), [I32(dimension)])

    return read


def _barrier(builder):
    builder.call(declaration(builder.module, "fiber_barrier", ir.VoidType(), []), [])


def fiber_target(threads=256, shared_bytes=48 << 10):
    return Target(
        family=FIBERS,
        architecture=binding.get_host_cpu_name(),
        triple=binding.get_default_triple(),
        features=binding.get_host_cpu_features().flatten(),
        calling_convention="ccc",
        spaces=AddressSpaces(generic=0),
        sub_group=1,
        threads=threads,
        shared_bytes=shared_bytes,
        vector_bytes=16,
        thread_index=_reader("fiber_thread"),
        block_index=_reader("fiber_block"),
        barrier=_barrier,
        finish=lambda function, block: None,
    )

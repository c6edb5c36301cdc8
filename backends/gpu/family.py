"""What the targets of a family of GPUs have in common: the code that its drivers take, and how kernels are called.

Each family is one record, in its file in `targets`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .given_code.forms import Form
    from .kernels.matrix_units import MatrixUnits
    from .target import Target


@dataclass(frozen=True, eq=False)
class Family:
    """``name`` is that of the code: ``nvptx``, ``amdgpu``, ``spirv``; ``backend`` what users call the devices: ``cuda``.

    ``compile(llvm_ir, target, is_trusted)`` makes of kernels in LLVM assembly what drivers take, in a process of its own where
    they are not trusted; ``assembly(llvm_ir, target)`` makes text. Both raise NotImplementedError where LLVM has no code.
    LLVM assembly behind LLVM's passes is given to ``rewrite``, where the target would make wrong code of something.
    Users give the code of a kernel in one of the ``forms``, besides LLVM assembly. Products are computed on ``matrix_units``
    where there are some.

    A kernel is given addresses, and 64-bit numbers where it ``takes_numbers``. Its parameters may be generic pointers where it
    ``takes_generic_pointers``, else they are ones to the device's memory. Shared memory that a launch asks for is one more
    parameter where ``shared_is_argument``, else an array that the kernel declares. ``hides_uniform_numbers``: what all threads
    of a block have is written as if it could differ (`Kernel.own`). A tile of records to sort has ``sort_bytes`` at most.
    """

    name: str
    backend: str
    compile: Callable[[str, Target, bool], bytes]
    assembly: Callable[[str, Target], str]
    forms: tuple[Form, ...]
    matrix_units: MatrixUnits | None = None
    rewrite: Callable[[str], str] | None = None
    is_text: bool = False
    takes_numbers: bool = True
    takes_generic_pointers: bool = True
    shared_is_argument: bool = False
    hides_uniform_numbers: bool = False
    sort_bytes: int = 16 << 10

"""The verifier as a pass."""

from __future__ import annotations

from ..hlo import Module, verify
from .pass_manager import module_pass


@module_pass("verify")
def verified(module: Module) -> Module:
    """Leaves the module as it is. Raises VerificationError where it breaks a rule of the language."""
    verify(module)
    return module

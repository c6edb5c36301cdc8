"""Plans of programs as text. The golden files were read and found right; `pytest --update-goldens` writes them anew."""

import pytest
from gpu_backends import target
from phlox.backends.gpu import backend as gpu_backend
from typical_programs import TYPICAL_PROGRAMS, module_of


@pytest.mark.parametrize("program", TYPICAL_PROGRAMS, ids=lambda program: program.__name__)
def test_plan_of_a_typical_program(program, golden, monkeypatch):
    """No code is made: plans say what kernels are for."""
    monkeypatch.setattr(gpu_backend, "compile_kernels", lambda llvm_ir, target: b"")
    golden(f"{program.__name__}.plan", gpu_backend.program_of(module_of(program), target("sm_90a")).plan.as_text())

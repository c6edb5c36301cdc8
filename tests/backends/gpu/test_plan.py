"""Plans of programs as text. The golden files were read and found right; `pytest --update-goldens` writes them anew."""

import numpy as np
import pytest
from gpu_backends import backend_or_skip, target
from phlox import jit
from phlox.backends.gpu import backend as gpu_backend
from phlox.backends.gpu.plan import Launch
from typical_programs import TYPICAL_PROGRAMS, module_of


@pytest.mark.parametrize("program", TYPICAL_PROGRAMS, ids=lambda program: program.__name__)
def test_plan_of_a_typical_program(program, golden, monkeypatch):
    """No code is made: plans say what kernels are for."""
    monkeypatch.setattr(gpu_backend, "compile_kernels", lambda llvm_ir, target: b"")
    golden(f"{program.__name__}.plan", gpu_backend.program_of(module_of(program), target("sm_90a")).plan.as_text())


@pytest.mark.of_gpus
def test_a_compiled_function_shows_its_plan():
    backend_or_skip("opencl")
    stage = jit(lambda x: np.exp(-x).sum(axis=1), backend="opencl").compile(np.ones((4, 30)))
    assert stage.as_text("plan").startswith("temporary: 0 bytes") and "\nlaunch " in stage.as_text("plan")
    assert "define " in stage.as_text("llvm")
    texts = [stage.as_text("assembly") for _ in range(2)]
    assert "OpEntryPoint Kernel" in texts[0] and texts[0] == texts[1]
    assert ">fusion<" in stage._repr_html_()  # what is drawn is the optimized module
    with pytest.raises(ValueError, match="one of 'hlo', 'plan', 'llvm', 'assembly' is required, 'ptx' given"):
        stage.as_text("ptx")


def test_values_in_order_are_searched_for_at_once(monkeypatch):
    """A processor walks along the line, one value after the other."""
    monkeypatch.setattr(gpu_backend, "compile_kernels", lambda llvm_ir, target: b"")
    lowered = jit(np.searchsorted).lower(np.arange(1000.0), np.arange(900.0))
    assert "conditional" in lowered.as_text()
    assert {type(step) for step in gpu_backend.program_of(lowered.module, target("sm_90a")).plan.steps} == {Launch}

"""Which code devices get, by what their drivers say of them; devices for which none is made."""

import numpy as np
import pytest
from phlox import jit
from phlox.backends.gpu.backend import TARGET_OF, program_of
from phlox.backends.gpu.drivers.driver import DeviceProperties
from phlox.backends.gpu.errors import DriverUnavailableError
from phlox.backends.gpu.targets.nvptx import nvptx_target
from ptx_assembler import assemble, find_ptxas
from thinning import one_in


def target_of(driver, architecture, sub_group):
    return TARGET_OF[driver](DeviceProperties("a device", architecture, 1 << 30, 4, sub_group, 48 << 10, 1024))


TARGETS = {
    ("cuda", "sm_80", 32): "sm_80",
    ("cuda", "sm_89", 32): "sm_89",
    ("cuda", "sm_90", 32): "sm_90a",
    ("cuda", "sm_100", 32): "sm_100",
    ("cuda", "sm_101", 32): "sm_100",  # which LLVM and ptxas know by two names
    ("cuda", "sm_999", 32): "sm_121",
    ("rocm", "gfx90a:sramecc+:xnack-", 64): "gfx90a",
    ("rocm", "gfx1100", 32): "gfx1100",
}


@pytest.mark.parametrize("device, architecture", TARGETS.items(), ids=[name for _, name, _ in TARGETS])
def test_a_device_gets_the_last_code_that_it_runs(device, architecture):
    assert target_of(*device).architecture == architecture


@pytest.mark.parametrize("device", [("cuda", "sm_75", 32), ("rocm", "gfx803", 64), ("rocm", "", 64)])
def test_devices_that_no_code_is_made_for_are_not_there(device):
    with pytest.raises(DriverUnavailableError, match="a device is of the architecture"):
        target_of(*device)


@pytest.mark.skipif(find_ptxas() is None, reason="there is no ptxas; pip install nvidia-cuda-nvcc brings it")
@pytest.mark.parametrize("number", one_in(4, (80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)))
def test_code_for_each_architecture_is_assembled(number):
    """LLVM ends the process where the version of PTX is older than the architecture."""

    def program(x, places):
        sums = np.zeros(100, np.float32)
        np.add.at(sums, places, x[0])
        return x @ x, np.exp(x).sum(axis=1), sums

    lowered = jit(program).lower(np.ones((256, 256), np.float32), np.zeros(256, np.int32))
    made = program_of(lowered.module, nvptx_target(f"sm_{number}"))
    assert set(assemble(made.code, f"sm_{number}")) == set(made.kernels)

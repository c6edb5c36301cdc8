"""What tests of the GPU backends share."""

import os
import sys

import pytest
from gpu_backends import DEVICES, backend_or_skip, emulated_backend
from phlox.backends.gpu.errors import DeviceLostError
from phlox.backends.registry import register_backend

# On a machine that is there for a limited time (`--within`) what is the most of all operations comes first.
MOST_IMPORTANT_FIRST = (
    "test_on_devices", "test_operations", "test_programs", "test_order_kernels", "test_look_back", "test_atomic_scatters",
    "test_transposes", "test_linear_kernels", "test_dynamic_shapes",
)  # fmt: skip


def pytest_collection_modifyitems(config, items):
    if (architecture := config.getoption("--emulated")) is not None:
        name = "rocm" if architecture.startswith("gfx") else "cuda"
        register_backend(name, lambda: emulated_backend(architecture))
    if config.getoption("--within") is not None:
        places = {name: place for place, name in enumerate(MOST_IMPORTANT_FIRST)}
        items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    """A process of pytest-xdist that has lost its device ends, and another one goes on with the next test."""
    is_lost = call.excinfo is not None and call.excinfo.errisinstance(DeviceLostError)
    if is_lost and item.get_closest_marker("gpu") is not None and hasattr(item.config, "workerinput"):
        print(f"{item.nodeid}\n{call.excinfo.getrepr()}", file=sys.__stderr__, flush=True)
        os._exit(1)


@pytest.fixture(scope="module", params=DEVICES)
def backend(request):
    """A backend with a device, one after the other."""
    return backend_or_skip(request.param)


@pytest.fixture(autouse=True)
def _kernels_of_gpus(request):
    """Skips what is ``of_gpus`` where processors run their own kernels, as users have it, but on other devices."""
    if os.environ["PHLOX_OPENCL_KERNELS"] == "gpu" or request.node.get_closest_marker("of_gpus") is None:
        return
    if "backend" not in request.fixturenames or request.getfixturevalue("backend").target.processor is not None:
        pytest.skip("the kernels of GPUs are looked at; PHLOX_OPENCL_KERNELS=gpu lets a processor run them")


@pytest.fixture
def emulated(registered):
    """``emulated(architecture)`` makes an emulated device the backend "emulated", and returns it."""

    def use(architecture):
        backend = emulated_backend(architecture)
        register_backend("emulated", lambda: backend)
        return backend

    return use

"""What tests of the GPU backends share."""

import pytest
from gpu_backends import emulated_backend
from phlox.backends.registry import register_backend


@pytest.fixture
def emulated(registered):
    """``emulated(architecture)`` makes an emulated device of AMD's the backend "emulated", and returns it."""

    def use(architecture):
        backend = emulated_backend(architecture)
        register_backend("emulated", lambda: backend)
        return backend

    return use

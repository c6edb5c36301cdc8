"""Devices for tests of arrays on them."""

import device_with_memory
import pytest
from phlox import device_put


@pytest.fixture(params=[device_with_memory.NAME, "cpu", "reference"])
def put(request, registered):
    """What puts an array on a device; one that the host does not reach among them."""
    device_with_memory.register()
    return lambda x: device_put(x, request.param)


@pytest.fixture
def far(registered):
    """What puts an array on a device that the host does not reach."""
    device_with_memory.register()
    return lambda x: device_put(x, device_with_memory.NAME)

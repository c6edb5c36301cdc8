"""What drivers make of code, kept on disk under the code and the device: to make it takes longer than all else."""

from __future__ import annotations

from contextlib import suppress

from ...runtime.disk_cache import disk_cache
from ..kept_programs import digest
from .drivers.driver import Code, Device
from .errors import DeviceCodeError


def load_code(device: Device, code: bytes) -> Code:
    """Code on a device: loaded as the driver made it for an earlier process, where it gives that. Raises as `Device.load`."""
    kept = disk_cache()
    if kept is None:
        return device.load(code)
    key = digest("code of a driver", *device.identity, code)
    found = kept.get(key)
    if found is not None:
        with suppress(DeviceCodeError):  # of another driver, which calls itself the same
            return device.load(found)
    made = device.made_of(code)
    if made is not None:
        with suppress(DeviceCodeError):
            loaded = device.load(made)
            kept.put(key, made, f"code for {device.properties.name}")
            return loaded
    return device.load(code)

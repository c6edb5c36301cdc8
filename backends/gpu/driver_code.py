"""What drivers make of code, kept on disk under the code and the device: to make it takes longer than all else."""

from __future__ import annotations

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
    made = kept.get(key)
    if made is not None:
        try:
            return device.load(made)
        except DeviceCodeError:  # of another driver, which calls itself the same
            made = None
    made = device.made_of(code)
    if made is None:
        return device.load(code)
    loaded = device.load(made)
    kept.put(key, made, f"code for {device.properties.name}")
    return loaded

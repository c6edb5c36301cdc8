"""The devices of the backends, by name; and which one is meant where none is named."""

from __future__ import annotations

from ...backends.registry import (
    Backend,
    BackendUnavailableError,
    available_backends,
    backend_name,
    devices_of,
    get_backend,
)
from ..recording.device_arrays import Device


def device_of(backend: Backend) -> Device:
    return Device(backend_name(backend), backend)


def find_device(device: str | Device | None = None) -> Device:
    """A device by its name, ``"cuda:1"`` or ``"cuda"``; None means the one in force, or that of PHLOX_BACKEND, or the CPU.

    Raises ValueError for an unknown name, BackendUnavailableError where it cannot be used, TypeError for anything else.
    """
    if isinstance(device, Device):
        return device
    return device_of(get_backend(device))


def devices(platform: str | None = None) -> list[Device]:
    """All devices that can be used; those of one backend where its name is given.

    Raises ValueError for an unknown name, also of a device, TypeError for no text, and BackendUnavailableError, with the
    reason, where that backend cannot be used.

    >>> [device.name for device in devices("cpu")]
    ['cpu:0']
    """
    if platform is not None:
        return [find_device(name) for name in devices_of(platform)]
    found: dict[int, Device] = {}
    for name, reason in available_backends().items():
        for device in devices_of(name) if reason is None else ():
            try:
                one = find_device(device)
            except BackendUnavailableError:
                continue  # one of several that is in use elsewhere, or broken
            found.setdefault(id(one.backend), one)  # some names stand for others
    return list(found.values())

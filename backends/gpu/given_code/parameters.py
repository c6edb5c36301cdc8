"""What the kernels in a user's code take, and whether it is what they are launched with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import DeviceCodeError

# What a parameter is, in words. Of the others a reader says what they are in its own words.
ARRAY = "a pointer to an array"
SHARED = "a pointer to the memory of a block"


def check_kernel(kernels: Mapping[str, Sequence[str]], entry: str, arguments: int, has_shared: bool = False) -> None:
    """Raise DeviceCodeError where no kernel has this name, or it does not take so many arrays, and then shared memory.

    >>> check_kernel({"f": [ARRAY, "4 bytes"]}, "f", 2)
    Traceback (most recent call last):
        ...
    phlox.gpu.DeviceCodeError: parameter 2 of the kernel 'f' is 4 bytes; it is given a pointer to an array
    """
    if entry not in kernels:
        raise DeviceCodeError(f"no kernel {entry!r} in its code, which has {', '.join(kernels) or 'none'}")
    wanted = [ARRAY] * arguments + [SHARED] * has_shared
    found = kernels[entry]
    if len(found) != len(wanted):
        shared = " and shared memory" if has_shared else ""
        raise DeviceCodeError(
            f"the kernel {entry!r} takes {len(found)} pointers; {arguments} arrays and results{shared} were given"
        )
    for number, (has, given) in enumerate(zip(found, wanted), 1):
        if has != given:
            raise DeviceCodeError(f"parameter {number} of the kernel {entry!r} is {has}; it is given {given}")

"""Runs a program on several devices at once, each a thread of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .communicator import Communicator
from .environment import current_environment


def run_on_devices(
    program: Callable[..., Any], arguments: Sequence[Sequence[Any]], replica_count: int, partition_count: int = 1
) -> list[Any]:
    """``program(*arguments[i])`` on every device i at the same time, and the results in order.

    Device i is partition ``i % partition_count`` of replica ``i // partition_count``. Each runs in a thread and in an
    environment of its own, which has everything else, the random seed too, from the environment of the caller. Returns or
    raises only when all threads have ended. Raises the first error of a device, with a note that names the device;
    communicator.DeadlockError where all that have not ended wait for each other.

    >>> run_on_devices(lambda x: x + current_environment().replica, [(10,), (20,)], 2)
    [10, 21]
    """
    communicator = Communicator(replica_count, partition_count)
    devices = communicator.devices
    if len(arguments) != len(devices):
        raise ValueError(f"arguments for {len(devices)} devices are required, {len(arguments)} given")
    outer = current_environment()
    results: list[Any] = [None] * len(devices)

    def run(number: int) -> None:
        replica, partition = device = devices[number]
        environment = replace(outer, replica=replica, partition=partition, communicator=communicator)
        try:
            with environment.active(), communicator.device(device):
                results[number] = program(*arguments[number])
        except BaseException as error:  # noqa: BLE001, the communicator keeps the first one, which is raised below
            error.add_note(f"raised on {communicator.name(device)}")
        finally:
            ended[number].set()

    # Waited for before the threads are joined: in CPython 3.11 a join that a handler interrupts takes the thread for ended.
    ended = [threading.Event() for _ in devices]
    threads = [
        threading.Thread(target=run, args=(number,), name=f"phlox {communicator.name(device)}")
        for number, device in enumerate(devices)
    ]
    try:
        for thread in threads:
            thread.start()
        for event in ended:
            event.wait()
    except BaseException as error:
        # An interrupt, or no thread to be had: those that wait end at once, those that compute when they come to wait.
        communicator.fail(f"the run was ended by {type(error).__name__}")
        for thread, event in zip(threads, ended):
            if thread.ident is not None:
                event.wait()
        raise
    finally:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if communicator.first_error is not None:
        raise communicator.first_error
    return results

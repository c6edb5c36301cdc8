"""What a running program meets of the world outside of it: its place among the replicas, queues, channels, called functions."""

from . import gpu_kernels, linear_algebra, random_draws, standard_targets, ufunc_loops  # noqa: F401  (importing them makes the targets known)
from .channels import Channels
from .communicator import CommunicationError, Communicator, DeadlockError
from .custom_calls import find_target, load_custom_calls, register_custom_call, unregister_custom_call
from .environment import Environment, current_environment
from .queues import HostQueue, QueueClosedError
from .replicas import run_on_devices
from .threadpoolctl_controller import register_when_imported

register_when_imported()

__all__ = [
    "Channels",
    "CommunicationError",
    "Communicator",
    "DeadlockError",
    "Environment",
    "HostQueue",
    "QueueClosedError",
    "current_environment",
    "find_target",
    "load_custom_calls",
    "register_custom_call",
    "run_on_devices",
    "unregister_custom_call",
]

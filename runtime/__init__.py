"""What a running program meets of the world outside of it: its place among the replicas, queues, channels, called functions."""

from .environment import Environment, current_environment

__all__ = ["Environment", "current_environment"]

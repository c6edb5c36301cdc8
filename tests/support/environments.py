"""Environments in which the operations of a module find what they take from the world outside."""

import numpy as np
from phlox.hlo import Module, leaves
from phlox.hlo.ops.effects import channel_key
from phlox.runtime import Environment
from sample_values import value_of


def prepared_environment(module: Module) -> Environment:
    """A new environment with a value for each infeed and recv-done, and a partner for each send-done, of the entry."""
    random = np.random.default_rng(0)
    environment = Environment()
    for instruction in module.entry.instructions:
        attributes = instruction.attributes
        if instruction.opcode == "infeed" and leaves(instruction.shape.elements[0]):
            environment.infeed.put(value_of(instruction.shape.elements[0].without_layout(), random))
        if instruction.opcode in ("send-done", "recv-done"):
            key = channel_key(attributes["channel_id"], attributes["is_host_transfer"], attributes["frontend_attributes"])
            if instruction.opcode == "send-done":
                environment.channels.start_recv(key)
            else:
                environment.channels.send(key, value_of(instruction.shape.elements[0].without_layout(), random))
    return environment

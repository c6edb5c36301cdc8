"""What the tests of phlox.client share: small computations, and how they are run."""

import threading

import numpy as np
from phlox.client import ComputationBuilder, ShapeUtil
from phlox.hlo import F32

SCALAR = ShapeUtil.MakeShape(F32)


def sums_of_threads(client, add, count):
    """By the number of each of these threads, which all work at once, what it has got by adding 1 to its number 20 times."""
    results = {}

    def work(number):
        value = client.TransferToServer(np.float32(number))
        for _ in range(20):
            value = client.Execute(add, [value, client.TransferToServer(np.float32(1))])
        results[number] = float(client.Transfer(value).value)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def binary(client, name, element_type=F32):
    """The computation of one operation on two scalars."""
    builder = ComputationBuilder(client, name.lower())
    shape = ShapeUtil.MakeShape(element_type)
    getattr(builder, name)(builder.Parameter(0, shape, "a"), builder.Parameter(1, shape, "b"))
    return builder.Build()


def value_of(builder, client=None):
    """What the builder's computation, which takes nothing, returns."""
    return (client or builder.client).ExecuteAndTransfer(builder.Build()).value

"""What the tests of phlox.client share: small computations, and how they are run."""

from phlox.client import ComputationBuilder, ShapeUtil
from phlox.hlo import F32

SCALAR = ShapeUtil.MakeShape(F32)


def binary(client, name, element_type=F32):
    """The computation of one operation on two scalars."""
    builder = ComputationBuilder(client, name.lower())
    shape = ShapeUtil.MakeShape(element_type)
    getattr(builder, name)(builder.Parameter(0, shape, "a"), builder.Parameter(1, shape, "b"))
    return builder.Build()


def value_of(builder, client=None):
    """What the builder's computation, which takes nothing, returns."""
    return (client or builder.client).ExecuteAndTransfer(builder.Build()).value

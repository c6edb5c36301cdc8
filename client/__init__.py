"""The client interface of XLA's compiler preview of 2017: literals, computations built by hand, and their execution.

>>> from phlox.client import ClientLibrary, ComputationBuilder, LiteralUtil
>>> client = ClientLibrary.ClientLibraryOrDie()
>>> builder = ComputationBuilder(client, "square")
>>> x = LiteralUtil.CreateR1([1.0, 2.0, 3.0])
>>> parameter = builder.Parameter(0, x.shape, "x")
>>> square = builder.Mul(parameter, parameter)
>>> client.ExecuteAndTransfer(builder.Build(), [client.TransferToServer(x)])
f64[3] {1, 4, 9}
"""

from .client import Client, ClientLibrary, ComputationInstance, ExecutionProfile
from .computation import Computation, ProgramShape
from .computation_builder import ComputationBuilder
from .global_data import GlobalData
from .handles import ComputationDataHandle
from .literal import Literal, LiteralUtil
from .padding import Padding, PaddingConfigDimension
from .shapes import LayoutUtil, ShapeUtil

__all__ = [
    "Client",
    "ClientLibrary",
    "Computation",
    "ComputationBuilder",
    "ComputationDataHandle",
    "ComputationInstance",
    "ExecutionProfile",
    "GlobalData",
    "LayoutUtil",
    "Literal",
    "LiteralUtil",
    "Padding",
    "PaddingConfigDimension",
    "ProgramShape",
    "ShapeUtil",
]

"""The builder of computations, with the preview's way of reporting errors: the first one is kept, and raised by Build.

Source: "C++ interface" of XLA's compiler preview of 2017. The operations are the methods of `phlox.xla_builder.XlaBuilder`;
what differs here is what they take and return (handles in place of instructions) and when they raise.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import hlo
from ..hlo import Instruction, Layout, Shape
from ..hlo.convolution_dimensions import ConvolutionDimensions, DimensionLabels
from ..hlo.errors import require
from ..hlo.shape import AnyShape
from ..hlo.source_lines import user_location
from ..xla_builder import XlaBuilder
from .client import Client
from .computation import Computation
from .constants import ConstantMethods
from .effects import EffectMethods
from .global_data import GlobalData
from .handles import ComputationDataHandle, check_arguments, operation_documentation, operation_signature
from .literal import Literal
from .shapes import ShapeUtil, require_shape, with_layout

# What C++ rejects at compile time (names, numbers and types of arguments) is raised at once; these wait for Build.
_DEFERRED = (hlo.HloError, ValueError, NotImplementedError)


class ComputationBuilder(ConstantMethods, EffectMethods):
    """Builds one computation for a client.

    The operations are methods, named as in XLA: those of `phlox.xla_builder.XlaBuilder`, with data handles for instructions.
    The one that was enqueued last is the computation's result, unless SetReturnValue names another.

    An operation that breaks a constraint raises nothing: the builder keeps the first error, ignores what follows, and Build
    raises it, with a note of the line where it arose. After ``set_die_immediately_on_error(True)`` it is raised at once, as
    TypeError always is, for arguments of the wrong kind or number. Where the preview returns a Status or StatusOr, the method
    raises.

    >>> from phlox.client import ClientLibrary, ShapeUtil
    >>> builder = ComputationBuilder(ClientLibrary.ClientLibraryOrDie(), "twice")
    >>> x = builder.Parameter(0, ShapeUtil.MakeShape("float32", [3]), "x")
    >>> builder.Add(x, x)
    <handle of f32[3] add(%x, %x)>
    >>> builder.Build()
    <computation twice: (x: f32[3]) -> f32[3]>
    """

    kConvBatchDimension = 0
    kConvFeatureDimension = 1
    kConvFirstSpatialDimension = 2
    kConvSecondSpatialDimension = 3
    kConvKernelOutputDimension = 0
    kConvKernelInputDimension = 1
    kConvKernelFirstSpatialDimension = 2
    kConvKernelSecondSpatialDimension = 3

    def __init__(self, client: Client, computation_name: str) -> None:
        if not isinstance(client, Client):
            raise TypeError(f"ComputationBuilder: a Client is required, got {type(client).__name__}")
        if not isinstance(computation_name, str):
            raise TypeError(f"ComputationBuilder: a name (str) is required, got {computation_name!r}")
        self.client, self.name = client, computation_name
        self._parent: ComputationBuilder | None = None
        self._dies_immediately = False
        self._first_error: Exception | None = None
        self._begin()

    def _begin(self) -> None:
        self._builder = XlaBuilder(self.name, where=user_location)
        self._result: Instruction | None = None
        self._result_is_set = False

    def __repr__(self) -> str:
        return f"<builder of computation {self.name}>"

    def __dir__(self) -> list[str]:
        records = (record.builder for record in hlo.OPERATIONS.values())
        return sorted({*super().__dir__(), *records, *(name for name in dir(XlaBuilder) if name[0].isupper())})

    # --- errors ---

    def set_die_immediately_on_error(self, enabled: bool) -> None:
        """Whether an error is raised by the operation itself, rather than by Build."""
        self._dies_immediately = bool(enabled)

    def _attempt(self, operation: Callable[[], Any]) -> Any:
        """What the operation returns; None where it, or one before it, has failed."""
        if self._first_error is not None:
            return None
        try:
            return operation()
        except _DEFERRED as error:
            self._note_error(error)
            return None

    def _note_error(self, error: Exception) -> None:
        if self._dies_immediately:
            raise error
        if self._first_error is None:
            place = user_location()
            if place is not None:
                error.add_note(f"while computation {self.name} was built, at {place}")
            self._first_error = error.with_traceback(None)

    def _raise_first_error(self) -> None:
        if self._first_error is not None:
            raise self._first_error

    # --- operations ---

    def __getattr__(self, name: str) -> Callable[..., ComputationDataHandle]:
        signature = operation_signature(name) if name[:1].isupper() else None
        if signature is None:
            raise AttributeError(f"ComputationBuilder has no method {name!r}")

        def method(*arguments: Any, **keywords: Any) -> ComputationDataHandle:
            return self._enqueue(name, signature, *arguments, **keywords)

        method.__name__, method.__doc__, method.__signature__ = name, operation_documentation(name), signature
        return method

    def _enqueue(self, name: str, signature: inspect.Signature, /, *arguments: Any, **keywords: Any) -> ComputationDataHandle:
        """An operation of XlaBuilder on handles."""
        try:
            bound = signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise TypeError(f"{name}({', '.join(signature.parameters)}): {error}") from None
        check_arguments(name, signature, bound)

        def operation() -> Instruction:
            values = [self._instructions(name, value) for value in bound.args]
            given = {key: self._instructions(name, value) for key, value in bound.kwargs.items()}
            try:
                return getattr(self._builder, name)(*values, **given)
            except (TypeError, AttributeError) as error:  # of a value that is not what the operation iterates over or asks
                raise TypeError(f"{name}({', '.join(signature.parameters)}): {error}") from error

        return self._handle(self._attempt(operation))

    def _handle(self, result: Instruction | None) -> ComputationDataHandle:
        """The handle of what was enqueued last; an empty one after an error."""
        if result is not None and not self._result_is_set:
            self._result = result
        return ComputationDataHandle(self._builder, result)

    def _instructions(self, what: str, value: Any) -> Any:
        """The value with instructions for its handles, and with what else is the client's as XlaBuilder takes it."""
        if isinstance(value, ComputationDataHandle):
            return self._instruction(what, value)
        if isinstance(value, Computation):
            return value.hlo_computation
        if isinstance(value, Literal):
            return value.value
        if type(value) in (list, tuple):
            return type(value)(self._instructions(what, element) for element in value)
        return value

    def _instruction(self, what: str, handle: ComputationDataHandle) -> Instruction:
        require(handle.instruction is not None, f"{what}: the handle is empty, since an operation has failed")
        own = handle.builder is self._builder
        require(own, f"{what}: {handle!r} is not of the computation {self.name} that is being built")
        return handle.instruction

    def _checked_instruction(self, what: str, handle: Any) -> Instruction:
        """As _instruction, for methods that raise: the first error, TypeError or ShapeError."""
        if not isinstance(handle, ComputationDataHandle):
            raise TypeError(f"{what}: a data handle is required, got {type(handle).__name__} {handle!r}")
        self._raise_first_error()
        return self._instruction(what, handle)

    def Parameter(self, parameter_number: int, shape: AnyShape, name: str = "") -> ComputationDataHandle:
        """The value that is passed to the computation as its argument with this number."""
        require_shape("Parameter: the shape", shape)
        if not isinstance(parameter_number, int | np.integer):
            raise TypeError(f"Parameter: the number must be an integer, got {parameter_number!r}")

        def operation() -> Instruction:
            taken = [i for i in self._builder.instructions if i.opcode == "parameter"]
            numbers = [i.attributes["number"] for i in taken]
            require(parameter_number not in numbers, f"Parameter: computation {self.name} has a parameter {parameter_number}")
            return self._builder.Parameter(parameter_number, shape, name)

        return self._handle(self._attempt(operation))

    def Pad(self, operand: Any, padding_value: Any, padding_config: Sequence[Any]) -> ComputationDataHandle:
        """``padding_config`` holds edge_padding_low, edge_padding_high and interior_padding for each dimension."""
        return self._enqueue("Pad", operation_signature("Pad"), operand, padding_value, padding=padding_config)

    def Dot(self, lhs: Any, rhs: Any) -> ComputationDataHandle:
        """As numpy.dot: the last dimension of lhs with the last but one of rhs, or its only one; a product with a scalar."""
        signature = operation_signature("Dot")
        check_arguments("Dot", signature, signature.bind(lhs, rhs))

        def operation() -> Instruction:
            left, right = (self._instruction("Dot", handle) for handle in (lhs, rhs))
            for side, shape in (("lhs", left.shape), ("rhs", right.shape)):
                require(not shape.is_tuple, f"Dot: {side} must be an array, got {shape}")
            if not left.shape.rank or not right.shape.rank:
                return self._builder.Mul(left, right)
            contracted = (left.shape.rank - 1,), (max(right.shape.rank - 2, 0),)
            return self._builder.DotGeneral(
                left, right, lhs_contracting_dimensions=contracted[0], rhs_contracting_dimensions=contracted[1]
            )

        return self._handle(self._attempt(operation))

    def Map(
        self, operands: Sequence[Any], computation: Computation, static_operands: Sequence[Any] = ()
    ) -> ComputationDataHandle:
        """The scalar computation on corresponding elements of the operands, with the static operands as further arguments.

        A static operand is a scalar; NotImplementedError (deferred) for an array.
        """
        if not isinstance(computation, Computation):
            raise TypeError(f"Map: computation must be a Computation, got {type(computation).__name__}")
        handles = [("operand", list(operands)), ("static operand", list(static_operands))]
        for what, handle in ((what, handle) for what, group in handles for handle in group):
            if not isinstance(handle, ComputationDataHandle):
                raise TypeError(f"Map: each {what} must be a data handle, got {type(handle).__name__} {handle!r}")

        def operation() -> Instruction:
            arrays, static = ([self._instruction("Map", handle) for handle in group] for _, group in handles)
            require(bool(arrays), "Map: at least one operand is required")
            for value in static:
                if value.shape.is_tuple or value.shape.rank:
                    raise NotImplementedError(f"Map: static operands that are no scalars, such as {value.shape}")
                arrays.append(self._builder.BroadcastInDim(value, arrays[0].shape.dimensions, ()))
            return self._builder.emit("map", *arrays, to_apply=computation.hlo_computation)

        return self._handle(self._attempt(operation))

    @staticmethod
    def CreateDefaultConvDimensionNumbers() -> Any:
        """Batch, feature, height, width of the input; output feature, input feature, height, width of the kernel."""
        return ComputationBuilder.CreateConvDimensionNumbers(0, 1, 2, 3, 0, 1, 2, 3)

    @staticmethod
    def CreateConvDimensionNumbers(
        batch: int,
        feature: int,
        first_spatial: int,
        second_spatial: int,
        kernel_output_feature: int,
        kernel_input_feature: int,
        kernel_first_spatial: int,
        kernel_second_spatial: int,
    ) -> Any:
        """The dimension numbers of a convolution in two dimensions; output as input. Raises ValueError where they conflict."""
        spatial, kernel_spatial = (first_spatial, second_spatial), (kernel_first_spatial, kernel_second_spatial)
        data = batch, feature, spatial
        return DimensionLabels().check(
            ConvolutionDimensions(*data, kernel_input_feature, kernel_output_feature, kernel_spatial, *data)
        )

    # --- questions ---

    def GetShape(self, operand: ComputationDataHandle) -> AnyShape:
        """The shape of a value in the computation. Raises the first error, where there is one."""
        return self._checked_instruction("GetShape", operand).shape

    def CheckShape(self, operand: ComputationDataHandle, expected_shape: AnyShape) -> ComputationDataHandle:
        """The operand, if it has this shape, layout included where one is expected; else raises ValueError at once."""
        require_shape("CheckShape: the expected shape", expected_shape)
        shape = self.GetShape(operand)
        has_layout = any(leaf.layout is not None for leaf in hlo.leaves(expected_shape))
        same = ShapeUtil.Equal if has_layout else ShapeUtil.Compatible
        if not same(shape, expected_shape):
            raise ValueError(f"CheckShape: {expected_shape} is expected, {operand!r} has shape {shape}")
        return operand

    def CheckSameShape(self, lhs: ComputationDataHandle, rhs: ComputationDataHandle) -> None:
        """Raises ValueError at once unless both have the same shape."""
        if not ShapeUtil.Compatible(self.GetShape(lhs), self.GetShape(rhs)):
            raise ValueError(f"CheckSameShape: {self.GetShape(lhs)} and {self.GetShape(rhs)} differ")

    def ComputeConstant(self, handle: ComputationDataHandle, output_layout: Layout | None = None) -> GlobalData:
        """The value of an expression that does not depend on a parameter, computed now, in this layout where one is given.

        Raises ValueError where it depends on a parameter, or what an operation before it has raised.
        """
        root = self._checked_instruction("ComputeConstant", handle)
        needed = tuple(hlo.post_order(root))
        for instruction in needed:
            if instruction.opcode == "parameter":
                name = f"{instruction.attributes['number']}" + (f" ({instruction.name})" if instruction.name else "")
                raise ValueError(f"ComputeConstant: {handle!r} is no constant: it depends on parameter {name}")
        shape = None
        if output_layout is not None:
            if not isinstance(root.shape, Shape):
                raise ValueError(f"ComputeConstant: a layout is for an array, {handle!r} is a tuple")
            shape = with_layout(root.shape, output_layout)
        return self.client.Execute(Computation(hlo.Computation(f"{self.name}_constant", needed, root)), (), shape)

    # --- what is built ---

    def CreateSubBuilder(self, computation_name: str) -> ComputationBuilder:
        """A builder of a computation that only this one uses; it reports errors as this one does."""
        child = ComputationBuilder(self.client, computation_name)
        child._parent, child._dies_immediately = self, self._dies_immediately
        return child

    def SetReturnValue(self, operand: ComputationDataHandle) -> None:
        """The computation returns this value, whatever is enqueued after it. Raises the first error, where there is one."""
        self._result = self._checked_instruction("SetReturnValue", operand)
        self._result_is_set = True

    def Build(self) -> Computation:
        """The computation. The builder then begins another one, in which the handles of this one cannot be used.

        Raises the first error that an operation has met; ValueError where the computation is empty or its parameters are not
        numbered 0, 1, ...
        """
        self._raise_first_error()
        built = self._builder.build(self._result)
        hlo.verify(hlo.Module(self.name, built))
        self._begin()
        return Computation(built)

    def BuildAndNoteError(self) -> Computation | None:
        """As Build; an error is kept in the builder that this one is a sub-builder of, and None is returned.

        Raises ValueError where it is no sub-builder.
        """
        if self._parent is None:
            raise ValueError(f"BuildAndNoteError: {self!r} is no sub-builder; CreateSubBuilder makes one")
        try:
            return self.Build()
        except _DEFERRED as error:
            self._parent._note_error(error)
            return None

"""Which calls may bypass Python, and how the backend is told.

The kernel of a native entry takes the module's parameters in order, arguments first, then captured arrays. Functions that
change arrays in place, or that return arrays whose sizes are known when they run only, are always called through Python, and so
are calls with static arguments that may change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ...backends import registry
from ..outside.identities import facts_of
from ..recording import pytree
from ..recording.errors import IntegerOverflow, StaleCapture
from .arguments import Call
from .leaves import StaticLeaf, TracedLeaf, is_known_by_identity
from .specialization import Specialization
from .traced_function import CallForm, Recording


def call_signature(recording: Recording, form: CallForm, call: Call) -> Any:
    """The CallSignature of calls like this one; None where they have to go through Python."""
    types = registry.call_signature_types()
    if types is None or recording.mutated or recording.mutated_captures or recording.effects:
        return None
    if any(output.kind == "outside" for output in recording.outputs) or facts_of(recording.guards) is None:
        return None
    if any(shape.has_dynamic_dimensions for shape in hlo.leaves(recording.module.entry.shape)):
        return None
    if any(_may_trace_again(error, recording) for error, *_ in recording.error_messages):
        return None
    by_path = {leaf.path: leaf for leaf in form.leaves}
    guards = []
    for argument in call.arguments:
        guard = _guard(types, by_path.get(argument.name), argument.value)
        if guard is None:
            return None
        guards.append(guard)
    captures = []
    for capture in recording.captures:
        if capture.convert is not None or not isinstance(capture.array, np.ndarray):
            return None
        captures.append(_array_guard(types, capture.parameter.shape))
    results = [types.ResultSpec(shape.dtype, shape.dimensions) for shape in hlo.leaves(recording.module.entry.shape)]
    has_error_code = bool(recording.error_messages)
    if has_error_code:
        results.pop()
    structure = _result_structure(recording)
    if structure == "call":
        returned = [recording.leaves[output.index] for output in recording.outputs if output.kind == "argument"]
        results.extend([types.ArgumentResult(_position(call, leaf)) for leaf in returned])
    return types.CallSignature(
        tuple(guards),
        call.keywords,
        tuple(captures),
        tuple(results),
        result_structure=structure,
        has_error_code=has_error_code,
    )


def _may_trace_again(error: type[Exception] | Exception, recording: Recording) -> bool:
    """Whether a call that raises this is made again, with other code."""
    kind = error if isinstance(error, type) else type(error)
    if kind is IntegerOverflow:
        return any(leaf.is_python_integer for leaf in recording.leaves)
    return issubclass(kind, StaleCapture)


def install(specialization: Specialization, instance: Any, signature: Any, call: Call) -> bool:
    """Let calls of the signature bypass Python, where the executable can."""
    installer = getattr(specialization.executable, "install", None)
    if signature is None or installer is None:
        return False
    recording = specialization.recording
    traced = {leaf.path for leaf in recording.leaves}
    statics = [argument.value for argument in call.arguments if argument.name not in traced]
    structure = specialization.assemble_native if signature.result_structure == "call" else None
    captures = [capture.array for capture in recording.captures]
    facts = facts_of(recording.guards) or ()
    raise_error = specialization.raise_error if signature.has_error_code else None
    return installer(instance, captures=captures, facts=facts, statics=statics, structure=structure, raise_error=raise_error)


def _guard(types: Any, leaf: Any, value: Any) -> Any:
    if value is None or isinstance(leaf, StaticLeaf):
        return types.StaticGuard() if is_known_by_identity(value) else None
    if not isinstance(leaf, TracedLeaf):  # a container
        return None
    if leaf.kind == "python scalar":
        return types.PythonScalarGuard(type(value), *(leaf.interval or ()))
    if leaf.kind == "numpy scalar":
        try:
            return types.NumPyScalarGuard(leaf.shape.dtype)
        except NotImplementedError:
            return None
    return None if leaf.convert is not None else _array_guard(types, leaf.shape)


def _position(call: Call, leaf: TracedLeaf) -> int:
    """Which argument of the call a leaf is; there are no containers among them."""
    return next(position for position, argument in enumerate(call.arguments) if argument.name == leaf.path)


def _array_guard(types: Any, shape: hlo.Shape) -> Any:
    return types.ArrayGuard(shape.dtype, shape.dimensions, "C" if shape.is_row_major else "F")


def _result_structure(recording: Recording) -> str:
    structure = recording.out_structure
    in_order = [output.index for output in recording.outputs if output.kind == "result"] == list(range(recording.result_count))
    if not in_order or len(recording.outputs) != recording.result_count:
        return "call"
    if structure is pytree.LEAF:
        return "single"
    if structure == pytree.flatten(None)[1]:
        return "none"
    flat = structure[0] is tuple and all(child is pytree.LEAF for child in structure[2])
    return "tuple" if flat else "call"

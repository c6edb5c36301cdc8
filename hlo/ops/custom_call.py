"""Calls of functions that the program does not hold, by name.

Source: "CustomCall" of XLA's Operation Semantics, and ``HloCustomCallInstruction`` for what the text says of it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..attributes import Boolean, CalledComputation, CalledComputations, Choice, Integer, RawText, String, braced_list
from ..element_type import F32, F64, PRED, S32, U64
from ..errors import HloError, require
from ..operation import EFFECTFUL, HOST_CALL, KEPT, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape
from .known_calls import require_known_call


class LiteralText(RawText):
    """``literal=s32[2]{0} {1, 2}``: a shape and a value of it, kept as they are spelled."""

    def parse(self, cursor) -> str:
        # Text is made for all operations, which stand below it.
        from ..text.shapes import parse_shape, starts_shape

        start = cursor.position
        if starts_shape(cursor) and cursor.token != "(":
            parse_shape(cursor)  # that of a tuple stands with its elements
        cursor.raw_value()
        return cursor.text[start : cursor.position].rstrip()


_VERSIONS = (
    "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI",
)  # fmt: skip


@operation(
    "custom-call", "*operands", builder="CustomCall", traits={EFFECTFUL, HOST_CALL}, dynamic=KEPT,
    effects_if="custom_call_has_side_effect",
    custom_call_target=String(), window=RawText(""), dim_labels=RawText(""), feature_group_count=Integer(1),
    batch_group_count=Integer(1), operand_layout_constraints=RawText(""),
    custom_call_has_side_effect=Boolean(False), to_apply=CalledComputation(None), called_computations=CalledComputations(()),
    padding_type=RawText(""), literal=LiteralText(""), api_version=Choice(*_VERSIONS, default=_VERSIONS[0]),
    frontend_attributes=RawText(""), backend_config=RawText(""),
)  # fmt: skip
def custom_call(
    *operands, custom_call_target, window, dim_labels, feature_group_count, batch_group_count, operand_layout_constraints,
    custom_call_has_side_effect, to_apply, called_computations, padding_type, literal, api_version,
    frontend_attributes, backend_config, stated,
):  # fmt: skip
    """CustomCall(target_name, operands..., shape): the result, of the stated shape, of a function that is found by its name.

    The function is registered with `phlox.register_custom_call`, as a native one of the signature
    ``void name(void* out, void** in)`` or in Python. The call is removed where nothing needs its result, and may be merged
    with one that is alike, unless ``custom_call_has_side_effect`` is true. What ``backend_config`` says is for the function.
    Called computations, layouts and the rest are kept as they are.
    """
    require(bool(custom_call_target), "custom-call: custom_call_target must not be empty")
    require(stated is not None, "custom-call: a result shape is required")
    stated_operand_shapes(operand_layout_constraints, operands)
    require_known_call(custom_call_target, operands, stated)
    return stated


@custom_call.evaluation
def _(
    *operands, custom_call_target, window, dim_labels, feature_group_count, batch_group_count, operand_layout_constraints,
    custom_call_has_side_effect, to_apply, called_computations, padding_type, literal, api_version,
    frontend_attributes, backend_config, run, shape, operand_shapes,
):  # fmt: skip
    layouts = stated_operand_shapes(operand_layout_constraints, operand_shapes)
    return run.environment.custom_call(custom_call_target, operands, layouts, shape, backend_config)


def stated_operand_shapes(constraints, operand_shapes):
    """The operands' shapes in the layouts of ``operand_layout_constraints``, row-major where nothing is said.

    >>> stated_operand_shapes("{f32[2,3]{0,1}}", [Shape(F32, (2, 3))])[0].is_row_major
    False
    """
    return list(_stated_shapes(constraints, tuple(operand_shapes)))


@lru_cache(maxsize=1024)
def _stated_shapes(constraints, operand_shapes):
    plain = [shape.without_layout() for shape in operand_shapes]
    if not constraints:
        return plain
    # Text is made for all operations, which stand below it.
    from ..text.lexer import Cursor
    from ..text.shapes import parse_shape

    cursor = Cursor(constraints, "", None)
    try:
        stated = braced_list(cursor, lambda: parse_shape(cursor))
    except HloError:
        stated = []
    fits = len(stated) == len(plain) and all(a.without_layout() == b for a, b in zip(stated, plain))
    given = ", ".join(map(str, plain))
    require(fits, f"custom-call: operand_layout_constraints {constraints} must be the shapes of the operands, ({given})")
    return stated


@custom_call.sampling
def _():
    x, y = np.array([1, 2], np.float32), np.array([[10, 20, 30], [40, 50, 60]], np.float32)
    same = {"custom_call_target": "Sharding"}
    yield Sample([y], same, shape=Shape(F32, (2, 3)), expected=y)
    yield Sample([np.int32(3)], {**same, "custom_call_has_side_effect": True}, shape=Shape(S32), expected=np.int32(3))
    pair = TupleShape((Shape(F32, (2,)), Shape(F32, (2, 3))))
    yield Sample([(x, y)], {**same, "backend_config": '"opaque"'}, shape=pair, expected=(x, y))
    layouts = {"operand_layout_constraints": "{f32[2,3]{0,1}}", "api_version": "API_VERSION_TYPED_FFI"}
    yield Sample([y], {**same, **layouts, "backend_config": "{mode = 86 : ui8}"}, shape=Shape(F32, (2, 3)), expected=y)
    largest = TupleShape((Shape(F32, (2,)), Shape(S32, (2,))))
    expected = np.float32([3, 2]), np.int32([1, 2])
    yield Sample([np.float32([1, 3, 2])], {"custom_call_target": "TopK"}, shape=largest, expected=expected)
    yield InvalidSample([Shape(F32)], {"custom_call_target": "f"}, "a result shape is required")
    for constraints in ("{}", "{f32[3]{0}}", "{s32[2]{0}}", "{f32[2]{0}, f32[2]{0}}", "{f32[2]{1}}", "{f32}", "5"):
        wrong = {"custom_call_target": "f", "operand_layout_constraints": constraints}
        yield InvalidSample([Shape(F32, (2,))], wrong, "operand_layout_constraints .* must be the shapes of", shape=Shape(F32))
    wrong = TupleShape((Shape(F32, (2,)), Shape(S32, (3,))))
    yield InvalidSample([Shape(F32, (3,))], {"custom_call_target": "TopK"}, "TopK of .* returns .f32.k., s32", shape=wrong)
    yield InvalidSample([Shape(F32, (3,))], same, "Sharding returns its operand", shape=Shape(F32, (2,)))
    factors = {"custom_call_target": "lapack_sgetrf_ffi"}
    wrong = TupleShape((Shape(F32, (2, 3)), Shape(S32, (3,)), Shape(S32)))
    yield InvalidSample([Shape(F32, (2, 3))], factors, r"returns \(f32\[2,3\], s32\[2\], s32\[\]\)", shape=wrong)
    yield InvalidSample([Shape(F64, (2, 3))], factors, r"takes \(f32\[m,n\]\)", shape=wrong)
    unfilled = {"custom_call_target": "AllocateBuffer"}
    yield InvalidSample([Shape(F32)], unfilled, "AllocateBuffer takes no operands", shape=Shape(F32))
    yield InvalidSample([], unfilled, "AllocateBuffer returns an array", shape=TupleShape((Shape(F32),)))
    drawn = {"custom_call_target": "numpy.random.Generator.normal"}
    operands = [Shape(PRED), Shape(U64), Shape(F64, (2,)), Shape(F64)]
    message = r"takes .pred, u64, f64, f64. and returns f64.n."
    yield InvalidSample(operands, drawn, message, shape=Shape(F64, (3,)))
    yield InvalidSample(operands[:3], drawn, message, shape=Shape(F64, (2,)))
    yield InvalidSample(operands, drawn, message, shape=Shape(F32, (2,)))
    yield InvalidSample([Shape(F32)], {"custom_call_target": ""}, "must not be empty", shape=Shape(F32))

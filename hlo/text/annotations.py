"""Attributes of instructions and modules that change nothing of what is computed: kept as they are spelled, if well formed.

Source of the forms: ``HloParserImpl::ParseAttributeHelper`` and the functions that it calls (``xla/hlo/parser/hlo_parser.cc``);
of the checks of aliases: ``HloInputOutputAliasConfig::Verify`` and ``HloBufferDonorConfig::Verify`` (``xla/hlo/ir``).
"""

from __future__ import annotations

import re

from ..instruction import Computation
from ..shape import AnyShape, compatible
from .lexer import Cursor

# Those that any instruction may have.
ANNOTATIONS = frozenset({
    "backend_config", "control-predecessors", "frontend_attributes", "inner_tile", "origin", "original_value",
    "outer_dimension_partitions", "parameter_replication", "sharding", "statistics",
})  # fmt: skip
# Those that only a few operations may have.
OWN_ANNOTATIONS = {
    "all-reduce": {"mode"}, "all-reduce-start": {"mode"}, "reduce-scatter": {"mode"}, "reshape": {"inferred_dimension"},
    "dot": {"algorithm", "operand_precision"}, "scaled-dot": {"algorithm", "operand_precision"},
    "convolution": {"conv_kind", "convolution_kind", "operand_precision"}, "ragged-dot": {"operand_precision"},
    "custom-call": {
        "batch_group_count", "feature_group_count", "literal", "operand_precision", "output_to_operand_aliasing", "schedule",
    },
    "fusion": {"output_to_operand_aliasing"}, "async-start": {"async_execution_thread", "output_to_operand_aliasing"},
    "async-update": {"async_execution_thread"}, "async-done": {"async_execution_thread"},
    **dict.fromkeys(
        (
            "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cosh", "cosine", "erf", "exponential",
            "exponential-minus-one", "log", "log-plus-one", "logistic", "rsqrt", "sine", "sinh", "sqrt", "tan", "tanh",
        ),
        {"result_accuracy"},
    ),
}  # fmt: skip

# Attributes of operations on compressed arrays, which nothing here computes.
UNIMPLEMENTED = {
    "convolution": {"block_scaling_config", "sparsity_config"}, "dot": {"sparsity"}, "scaled-dot": {"sparsity_config"},
}  # fmt: skip

_INDEX = r"\{ (?: \s* [0-9]{1,9} (?: \s*,\s* [0-9]{1,9} )* )? \s* \}"
_STRING = r'" (?: [^"\\] | \\. )* "'
_FLOAT = r"-?[0-9.]+ (?: [eE][+\-]?[0-9]+ )?"
_PAIR = rf"\( \s* (?P<number>[0-9]{{1,9}}) \s*,\s* (?P<inside>{_INDEX})"
_FLAGS = re.VERBOSE | re.DOTALL | re.ASCII


def _form(form: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return form, re.compile(pattern, _FLAGS)


def _list(item: str) -> str:
    """Items in braces, with commas."""
    item = re.sub(r"\?P<\w+>", "?:", item)
    return rf"\{{ \s*+ (?: {item} (?: \s*,\s* {item} )* (?: \s*, )? )? \s* \}}"


_ALIAS = rf"(?P<output>{_INDEX}) \s* : \s* {_PAIR} (?: \s*,\s* (?:may|must)-alias )? \s* \)"
_DONOR = rf"{_PAIR} \s* \)"
_OPERAND_ALIAS = rf"(?P<output>{_INDEX}) \s* : \s* {_PAIR} \s* \)"
_TOLERANCE = rf"(?:rtol|atol|ulps) \s*=\s* {_FLOAT}"
_BOOL = "(?:true|false)"
_SOME_SHARDING = r"(?: replicated | manual | maximal | unknown | unreduced | devices \s* = | (?:maximal_)?mesh \s* \[ ) .*"

# The form of each in words, and as an expression that the whole value matches.
_FORMS = {
    "algorithm": _form("dot_tf32_tf32_f32", r"unset | (?:dot_|rng_) \w+"),
    "backend_config": _form('"text" or {"key": value}', rf"{_STRING} | \{{ .* \}}"),
    "control-predecessors": _form("{%a, %b}", _list(r"%?[\w.\-]+")),
    "conv_kind": _form("fprop, dgrad or wgrad", "fprop | dgrad | wgrad"),
    "convolution_kind": _form("fprop, dgrad or wgrad", "fprop | dgrad | wgrad"),
    "frontend_attributes": _form('{key="text",other={...}}', r"\{ .* \}"),
    "operand_precision": _form("{highest,default}", _list("(?:default|highest|high|packed_nibble|unset)")),
    "origin": _form('{{"name"}}', r"\{ \s* [\[\{\(] .* \} | \{ \s* \}"),
    "output_to_operand_aliasing": _form("{{0}: (0, {})}", _list(_OPERAND_ALIAS)),
    "parameter_replication": _form("{true,false}", _list(_BOOL)),
    "result_accuracy": _form(
        "{mode=highest} or {tolerance={rtol=0.5, atol=1, ulps=2}}",
        rf"\{{ \s* (?: mode \s*=\s* (?:default|highest) | tolerance \s*=\s* {_list(_TOLERANCE)} ) \s* \}}",
    ),
    "schedule": _form("SCHEDULE_EARLIEST", "SCHEDULE_ (?:NONE|LATEST|EARLIEST)"),
    "sharding": _form(
        "{replicated}, {manual}, {maximal device=0}, {devices=[2,1]<=[2]} or a list of these",
        rf"\{{ \s* (?: {_SOME_SHARDING} | (?: \{{ .* \}} \s* )? ) \}}",
    ),
    "statistics": _form("{visualizing_index=0,name=1}", _list(rf"[\w.\-]+ \s*=\s* {_FLOAT}")),
    # of modules
    "alias_passthrough_params": _form("true or false", _BOOL),
    "allow_spmd_sharding_propagation_to_output": _form("true, or {true,false}", f"{_BOOL} | {_list(_BOOL)}"),
    "allow_spmd_sharding_propagation_to_parameters": _form("true, or {true,false}", f"{_BOOL} | {_list(_BOOL)}"),
    "buffer_donor": _form("{ (0, {}), (1, {0}) }", _list(_DONOR)),
    "entry_computation_layout": _form("{(f32[2]{0})->f32[2]{0}}", r"\{ .* \}"),
    "input_output_alias": _form("{ {0}: (0, {}, may-alias) }", _list(_ALIAS)),
    "is_scheduled": _form("true or false", _BOOL),
    "num_partitions": _form("an integer", "-?[0-9]{1,9}"),
    "replica_count": _form("an integer", "-?[0-9]{1,9}"),
}  # fmt: skip
_ALIASES = re.compile(_ALIAS, _FLAGS)
_DONORS = re.compile(_DONOR, _FLAGS)
_OPERAND_ALIASES = re.compile(_OPERAND_ALIAS, _FLAGS)


def is_annotation(name: str, opcode: str, is_started: bool) -> bool:
    """Whether an instruction with this opcode, or the short spelling of its start, may have such an annotation.

    >>> is_annotation("schedule", "custom-call", False), is_annotation("schedule", "add", False)
    (True, False)
    """
    own = OWN_ANNOTATIONS.get(opcode, ())
    return name in ANNOTATIONS or name in own or (is_started and name in OWN_ANNOTATIONS["async-start"])


def check_form(cursor: Cursor, name: str, text: str, place: int) -> None:
    """Fail, at the place, where the value of this attribute is not of its form."""
    form = _FORMS.get(name)
    if form is not None and form[1].fullmatch(text) is None:
        cursor.fail(f"{name}: {form[0]} expected, found {text[:60]}", place)


def check_aliases(cursor: Cursor, attributes: dict[str, str], places: dict[str, int], entry: Computation) -> None:
    """Fail where what a module's header says of aliases names what the entry computation has not."""
    outputs: set[tuple[int, ...]] = set()
    inputs: set[tuple[int, tuple[int, ...]]] = set()
    for match in _ALIASES.finditer(attributes.get("input_output_alias", "")):
        place = places["input_output_alias"]
        output, number, inside = _index(match["output"]), int(match["number"]), _index(match["inside"])
        result = _subshape(entry.shape, output)
        if result is None or result.is_tuple:
            cursor.fail(f"input_output_alias: the result {entry.shape} has no array at index {match['output']}", place)
        parameter = _array_of_parameter(cursor, "input_output_alias", entry, number, match["inside"], place)
        if output in outputs or (number, inside) in inputs:
            cursor.fail(f"input_output_alias: {match.group()} aliases what another alias does already", place)
        if parameter.byte_size != result.byte_size:
            cursor.fail(f"input_output_alias: {match.group()} aliases {parameter} and {result}, which differ in size", place)
        outputs.add(output)
        inputs.add((number, inside))
    for match in _DONORS.finditer(attributes.get("buffer_donor", "")):
        _array_of_parameter(cursor, "buffer_donor", entry, int(match["number"]), match["inside"], places["buffer_donor"])


def operand_alias_error(text: str, operands: tuple[AnyShape, ...], result: AnyShape) -> str:
    """What is wrong with the value of ``output_to_operand_aliasing``; empty where nothing is."""
    for match in _OPERAND_ALIASES.finditer(text):
        number = int(match["number"])
        if number >= len(operands):
            return f"output_to_operand_aliasing: there are {len(operands)} operands, operand {number} is named"
        of_operand, of_result = _subshape(operands[number], _index(match["inside"])), _subshape(result, _index(match["output"]))
        if of_operand is None or of_result is None or not compatible(of_operand, of_result):
            return f"output_to_operand_aliasing: {match.group()} does not fit operand {operands[number]} and result {result}"
    return ""


def _array_of_parameter(cursor: Cursor, what: str, entry: Computation, number: int, inside: str, place: int) -> AnyShape:
    count = len(entry.parameters)
    if number >= count:
        cursor.fail(f"{what}: the entry computation has {count} parameter{'s' * (count != 1)}, {number} is named", place)
    shape = entry.parameter_shapes[number]
    found = _subshape(shape, _index(inside))
    if found is None or found.is_tuple:
        cursor.fail(f"{what}: parameter {number}, {shape}, has no array at index {inside}", place)
    return found


def _index(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall("[0-9]+", text))


def _subshape(shape: AnyShape, index: tuple[int, ...]) -> AnyShape | None:
    """The part of a tuple at this index; None where there is none."""
    for number in index:
        if not shape.is_tuple or number >= len(shape.elements):
            return None
        shape = shape.elements[number]
    return shape

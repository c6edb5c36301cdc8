"""HLO text: modules dumped by XLA are read and mean what they say; what is printed is read back, by XLA too."""

import math
from pathlib import Path

import numpy as np
import pytest

from phlox import hlo
from phlox.hlo import F32, S32, Builder, HloSyntaxError, Layout, Module, Shape, TupleShape, parse_module
from phlox.hlo.element_type import ELEMENT_TYPES

DATA = Path(__file__).parent / "data"
X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75], [-2.5, 3.0, 0.125], [0.0, -0.5, 1.0]], np.float32)
WEIGHTS = (np.arange(15, dtype=np.float32).reshape(3, 5) - 7) / 8
BIAS = np.array([0.25, -0.5, 0.75, 0.0, -0.125], np.float32)


def softmax_of_tanh(x, weights, bias):
    hidden = np.tanh(x.astype(np.float64) @ weights + bias)
    exponentials = np.exp(hidden)
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def gradient_by_differences(x, weights, bias):
    result = np.empty(weights.shape)
    for index in np.ndindex(*weights.shape):
        step = np.zeros(weights.shape)
        step[index] = 1e-6
        after, before = (softmax_of_tanh(x, weights + s, bias)[:, 0].sum() for s in (step, -step))
        result[index] = (after - before) / 2e-6
    return result


def sine_five_times(x):
    for _ in range(5):
        x = np.sin(x)
    return np.int64(5), x


def rows_doubled_and_raised(x):
    rows = x.copy()
    for i in range(7):
        rows[i % 4] = rows[i % 4] * 2 + i
    return rows


def reductions(x):
    return x.sum(), x.max(axis=0), np.argmax(x, axis=1), np.prod(x), (x > 0).all(), x.mean(axis=1)


def integers(i, j):
    bits = i.view(np.uint32)
    leading = np.array([32 - int(value).bit_length() for value in bits], np.int32)
    return i // j, i % j, i & j, i ^ j, i << 2, np.bitwise_count(bits).astype(np.int32), leading, (bits >> 1).view(np.int32)


def movement(x):
    padded = np.zeros((7, 4), np.float32)
    padded[1:5, :3] = x
    return (
        padded, x[::-1], x[1:3:2], x.T, np.concatenate([x, x]), np.clip(x, -1, 1), np.where(x > 0, x, np.float32(0)),
        np.round(x), x.astype(np.int8), x.view(np.int32), np.arange(5), np.broadcast_to(x, (2, 4, 3)),
    )  # fmt: skip


def constants(x):
    table = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
    return x + table, np.array([1 + 2j, complex(0.1, -np.inf)]), np.array([np.nan, -np.inf, -0.0, 1e-30]), np.array([True, False])


NET = (X, WEIGHTS, BIAS)
Z = (X + 1j * X[::-1]).astype(np.complex64)
INTEGERS = (np.array([7, -7, 100, 0], np.int32), np.array([2, 2, -3, 5], np.int32))
A, B = np.arange(24.0).reshape(2, 3, 4) / 8 - 1, np.arange(40.0).reshape(2, 4, 5) / 16
# The dump, the arguments, and what NumPy says that the function gives.
DUMPS = {
    "mlp": (NET, softmax_of_tanh(*NET)),
    "mlp_optimized": (NET, softmax_of_tanh(*NET)),
    "mlp_gradient": (NET, gradient_by_differences(*NET)),
    "mlp_gradient_optimized": (NET, gradient_by_differences(*NET)),
    "count_up": ((X,), sine_five_times(X)),
    "count_up_optimized": ((X,), sine_five_times(X)),
    "update_rows": ((X,), rows_doubled_and_raised(X)),
    "update_rows_optimized": ((X,), rows_doubled_and_raised(X)),
    "choose": ((np.int32(2), X), X * X),
    "choose_optimized": ((np.int32(1), X), -X),
    "reductions": ((X,), reductions(X)),
    "reductions_optimized": ((X,), reductions(X)),
    "batched_product": ((A, B), A @ B),
    "complex_numbers": ((Z,), (np.abs(Z), np.exp(Z) * np.conj(Z), Z.real + Z.imag)),
    "integers": (INTEGERS, integers(*INTEGERS)),
    "movement": ((X,), movement(X)),
    "constants": ((X,), constants(X)),
    "half_precision": ((X,), X @ X.T),
}
TOLERANCE = {"mlp_gradient": 2e-6, "mlp_gradient_optimized": 2e-6, "half_precision": 2**-7}


def dump(name):
    return (DATA / f"{name}.hlo").read_text()


def flat(value):
    return [leaf for element in value for leaf in flat(element)] if isinstance(value, tuple) else [value]


def test_every_dump_is_tested():
    assert {path.stem for path in DATA.glob("*.hlo")} == DUMPS.keys()


@pytest.mark.parametrize("name", DUMPS)
def test_dump_means_what_it_says(name):
    arguments, expected = DUMPS[name]
    module = parse_module(dump(name))
    hlo.verify(module)
    results = flat(hlo.evaluate(module.entry, *arguments))
    expected = flat(expected)
    shapes = hlo.leaves(module.entry.shape)
    assert len(results) == len(expected) == len(shapes)
    for result, wanted, shape in zip(results, expected, shapes):
        assert (np.shape(result), np.asarray(result).dtype) == (shape.dimensions, shape.dtype)
        assert np.shape(result) == np.shape(wanted)
        if shape.element_type.kind in ("pred", "signed", "unsigned"):
            np.testing.assert_array_equal(result, wanted)
        else:
            np.testing.assert_allclose(result, wanted, rtol=TOLERANCE.get(name, 1e-6), atol=TOLERANCE.get(name, 1e-6))


@pytest.mark.parametrize("options", [{}, {"metadata": True}, {"names": "canonical"}], ids=str)
@pytest.mark.parametrize("name", DUMPS)
def test_dump_is_printed_back(name, options):
    module = parse_module(dump(name))
    text = module.as_text(**options)
    again = parse_module(text)
    assert again == module
    assert again.as_text(**options) == text


def test_names_are_kept():
    module = parse_module(dump("count_up"))
    assert module.name == "jit_count_up"
    assert module.entry.name == "main.3"
    assert "%sin.1 = f32[4,3]{1,0} sine(%get-tuple-element.3)" in module.as_text()
    assert "while(%while.4), condition=%region_1.2, body=%region_0.1" in module.as_text()


def test_source_locations_are_read_from_stack_frames():
    module = parse_module(dump("count_up_optimized"))
    (sine,) = [i for c in module.computations() for i in c.instructions if i.opcode == "sine"]
    assert (sine.source.file, sine.source.function) == ("model.py", "count_up.<locals>.<lambda>")
    lines = dump("count_up_optimized").splitlines()
    assert any(f"line={sine.source.line} " in line for line in lines if line.startswith("4 {file_name_id"))


def test_source_locations_are_printed_on_demand():
    b = Builder("f", where=lambda: hlo.SourceLocation('a "b".py', 12, "step"))
    module = b.build_module(b.Neg(b.parameter(Shape(F32), "x")))
    assert "metadata" not in module.as_text()
    text = module.as_text(metadata=True)
    assert 'negate(%x), metadata={op_name="step" source_file="a \\"b\\".py" source_line=12}' in text
    assert parse_module(text).entry.root.source == hlo.SourceLocation('a "b".py', 12, "step")


# --- printing ---


def test_canonical_text_depends_on_the_program_alone():
    def program(suffix, with_layout):
        b = Builder(f"f{suffix}")
        layout = Layout((1, 0)) if with_layout else None
        x = b.parameter(Shape(F32, (2, 3), layout), f"x{suffix}")
        return b.build_module(b.emit("exponential", x, name=f"e{suffix}"))

    first, second = program("", False), program("<lambda>", True)
    assert first == second
    assert first.as_text() != second.as_text()
    assert first.as_text(names="canonical") == second.as_text(names="canonical")
    with pytest.raises(ValueError, match="names must be 'original' or 'canonical', got 'short'"):
        first.as_text(names="short")


def test_clashing_and_impossible_names():
    b = Builder("true")
    x = b.emit("parameter", shape=Shape(F32), number=0, name="x")
    y = b.emit("negate", x, name="x")
    z = b.emit("add", x, y, name="x.1")
    root = b.emit("tuple", b.emit("abs", z, name="<lambda>"), b.emit("abs", y, name="3"), b.emit("abs", y, name="é"), z)
    module = b.build_module(root)
    text = module.as_text()
    assert text.startswith("HloModule _true,")
    names = [line.split(" = ")[0].strip().removeprefix("ROOT ") for line in text.splitlines() if " = " in line]
    assert names == ["%x", "%x.1", "%x.2", "%_lambda_", "%_3", "%_", "%tuple"]
    assert parse_module(text) == module


def test_computations_of_one_name():
    def unary(opcode):
        b = Builder("branch")
        return b.build(b.emit(opcode, b.parameter(Shape(F32), "x")))

    b = Builder("main")
    index, x = b.parameter(Shape(S32), "index"), b.parameter(Shape(F32), "x")
    branches = (unary("negate"), unary("abs"), unary("negate"))
    module = b.build_module(b.emit("conditional", index, x, x, x, branch_computations=branches))
    text = module.as_text()
    assert "branch_computations={%branch, %branch.1, %branch.2}" in text
    assert parse_module(text) == module
    swapped = b.build_module(b.emit("conditional", index, x, x, x, branch_computations=branches[::-1][1:] + branches[:1]))
    assert swapped != module


def test_layouts():
    b = Builder("f")
    column_major = Shape(F32, (2, 3), Layout((0, 1)))
    tiled = Shape(F32, (8, 128), Layout((1, 0), annotation=":T(8,128)(2,1)S(1)"))
    pair = b.emit("tuple", b.parameter(column_major, "x"), b.parameter(tiled, "y"))
    module = b.build_module(pair)
    text = module.as_text()
    assert "entry_computation_layout={(f32[2,3]{0,1}, f32[8,128]{1,0:T(8,128)(2,1)S(1)})->" in text
    assert "%x = f32[2,3]{0,1} parameter(0)" in text
    parsed = parse_module(text)
    assert parsed == module
    assert parsed.entry.parameter_shapes == (column_major, tiled)
    assert parsed != parse_module(text.replace("{0,1}", "{1,0}"))
    padded = Builder("f")
    padded.parameter(Shape(F32, (2,), Layout((0,), padded_dimensions=(4,))), "x")
    with pytest.raises(NotImplementedError, match="no spelling for the padded layout"):
        padded.build_module().as_text()


def test_long_lists_are_counted():
    b = Builder("f")
    x = b.parameter(Shape(F32), "x")
    module = b.build_module(b.emit("tuple", *[x] * 11))
    assert "tuple(%x, %x, %x, %x, %x, /*index=5*/%x, %x, %x, %x, %x, /*index=10*/%x)" in module.as_text()
    assert parse_module(module.as_text()) == module


# --- literals ---


def constant_module(value):
    b = Builder("c")
    b.emit("constant", literal=value)
    return b.build_module()


def literal_in(text):
    return text.split("constant(", 1)[1].rsplit(")\n", 1)[0]


def every_value(element_type):
    """All values of a narrow type, many bit patterns of a wide one, special values among them."""
    dtype = element_type.dtype
    if element_type.kind == "pred":
        return np.array([True, False])
    if element_type.bits < 8 and element_type.is_integer:
        low = -(2 ** (element_type.bits - 1)) if element_type.kind == "signed" else 0
        return np.arange(low, low + 2**element_type.bits).astype(dtype)
    if dtype.itemsize <= 2:
        return np.arange(2**element_type.bits).astype(f"u{dtype.itemsize}").view(dtype)
    random = np.random.default_rng(element_type.bits).integers(0, 256, 500 * dtype.itemsize, dtype=np.uint8).view(dtype)
    if element_type.is_integer:
        return np.concatenate([random, np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1], dtype)])
    # 7.038531e-26 is the shortest decimal form of 0x15ae43fd, but read as a double and then rounded it is 0x15ae43fe.
    misread = np.array([0x15AE43FD, 0x15AE43FE], np.uint32).view(np.float32).astype(dtype)
    specials = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 0.1, 1e-45, 3.4028235e38, 5e-324]
    return np.concatenate([random, misread, np.array(specials).astype(dtype)])


ARRAY_TYPES = [element_type for element_type in ELEMENT_TYPES.values() if element_type.dtype is not None]


@pytest.mark.parametrize("element_type", ARRAY_TYPES, ids=str)
def test_literals_keep_every_bit(element_type):
    values = every_value(element_type)
    module = constant_module(values)
    literal = parse_module(module.as_text()).entry.root.attributes["literal"]
    assert literal.dtype == values.dtype
    kept = literal.view(np.uint8) == values.view(np.uint8)
    assert kept.all(), values[~kept.reshape(len(values), -1).all(axis=1)]


@pytest.mark.parametrize(
    "value, text",
    [
        (np.float32(0.1), "0.1"),
        (np.float32(1), "1"),
        (np.float64(0.1), "0.1"),
        (np.float64(1e300), "1e+300"),
        (np.float32(-0.0), "-0.0"),
        (np.array([np.inf, -np.inf, np.nan, -np.nan], np.float32), "{inf, -inf, nan, -nan}"),
        (np.array([0x7FC00001, 0x7F800001, 0xFFC12345], np.uint32).view(np.float32), "{nan(0x400001), nan(0x1), -nan(0x412345)}"),
        (np.complex64(complex(0.5, -np.inf)), "(0.5, -inf)"),
        (np.array([1 + 2j, 3]), "{(1, 2), (3, 0)}"),
        (np.bool_(True), "true"),
        (np.array([[True, False], [False, False]]), "{ { 1, 0 }, { 0, 0 } }"),
        (np.arange(6, dtype=np.int8).reshape(1, 2, 3), "{ { { 0, 1, 2 }, { 3, 4, 5 } } }"),
        (np.zeros(0), "{}"),
        (np.zeros((0, 3)), "{}"),
        (np.zeros((2, 0)), "{ {}, {} }"),
        (np.zeros((2, 0, 3)), "{ {}, {} }"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        ((np.float32(1), (np.array([True]), np.int8(-3))), "(1, ({1}, -3))"),
        ((), "()"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_literals_are_spelled_as_xla_spells_them(value, text):
    module = constant_module(value)
    assert literal_in(module.as_text()) == text
    assert parse_module(module.as_text()) == module


def test_floats_are_read_as_written():
    # Of bfloat16's neighbours of 1/3, 0.334 is the shortest decimal that means the nearest one.
    third = np.float32(1 / 3).astype(hlo.BF16.dtype)
    assert literal_in(constant_module(third).as_text()) == "0.334"
    text = "ENTRY e { ROOT c = f32[6] constant({1, -0, .5, 2., 1e-3, /*index=5*/ -1.5E+2}) }"
    values = parse_module(text).entry.root.attributes["literal"]
    assert values.tolist() == [1.0, 0.0, 0.5, 2.0, np.float32(0.001), -150.0]
    assert math.copysign(1, values[1]) == -1


# --- parsing ---

SMALL = """HloModule small, entry_computation_layout={(f32[3]{0})->f32[]}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[3] parameter(0)
  zero = f32[] constant(0)
  ROOT sum = f32[] reduce(x, zero), dimensions={0}, to_apply=add
}
"""


@pytest.mark.parametrize(
    "old, new",
    [
        ("", ""),
        ("HloModule small, entry_computation_layout={(f32[3]{0})->f32[]}", ""),
        ("reduce(x, zero)", "reduce(f32[3]{0} %x, f32[] %zero)"),
        ("reduce(x, zero)", "reduce(/*index=0*/x, // first\n zero)"),
        ("add {", "%add (a: f32[], b: f32[]) -> f32[] {"),
        ("ENTRY main {", "ENTRY %main (x: f32[3]) -> f32[] {"),
        ("ROOT sum", "%sum"),
        ("ROOT c =", "c ="),
        ("dimensions={0}, to_apply=add", "to_apply=%add, dimensions={0}"),
        ("= f32[] reduce(", "= reduce("),
        ("f32[3] parameter(0)", "f32[3]{0} parameter(0)"),
        ("to_apply=add", 'to_apply=add, metadata={op_type="reduce" op_name="jit(f)/reduce" source_line=3}'),
        ("\n}\n\nENTRY", '\n}, execution_thread="main"\n\nENTRY'),
    ],
)
def test_one_module_in_several_spellings(old, new):
    assert parse_module(SMALL.replace(old, new)) == parse_module(SMALL)


def test_computations_in_any_order():
    header, add, entry = SMALL.strip().split("\n\n")
    assert parse_module(f"{header}\n{entry}\n{add}") == parse_module(SMALL)
    unused = add.replace("add {", "unused {")
    module = parse_module(f"{header}\n{entry}\n{unused}\n{add}")
    assert module == parse_module(SMALL)
    assert [computation.name for computation in module.computations()] == ["add", "main"]


def test_what_has_no_meaning_here_is_kept():
    text = """HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, replica_count=2, frontend_attributes={a="b, }"}
ENTRY e {
  x = f32[2,2]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}, parameter_replication={true}
  y = f32[2,2]{1,0} negate(x), backend_config={"a":[1,{"b":"}"}]}, frontend_attributes={k="v"}
  ROOT z = f32[2,2]{1,0} dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}, control-predecessors={y}, backend_config="\\"text\\""
}
"""
    module = parse_module(text)
    assert module.attributes == {
        "is_scheduled": "true",
        "input_output_alias": "{ {}: (0, {}, may-alias) }",
        "replica_count": "2",
        "frontend_attributes": '{a="b, }"}',
    }
    x, y, z = module.entry.instructions
    assert x.annotations == {"sharding": "{devices=[2,1]<=[2]}", "parameter_replication": "{true}"}
    assert y.annotations == {"backend_config": '{"a":[1,{"b":"}"}]}', "frontend_attributes": '{k="v"}'}
    assert z.annotations["backend_config"] == '"\\"text\\""'
    printed = module.as_text()
    assert "is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, replica_count=2" in printed
    assert "control-predecessors={%y}" in printed
    assert 'backend_config={"a":[1,{"b":"}"}]}' in printed
    assert parse_module(printed).attributes == module.attributes


def test_control_predecessors_follow_their_instructions():
    module = parse_module("ENTRY e { x = f32[] parameter(0)\n a = f32[] negate(x)\n ROOT b = f32[] abs(x), control-predecessors={a} }")
    assert "control-predecessors={%negate}" in module.as_text(names="canonical")
    x, _, b = module.entry.instructions
    alone = Module("m", hlo.Computation("e", (x, b), b))
    assert "control-predecessors" not in alone.as_text()


def test_entry_layout_is_kept_where_the_instructions_do_not_tell_it():
    text = SMALL.replace("(f32[3]{0})->f32[]", "(f32[3]{0:T(256)})->f32[]")
    module = parse_module(text)
    assert module.attributes == {"entry_computation_layout": "{(f32[3]{0:T(256)})->f32[]}"}
    assert "HloModule small, entry_computation_layout={(f32[3]{0:T(256)})->f32[]}\n" in module.as_text()


def test_strings_are_unescaped():
    text = r'ENTRY e { ROOT x = f32[] parameter(0), metadata={source_file="a\"\n\303\244\x41\\.py" source_line=1} }'
    assert parse_module(text).entry.root.source.file == 'a"\nä' + "A\\.py"


def instruction(text):
    return f"ENTRY e {{\n  x = f32[2,3] parameter(0)\n  i = s32[] parameter(1)\n  ROOT y = {text}\n}}"


# The place that the error must name is marked by @.
@pytest.mark.parametrize(
    "marked, message",
    [
        ("@", "a computation expected, found the end of the text"),
        ("HloModule@", "the module's name expected, found the end of the text"),
        ("HloModule m, a=1, @a=2", "the module has two attributes a"),
        ("ENTRY e @{", "'{' is never closed"),
        ("ENTRY e { ( @}", "'}' does not match the bracket"),
        ("ENTRY e { @}", "computation e has no instructions"),
        ("ENTRY e { x @}", "'=' expected, found '}'"),
        ("e { x = f32[] parameter(0) } @e { x = f32[] parameter(0) }", "two computations have the name e"),
        ("@e { x = f32[] parameter(0) } g { x = f32[] parameter(0) }", "must be marked ENTRY"),
        ("ENTRY e { x = f32[] parameter(0) } ENTRY @g { x = f32[] parameter(0) }", "two ENTRY computations"),
        ("ENTRY @e { x = f32[] parameter(1) }", "must be numbered 0, 1, ..., got [1]"),
        ("ENTRY @e (x: f32[2]) -> f32[] { x = f32[] parameter(0) }", "is stated to take (f32[2]), but"),
        ("ENTRY @e (x: f32[]) -> s32[] { x = f32[] parameter(0) }", "is stated to return s32[], but"),
        (instruction("@q32[2] negate(x)"), "an element type (pred, "),
        (instruction("f32[2,3] negate(@z)"), "operand z is not defined before it is used"),
        (instruction("f32[2,3] negate(@y)"), "operand y is not defined before it is used"),
        (instruction("f32[2,3] negate(s32[2,3] @x)"), "stated to have shape s32[2,3], but it has f32[2,3]"),
        (instruction("f32[2,4] @negate(x)"), "negate: the result shape is f32[2,3], but f32[2,4] was stated"),
        (instruction("f32[2,3] @negate(x, x)"), "negate: 1 operand (operand) required, 2 given"),
        (instruction("f32[2,3] @add(x, i)"), "add: lhs and rhs must have the same shape"),
        (instruction("f32[3,2] @transpose(x)"), "transpose: attribute dimensions is required"),
        (instruction("f32[3,2] @transpose(x), dimensions={0,0}"), "must be a permutation"),
        (instruction("f32[3,2] transpose(x), dimensions={@a}"), "an integer expected, found 'a'"),
        (instruction("f32[3,2] transpose(x), dimensions={@99999999999999999999}"), "an integer of at most 64 bits"),
        (instruction("f32[3,2] transpose(x), @permutation={1,0}"), "no attribute permutation; its own are: dimensions"),
        (instruction("f32[3,2] transpose(x), dimensions={1,0}, @dimensions={1,0}"), "two attributes dimensions"),
        (instruction("pred[2,3] compare(x, x), direction=@LESS"), "one of EQ, NE, GE, GT, LE, LT expected, found LESS"),
        (instruction("f32[2] pad(x, x), padding=@1_"), "padding of the form"),
        (instruction("f32[2] reduce(x, i), dimensions={0}, to_apply=@none"), "there is no computation none in this module"),
        (instruction("f32[2] call(x), to_apply=@e"), "must not be recursive: e calls e"),
        (instruction("f32[2,3]@{0} negate(x)"), "a layout must order the 2 dimensions, got {0}"),
        (instruction("f32[2,3]@{0,0} negate(x)"), "a layout must order the 2 dimensions"),
        (instruction("f32[@-2] negate(x)"), "must not be negative"),
        (instruction("f32[@?] negate(x)"), "a dimension without a bound is not supported"),
        (instruction("@f32[" + ",".join("1" * 65) + "] negate(x)"), "at most 64 dimensions are supported, got 65"),
        (instruction("@f32[9999999999,9999999999] negate(x)"), "size in bytes must be below 2**63"),
        (instruction("(" * 32 + "@((f32[]))" + ")" * 32 + " negate(x)"), "tuple shapes are nested deeper than 32"),
        (instruction("f32[] parameter(1)").replace("e {", "@e {"), "must be numbered 0, 1, ..., got [0, 1, 1]"),
        (instruction("f32[] constant(@x)"), "a number of type f32 expected, found 'x'"),
        (instruction("f32[] constant(@infinity)"), "a number of type f32 expected, found 'infinity'"),
        (instruction("f32[] constant(@1e39)"), "1e39 is out of range for f32"),
        (instruction("f32[] constant(@nan(0x800000))"), "f32 has no nan(0x800000)"),
        (instruction("f8e4m3fn[] constant(@inf)"), "f8e4m3fn has no inf"),
        (instruction("s8[] constant(@128)"), "128 is out of range for s8, [-128, 127]"),
        (instruction("s8[] constant(@1.5)"), "an integer of type s8 expected, found '1.5'"),
        (instruction("s64[] constant(@" + "9" * 5000 + ")"), "is out of range for s64"),
        (instruction("pred[] constant(@2)"), "true or false expected, found '2'"),
        (instruction("c64[] constant(@1)"), "'(' expected, found '1'"),
        (instruction("f32[2] constant({1@})"), "dimension 0 of f32[2] has 2 elements, found 1"),
        (instruction("f32[2] constant({1,2,@3})"), "dimension 0 of f32[2] has only 2 elements"),
        (instruction("f32[2] constant({1,@})"), "a value expected, found '}'"),
        (instruction("f32[2] constant(@1)"), "a literal of shape f32[2] has braces 1 deep"),
        (instruction("f32[] constant(@{1})"), "braces are nested deeper than the 0 dimensions of f32[]"),
        (instruction("f32[1000000000000] constant({@})"), "has 1000000000000 elements, found 0"),
        (instruction("constant(@1)"), "a constant needs its shape stated"),
        (instruction("token[] constant(@1)"), "there are no literals of token type"),
        (instruction("f32[2] constant(@{...})"), "print_large_constants"),
        (instruction("f32[2,3] negate(x), metadata=@1"), "'{' expected"),
        (instruction("f32[2,3] negate(x), sharding={").replace("e {", "e @{"), "'{' is never closed"),
        (instruction("f32[2,3] @-negate(x)"), "an identifier expected, found '-'"),
        (instruction("f32[2,3] negate @x"), "'(' expected, found 'x'"),
        (instruction("f32[2,3] @frobnicate"), "'shape opcode(operands)' expected, found 'frobnicate'"),
        (instruction('f32[2,3] negate(x), metadata={op_name=@"\\377"}'), "not UTF-8"),
        ("ENTRY e { ROOT x = f32[] parameter(0)\n ROOT @y = f32[] negate(x) }", "has two ROOT instructions"),
        ("ENTRY e { x = f32[] parameter(0)\n @x = f32[] negate(x) }", "two instructions of e have the name x"),
    ],
)  # fmt: skip
def test_errors_say_where(marked, message):
    before = marked[: marked.index("@")]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(HloSyntaxError) as caught:
        parse_module(marked.replace("@", ""))
    error = caught.value
    assert message in str(error)
    assert (error.line, error.column) == (line, column)
    assert str(error).startswith(f"line {line}, column {column}: ")
    assert error.__cause__ is None


def test_the_file_is_named():
    with pytest.raises(HloSyntaxError, match=r"^dump\.hlo, line 1, column 1: "):
        parse_module("}", name="dump.hlo")
    with pytest.raises(NotImplementedError, match=r"^dump\.hlo, line 4: operation frobnicate is not implemented"):
        parse_module(instruction("f32[2] frobnicate(x)"), name="dump.hlo")
    with pytest.raises(NotImplementedError, match="^line 4: operation frobnicate is not implemented"):
        parse_module(instruction("f32[2] frobnicate(x)"))
    with pytest.raises(TypeError, match="HLO text must be a str, got bytes"):
        parse_module(b"HloModule m")


def test_the_place_is_shown():
    with pytest.raises(HloSyntaxError) as caught:
        parse_module(instruction("f32[2,3] negate(z)"))
    *_, source_line, caret = str(caught.value).split("\n")
    assert source_line[caret.index("^")] == "z"
    with pytest.raises(HloSyntaxError) as caught:
        parse_module("ENTRY e { x = s32[3000] constant({" + "1, " * 3000 + "}) }")
    *_, source_line, caret = str(caught.value).split("\n")
    assert len(source_line) < 130
    assert source_line[caret.index("^")] == "}"


def nested_calls(depth):
    parts = ["f0 { ROOT x = f32[] parameter(0) }"]
    for i in range(1, depth):
        calls = f"p = f32[] parameter(0)\n a = f32[] call(p), to_apply=f{i - 1}\n ROOT b = f32[] call(a), to_apply=f{i - 1}"
        parts.append(f"f{i} {{ {calls} }}")
    return "ENTRY " + "\n".join(reversed(parts))


def test_deep_calls():
    # Each computation calls the one before it twice: 2**59 calls, of which none may be followed twice.
    module = parse_module(nested_calls(60))
    hlo.verify(module)
    assert parse_module(module.as_text()) == module
    with pytest.raises(HloSyntaxError, match="calls are nested deeper than 64"):
        parse_module(nested_calls(100))
    mutual = "ENTRY a { p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply=b }\n"
    mutual += "b { p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply=a }"
    with pytest.raises(HloSyntaxError, match="must not be recursive: a calls b calls a"):
        parse_module(mutual)


@pytest.mark.parametrize("text", ["{" * 100_000, "(" * 100_000, " " * 200_000, "/*" * 100_000, '"' * 100_000, "ENTRY e {x=" + "(" * 100_000])
def test_degenerate_texts_end_quickly(text):
    with pytest.raises(HloSyntaxError):
        parse_module(text)


def test_equality_counts_what_matters():
    module = parse_module(SMALL)
    assert module == parse_module(SMALL.replace("zero", "nothing").replace("add", "plus").replace("= f32[] plus(", "= f32[] add("))
    assert module != parse_module(SMALL.replace("constant(0)", "constant(-0.0)"))
    assert module != parse_module(SMALL.replace("add(a, b)", "add(b, a)"))
    assert module != parse_module(SMALL.replace("ROOT c = f32[] add(a, b)", "ROOT c = f32[] maximum(a, b)"))
    pair = TupleShape((Shape(F32), Shape(F32)))
    b = Builder("f")
    single = b.build_module(b.parameter(Shape(F32), "x"))
    b = Builder("f")
    assert single != b.build_module(b.parameter(pair, "x"))


# --- XLA as a peer ---


@pytest.fixture(scope="module")
def xla():
    pytest.importorskip("jaxlib")
    return pytest.importorskip("jaxlib._hlo")


@pytest.mark.peer
@pytest.mark.parametrize("name", DUMPS)
def test_xla_reads_printed_dumps(xla, name):
    module = parse_module(dump(name))
    for options in ({}, {"metadata": True}, {"names": "canonical"}):
        xla.hlo_module_from_text(module.as_text(**options))


@pytest.mark.peer
@pytest.mark.parametrize("element_type", ARRAY_TYPES, ids=str)
def test_xla_reads_the_literals_that_are_meant(xla, element_type):
    values = every_value(element_type)
    if element_type.is_complex:
        # XLA gives both parts of a complex number the NaN payload of the last one that it read.
        values = values[~np.isnan(values)]
    if element_type.name == "f8e8m0fnu":
        # XLA prints 2**-127 as 5.9e-39, which its own parser reads as 2**-127 and double rounding as 2**-126.
        values = values[1:]
    module = constant_module(values)
    options = xla.HloPrintOptions()
    options.print_large_constants = True
    printed = xla.hlo_module_from_text(module.as_text()).to_string(options)
    assert parse_module(printed) == module


@pytest.mark.peer
def test_xla_reads_printed_samples(xla):
    count = 0
    for record in hlo.OPERATIONS.values():
        for sample in record.samples():
            shapes = [o if isinstance(o, (Shape, TupleShape)) else hlo.shape_of(o) for o in sample.operands]
            operands = [hlo.make_instruction("parameter", (), {"number": i}, shape) for i, shape in enumerate(shapes)]
            instruction = hlo.make_instruction(record.opcode, operands, sample.attributes, sample.shape)
            module = Module("m", hlo.Computation("main", (*operands, instruction), instruction))
            if record.opcode == "pad" and instruction.shape.rank == 0:
                continue  # XLA prints an empty padding, but does not read it
            xla.hlo_module_from_text(module.as_text())
            count += 1
    assert count > 1000

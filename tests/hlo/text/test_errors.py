"""What is wrong with HLO text is told with its place; no text makes the parser do anything else than raise its own errors."""

import pytest
from phlox import hlo
from phlox.hlo import HloSyntaxError, parse_module


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
        ("ENTRY e { @( }", "the name of an instruction expected, found '('"),
        (instruction("f32[2,3] negate(x), sharding={( @}"), "'}' does not match the bracket"),
        ("ENTRY e { @}", "computation e has no instructions"),
        ("ENTRY e { x @}", "'=' expected, found '}'"),
        ("e { x = f32[] parameter(0) } @e { x = f32[] parameter(0) }", "two computations have the name e"),
        ("ENTRY e { x = f32[] parameter(0) } ENTRY @g { x = f32[] parameter(0) }", "two ENTRY computations"),
        ("ENTRY @e { x = f32[] parameter(1) }", "must be numbered 0, 1, ..., got [1]"),
        ("ENTRY @e (x: f32[]) -> s32[] { x = f32[] parameter(0) }", "is stated to return s32[], but"),
        (instruction("@q32[2] negate(x)"), "an element type (such as f32, "),
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
        (instruction("f32[@<?] negate(x)").replace("@<", "<@"), "'=' expected, found '?'"),
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
        (instruction("pred[] constant(@1.5)"), "true or false expected, found '1.5'"),
        (instruction("c64[] constant(@1)"), "'(' expected, found '1'"),
        (instruction("f32[2] constant({1@})"), "dimension 0 of f32[2] has 2 elements, found 1"),
        (instruction("f32[2] constant({1,2,@3})"), "dimension 0 of f32[2] has only 2 elements"),
        (instruction("f32[2] constant({1,@})"), "dimension 0 of f32[2] has 2 elements, found 1"),
        (instruction("c64[2] constant(@1)"), "a literal of shape c64[2] has braces 1 deep"),
        (instruction("f32[0] constant(@1)"), "a literal of shape f32[0] has braces 1 deep"),
        (instruction("f32[?] constant(@1)"), "there are no literals of f32[?], which has no size or is a buffer"),
        (instruction("f32[] constant(@{1})"), "braces are nested deeper than the 0 dimensions of f32[]"),
        (instruction("f32[1000000000000] constant({@})"), "has 1000000000000 elements, found 0"),
        (instruction("constant(@1)"), "a constant needs its shape stated"),
        (instruction("@token[3] after-all(x)"), "token has no dimensions"),
        (instruction("token[] constant(@1)"), "there are no literals of token type"),
        (instruction("f32[2] constant(@{...})"), "print_large_constants"),
        (instruction("f32[2,3] negate(x), metadata=@1"), "'{' expected"),
        (instruction("f32[2,3] negate(x), sharding={").replace("e {", "e @{"), "'{' is never closed"),
        (instruction("f32[2,3] @-negate(x)"), "an identifier expected, found '-'"),
        (instruction("f32[2,3] negate @x"), "'(' expected, found 'x'"),
        (instruction("f32[2,3] @frobnicate"), "'shape opcode(operands)' expected, found 'frobnicate'"),
        (instruction('f32[2,3] negate(x), metadata={op_name=@"\ud800\\n"}'), "not UTF-8"),
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
    with pytest.raises(NotImplementedError, match=r"^dump\.hlo, line 4, column \d+: operation frobnicate is not implemented"):
        parse_module(instruction("f32[2] frobnicate(x)"), name="dump.hlo")
    with pytest.raises(NotImplementedError, match=r"^line 4, column \d+: operation frobnicate is not implemented"):
        parse_module(instruction("f32[2] frobnicate(x)"))
    with pytest.raises(NotImplementedError, match=r"operation subtrct is not implemented; did you mean subtract\?$"):
        parse_module(instruction("f32[2] subtrct(x, x)"))
    with pytest.raises(TypeError, match="HLO text must be a str, got bytes"):
        parse_module(b"HloModule m")


def test_the_place_is_shown():
    with pytest.raises(HloSyntaxError) as caught:
        parse_module(instruction("f32[2,3] negate(z)"))
    *_, source_line, caret = str(caught.value).split("\n")
    assert source_line[caret.index("^")] == "z"
    with pytest.raises(HloSyntaxError) as caught:
        parse_module("ENTRY e { x = s32[3000] constant({" + "1, " * 2999 + "x}) }")
    *_, source_line, caret = str(caught.value).split("\n")
    assert len(source_line) < 130
    assert source_line[caret.index("^")] == "x"


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


@pytest.mark.parametrize(
    "repeated",
    [*'{( "\\9-\0\ud800', "/*", "{x=(", "\n//", "add(", "f32[] add(", "call(x), to_apply={x=", "f32[", "x-start("],
)
def test_degenerate_texts_are_refused(repeated):
    for text in (repeated * 20_000, "ENTRY e {x=" + repeated * 20_000, f"{repeated * 20_000} }} ) ] x = f32[] add(x)"):
        with pytest.raises((HloSyntaxError, NotImplementedError), match="^line [0-9]+, column "):
            parse_module(text)


def test_bytes_that_are_no_unicode():
    text = 'ENTRY e { ROOT x = f32[] parameter(0), metadata={source_file="\ud800\\n" source_line=1} }'
    with pytest.raises(HloSyntaxError, match="the bytes of the string are not UTF-8"):
        parse_module(text)
    module = parse_module(text.replace("\\n", "").replace("source_line=1", "source_line=²"))
    assert module.entry.root.source.line == 0


def test_strings_in_a_value_are_closed():
    """What is behind the mark would else belong to the value as it is printed, and not as it was read."""
    text = 'HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0), backend_config={"a":b"}\n}\n'
    with pytest.raises(HloSyntaxError, match="line 3, column 53: this string is never closed"):
        parse_module(text)

"""Damaged HLO text is refused with HloSyntaxError or NotImplementedError, and nothing else comes out of the parser."""

import re

import pytest
from constructs import CONSTRUCTS
from damaged_texts import DUMPS, EDITS, SAMPLES, TOKEN, WORDS, damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phlox import hlo, load_hlo
from phlox.hlo import HloError, HloSyntaxError, parse_module
from phlox.hlo.element_type import ELEMENT_TYPES

quick = settings(deadline=None, derandomize=True, max_examples=150, suppress_health_check=list(HealthCheck))


replacement = st.one_of(st.sampled_from(WORDS), st.integers().map(str), st.text(max_size=3))
kinds = st.sampled_from(EDITS)
edit = st.tuples(kinds, st.floats(0, 1), st.floats(0, 1), replacement)


def check(text):
    """The text is refused properly, or means a module that is right in every way."""
    try:
        module = parse_module(text)
    except (HloSyntaxError, NotImplementedError) as error:
        assert "line " in str(error)
        return
    hlo.verify(module)
    for options in ({}, {"metadata": True}, {"names": "canonical"}):
        printed = module.as_text(**options)
        again = parse_module(printed)
        assert again == module
        assert again.as_text(**options) == printed


@pytest.mark.parametrize("unit", ["tokens", "characters"])
@quick
@given(data=st.data())
def test_damaged_dumps(unit, data):
    text = data.draw(st.sampled_from(DUMPS))
    parts = TOKEN.findall(text) if unit == "tokens" else text
    check(damaged(parts, data.draw(st.lists(edit, min_size=1, max_size=4))))


@pytest.mark.parametrize("unit", ["tokens", "characters"])
@settings(quick, max_examples=300)
@given(data=st.data())
def test_damaged_samples(unit, data):
    text = data.draw(st.sampled_from(SAMPLES))
    parts = TOKEN.findall(text) if unit == "tokens" else text
    check(damaged(parts, data.draw(st.lists(edit, min_size=1, max_size=3))))


@pytest.mark.parametrize("unit", ["tokens", "characters"])
@quick
@given(data=st.data())
def test_damaged_constructs(unit, data):
    text = data.draw(st.sampled_from([construct.text for construct in CONSTRUCTS.values()]))
    parts = TOKEN.findall(text) if unit == "tokens" else text
    check(damaged(parts, data.draw(st.lists(edit, min_size=1, max_size=3))))


FORMS = [construct.text for construct in CONSTRUCTS.values()] + SAMPLES
# What keeps a module's form but not its sense: another type, size, operation or name in all the places of one.
REPLACEMENTS = ["0", "1", "2", "3", "-1", "1000000", "4294967296", "f64", "s8", "s4", "u64", "pred", "token", "opaque", "c64"]
REPLACEMENTS += ["bf16", "f8e4m3fn", "{0,1}", "{1,0}", "", "x", "add", "negate", "while", "tuple", "true", "false", "LT"]


@settings(quick, max_examples=200)
@given(data=st.data())
def test_whatever_is_read_is_compiled_or_refused(data):
    text = data.draw(st.sampled_from(FORMS))
    for _ in range(data.draw(st.integers(1, 2))):
        token = data.draw(st.sampled_from(TOKEN.findall(text) or ["x"]))
        if token.strip():
            text = text.replace(token, data.draw(st.sampled_from(REPLACEMENTS)))
    check(text)
    for backend in ("reference", "cpu"):
        try:
            load_hlo(text + "\n", backend)
        except (HloError, NotImplementedError):
            pass


ATTRIBUTE = re.compile(r", [\w\-]+=(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\[[^]]*\]|[^,\n{}\[]+)")
EXTREMES = ["0", "-1", "1", "64", "127", "256", "2147483647", "2147483648", "4294967296", "9223372036854775807"]
EXTREMES += ["18446744073709551615", "9" * 20, "1e400", "-0.0", "nan", "-inf", "1.5"]
EXCHANGED = list(dict.fromkeys(attribute for text in FORMS for attribute in ATTRIBUTE.findall(text)))


def exchanged(text, draw):
    """The text with one number, element type, opcode or attribute exchanged for another one, from anywhere."""
    kind = draw(st.sampled_from(["number", "type", "opcode", "attribute", "more"]))
    if kind in ("attribute", "more"):
        found = list(ATTRIBUTE.finditer(text))
        other = draw(st.sampled_from(EXCHANGED))
    else:
        words = {"number": r"(?<![\w.%])-?\d+(?![\w.])", "type": r"\b[a-z]\w*(?=\[)", "opcode": r"(?<= )[a-z][\w\-]*(?=\()"}
        found = list(re.finditer(words[kind], text))
        other = draw(st.sampled_from({"number": EXTREMES, "type": list(ELEMENT_TYPES), "opcode": list(hlo.OPERATIONS)}[kind]))
    if not found:
        return text
    place = draw(st.sampled_from(found))
    return text[: place.end() if kind == "more" else place.start()] + other + text[place.end() :]


@settings(quick, max_examples=400)
@given(data=st.data())
def test_parts_exchanged_between_operations(data):
    text = data.draw(st.sampled_from(FORMS))
    for _ in range(data.draw(st.integers(1, 2))):
        text = exchanged(text, data.draw)
    check(text)
    try:
        load_hlo(text + "\n", "reference")
    except (HloError, NotImplementedError):
        pass


@quick
@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=2)), max_size=30).map(" ".join))
def test_random_words(text):
    check(text)
    check(f"ENTRY main {{ x = f32[2] parameter(0)\n ROOT y = f32[2] {text} }}")


# Any operation on operands of any shapes, so that every shape function meets tuples, tokens and missing attributes.
SHAPES = ["f32[]", "f32[2,3]", "f32[0]", "s32[]", "pred[]", "pred[2,3]", "c64[2,3]", "u8[4]", "s4[2,3]", "f8e4m3fn[2,3]"]
SHAPES += ["bf16[2]", "token[]", "opaque[]", "()", "(f32[2,3])", "(f32[], s32[])", "(token[], (f32[]))", "f32[<=2,3]"]
ATTRIBUTES = ["{}", "{0}", "{1,0}", "{0,0}", "{-1}", "{5}", "{9223372036854775807}", "{[0:1]}", "{[0:2], [1:3:2]}", "{[3:1]}"]
ATTRIBUTES += ["{[0:2:0], [0:0]}", "0_0", "1_2_3x0_-1", "-5_-5x0_0", "0", "1", "-1", "99999999999", "true", "false"]
ATTRIBUTES += ["LT", "EQ", "TOTALORDER", "kLoop"]
ATTRIBUTES += ["%one", "%pair", "%none", "{%one, %one}", "{%pair}", '"text"', "b01f_01io->b01f", "{size=2x2 stride=1x1}"]
CALLED = """
one { ROOT x = f32[] parameter(0) }
pair { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = (f32[], f32[]) tuple(x, y) }
none { ROOT x = pred[] constant(true) }
"""


@settings(quick, max_examples=500)
@given(data=st.data())
def test_any_operation_on_anything(data):
    opcode = data.draw(st.sampled_from([opcode for opcode in hlo.OPERATIONS if opcode not in ("parameter", "constant")]))
    record = hlo.OPERATIONS[opcode]
    shapes = data.draw(st.lists(st.sampled_from(SHAPES), max_size=4))
    result = data.draw(st.sampled_from(["", *SHAPES]))
    given_attributes = ""
    for name, kind in record.attributes.items():
        if data.draw(st.integers(0, 9)) > 0:
            given_attributes += f", {kind.spelling or name}={data.draw(st.sampled_from(ATTRIBUTES))}"
    lines = [f"  p{i} = {shape} parameter({i})" for i, shape in enumerate(shapes)]
    operands = ", ".join(f"p{i}" for i in range(len(shapes)))
    lines.append(f"  ROOT r = {result} {opcode}({operands}){given_attributes}")
    check(CALLED + "ENTRY main {\n" + "\n".join(lines) + "\n}")

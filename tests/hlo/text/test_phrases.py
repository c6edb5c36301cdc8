"""What the parser recognises as a whole, or remembers, means what it means when it is read token by token."""

import random
import re

import numpy as np
import pytest
from constructs import CONSTRUCTS
from damaged_texts import DUMPS, EDITS, SAMPLES, TOKEN, WORDS, damaged
from phlox import hlo
from phlox.hlo import HloError, parse_module
from phlox.hlo.text import instructions, known_instructions, lexer, literals, operands, parser, shapes, source_tables

NOTHING = re.compile(r"(?!)")
PHRASES = [
    (known_instructions, "INSTRUCTION"), (operands, "_IN_PARENTHESES"), (instructions, "_ATTRIBUTE"), (shapes, "_SHAPE"),
    (shapes, "_PLAIN"), (parser, "_HEADING"), (parser, "_CLOSED"), (parser, "_PARAMETER"),
    (source_tables, "_FIELDS"), (lexer, "_IN_BRACKETS"), (hlo.attributes, "_INTEGERS"),
    (hlo.attributes, "_SLICES"),
]  # fmt: skip


def outcome(text):
    """What the text means, as text, or how it is refused."""
    try:
        module = parse_module(text)
    except (HloError, NotImplementedError) as error:
        return type(error), str(error)
    hlo.verify(module)
    return module.as_text(metadata=True)


def check(texts):
    quickly = list(map(outcome, texts))
    with pytest.MonkeyPatch.context() as patch:
        for module, name in PHRASES:
            patch.setattr(module, name, NOTHING)
        patch.setattr(literals, "parse_dense", lambda cursor, shape: None)
        patch.setattr(shapes, "_plain_tuple", lambda text, shapes: None)
        token_by_token = list(map(outcome, texts))
    for text, one, other in zip(texts, quickly, token_by_token):
        assert one == other, text


def said_again(text):
    """The text with each instruction of one line, but for parameters, a second time, under another name."""
    return re.sub(r"\n( *)(?:ROOT )?(%?[\w.\-]+)( = (?!.*(?: parameter|\{\{?$)).*)(?=\n)", r"\n\1\2.again\3\g<0>", text)


# Of two instructions that say the same only one is right.
LIKE_ANOTHER = """
b = f32[2] convert(p)   c = f32[?] convert(p)
b = f32[2] reshape(p)   c = f32[?] reshape(p)
b = f32[2] add(p, p)   c = f32[2] add(p)
b = f32[2] add(p, p)   c = f32[3] add(p, p)
b = f32[2] add(p, p)   c = f32[2] add(p, q)
b = f32[2] add(p, p)   c = f32[2] add(p, b, p)
b = f32[2] add(f32[2] p, p)   c = f32[2] add(f32[3] p, p)
b = f32[2] add(p, p)   c = f32[2] add(p, p), control-predecessors={b}   d = f32[2] add(c, p), control-predecessors={e}
b = token[] after-all()   c = token[] after-all(p)
b = f32[2] broadcast(s)   c = f32[2] broadcast(p)   d = f32[2] broadcast(p), dimensions={0}
b = f32[2] constant({1, 2})   c = f32[3] constant({1, 2})
b = f32[] constant(1.5)   c = s32[] constant(1.5)
b = f32[1] dynamic-slice(p, i), dynamic_slice_sizes={1}   c = f32[1] dynamic-slice(p, v), dynamic_slice_sizes={1}
b = ((f32[2]), f32[2]) async-start(p), calls=g   c = ((f32[2]), f32[2]) async-start(p), calls=g
b = f32[2] fusion(p), kind=kLoop, calls=g   c = f32[2] fusion(q), kind=kLoop, calls=g
b = f32[2] call(p), to_apply={ x = f32[2] parameter(0) }   c = f32[2] call(p), to_apply={ x = f32[2] parameter(0) }
b = f32[2] add(p, p)   ROOT c = f32[2] add(p, p)   ROOT d = f32[2] add(p, p)
b = f32[2] add(p, p)   b = f32[2] add(p, p)
b = f32[2] fusion(p), kind=kLoop, calls=g   c = f32[2] fusion(p), kind=kLoop, calls=h
b = f32[2] fusion(p), kind=kLoop, calls=g   c = f32[2] fusion(p), kind=kLoop, calls=%k
b = f32[2] fusion(p), kind=kLoop, calls=g   c = f32[2] fusion(p), kind=kLoop, calls=i
b = f32[2] fusion(p), kind=kLoop, calls=g   c = f32[2] fusion(p), kind=kLoop, calls=e   d = f32[2] call(p), calls=g
b = f32[2] call(p), to_apply=g   c = f32[2] call(p), to_apply=l   d = f32[2] call(b), to_apply=g, to_apply=l
b = f32[2] call(p), to_apply=g   c = f32[2] call(p), to_apply=l, calls=g
b = f32[2] add(p, p), metadata={op_name="a"}   c = f32[2] add(p, p), metadata={op_name="\\"b" source_line=2 source_file="c"}
b = f32[2] add(p, p), metadata={op_name="a"}   c = f32[2] add(p, p), metadata={op_name="b" source_line=}
b = f32[2] add(p, p), metadata={op_name="a"}   c = f32[2] add(p, p), metadata={op_name="a"}, metadata={op_name="a"}
b = f32[2] add(p, p), metadata={op_name="a"}   c = f32[2] add(p, p), metadata={}   d = f32[2] add(p, p), metadata=(a=1)
b = f32[2] add(p, p), metadata={a="b"}, sharding={manual}   c = f32[2] add(p, p), metadata={a="c"}, sharding={manual}
b = f32[2] add(p, p), metadata={a=1}, sharding={manual}   c = f32[2] add(p, p), metadata={a=1}, backend_config="d"
b = f32[2] add(p, %p)   c = f32[2] add(%p, p)   d = f32[2] add(%b, %c)   e = f32[2] add(%p, %%p)
b = f32[2] add(%p, %p)   c = f32[2] add(%p, %p%)   d = f32[2] add(%p, p,)
b = f32[2] add(%p, /*index=1*/%p)   c = f32[2] add(/*index=0*/ p, p )   d = f32[2] add(%p, %q)
b = (f32[2], f32[2]) tuple(p, p)   c = (f32[2], /*index=1*/f32[2]) tuple(p, p)   d = (f32[2], (f32[2])) tuple(p, p)
b = f32[2]{0} add(p, p)   c = f32[2]{1} add(p, p)   d = f32[02] add(p, p)   e = f32[2]{0:T(2)} add(p, p)
""".strip().split("\n")


HEAD = """
g { ROOT x = f32[2] parameter(0) }
h { ROOT x = f32[3] parameter(0) }
k (x: f32[2]) -> f32[2] {
  ROOT x = f32[2] parameter(0) }
%l (x: f32[2]) -> f32[2] {
  ROOT %x = f32[2] parameter(0)
}
ENTRY e {
  p = f32[2] parameter(0)
  s = f32[] parameter(1)
  i = s32[] parameter(2)
  v = s32[1] parameter(3)
"""


def text_of(line):
    return HEAD + "".join(f"  {part}\n" for part in line.split("   ")) + "}\n"


def test_phrases_mean_what_their_tokens_mean():
    texts = [*map(text_of, LIKE_ANOTHER), *DUMPS, *(construct.text for construct in CONSTRUCTS.values()), *SAMPLES]
    texts += list(map(said_again, texts))
    check(texts)


def test_damaged_phrases_mean_what_their_tokens_mean():
    generator = random.Random(0)
    sources = [*DUMPS, *SAMPLES]
    texts = []
    for _ in range(1200):
        source = said_again(generator.choice(sources))
        edits = [
            (generator.choice(EDITS), generator.random(), generator.random(), generator.choice(WORDS))
            for _ in range(generator.choice((1, 1, 2, 3)))
        ]
        texts.append(damaged(TOKEN.findall(source), edits))
    check(texts)


def literal_texts(generator):
    """Constants of every type and of ranks up to 3, of ordinary and of special values."""
    random_values = np.random.default_rng(generator.randrange(2**32))
    for element_type in hlo.ELEMENT_TYPES.values():
        if element_type.dtype is None:
            continue
        for sizes in ((), (1,), (7,), (2, 3), (0, 2), (2, 1, 2)):
            bits = random_values.integers(0, 256, (*sizes, element_type.dtype.itemsize), np.uint8)
            numbers = random_values.standard_normal(sizes) * 3
            if generator.random() < 0.4 and element_type.bits >= 8 and element_type.kind != "pred":
                values = np.ascontiguousarray(bits).view(element_type.dtype)[..., 0]
            else:
                values = np.asarray(abs(numbers) if element_type.kind == "unsigned" else numbers).astype(element_type.dtype)
            shape = hlo.Shape(element_type, sizes)
            constant = hlo.make_instruction("constant", (), {"literal": values}, shape)
            yield hlo.Module("m", hlo.Computation("main", (constant,), constant)).as_text()


def test_damaged_literals_mean_what_their_tokens_mean():
    generator = random.Random(1)
    pieces = [
        *"{}(),.-+_ \n0129einfatrulsx/\\'\"é",
        "1e400",
        "-nan",
        "inf",
        "nan(0x1)",
        "/* 1 */",
        "//\n",
        "true",
        "1 2",
        "٣",
        "256",
    ]
    texts = list(literal_texts(generator))
    for text in list(texts) * 3:
        start, end = text.index(" constant(") + 10, text.rindex(")") + 1
        characters = list(text[start:end])
        for _ in range(generator.choice((1, 1, 2, 3))):
            place = generator.randrange(len(characters) + 1)
            characters[place : place + generator.choice((0, 0, 1, 2))] = generator.choice(pieces)
        texts.append(text[:start] + "".join(characters) + text[end:])
    check(texts)

"""HLO texts to try the parser on, and ways to damage them."""

import re

from paths import DATA
from phlox import hlo
from phlox.hlo import Module
from phlox.hlo.element_type import ELEMENT_TYPES
from retyped_samples import operand_shape

DUMPS = [path.read_text() for path in sorted(DATA.glob("*.hlo"))]
TOKEN = re.compile(r"%?[\w.\-]+|\s+|.", re.DOTALL)


def sample_texts():
    """One module for each operation, with that operation alone."""
    texts = {}
    for record in hlo.OPERATIONS.values():
        for sample in record.samples()[:3]:
            shapes = [operand_shape(o) for o in sample.operands]
            operands = [hlo.make_instruction("parameter", (), {"number": i}, shape) for i, shape in enumerate(shapes)]
            instruction = hlo.make_instruction(record.opcode, operands, sample.attributes, sample.shape)
            module = Module("m", hlo.Computation("main", (*operands, instruction), instruction))
            texts[module.as_text()] = None
    return list(texts)


SAMPLES = sample_texts()
WORDS = [
    *"{}()[]=,:.-<>%/\"\\*#?~ \n\0é", "->", "<=", "-1", "0", "1", "2", "65", "9999999999", "18446744073709551616", "1e400",
    "nan(0x1)", "-nan", "inf", "true", "ROOT", "ENTRY", "HloModule", "FileNames", "StackFrames", "{...}", "{}", "()", "token[]",
    "opaque[]", "f32[]", "s32[]", "pred[]", "(f32[])", "()[]", "f32[2,3]{0,1}", "f32[<=2]", "f32[2]{0:T(8,128)}", "%main",
    "main", "x", "/*", "*/", "//", "\\377", "0_0", "1_2_3x0_0", "dimensions={0}", "to_apply=%main", "metadata={", "sharding={",
    'backend_config="', "constant(", "parameter(0)", "add(", "add-start", "add-done", "to_apply={", 'execution_thread="x"',
    "calls={ ROOT x = f32[] parameter(0) }", "control-predecessors={x}", 'origin={{"a"}}', "b(f32[])", "sparse", "{0:D(C)}",
    "s64[9223372036854775807]", "f32[4294967296]", "1" * 30, "-" + "9" * 25, "((((", "))))", "{{{{", "}}}}",
    "\ud800", '"\\', "²", "٣", "f32[?]", "channel_id=0", "replica_groups=mesh['a'=2,'b'=2] {'b'}", "%x#0", "fft_length={0}",
    "type=SIGNED", "largest=true", "is_stable=true", "has_dynamic_root=true", "{0:D(C,S)}", "0:T(8,128)(2,1)S(5)",
    *ELEMENT_TYPES, *hlo.OPERATIONS,
]  # fmt: skip

EDITS = ["delete", "insert", "replace", "duplicate", "swap", "cut"]


def damaged(parts, edits):
    """The text whose parts (tokens or characters) were edited; positions are fractions of the length."""
    parts = list(parts)
    for kind, first, second, word in edits:
        place, other = int(first * len(parts)), int(second * len(parts))
        if kind == "insert" or not parts:
            parts.insert(place, word)
            continue
        place, other = min(place, len(parts) - 1), min(other, len(parts) - 1)
        low, high = sorted((place, other))
        if kind == "delete":
            del parts[place]
        elif kind == "replace":
            parts[place] = word
        elif kind == "duplicate":
            parts[other:other] = parts[place : place + 12]
        elif kind == "swap":
            parts[place], parts[other] = parts[other], parts[place]
        else:
            del parts[low : min(high, low + 40)]
    return "".join(parts)

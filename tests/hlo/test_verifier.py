"""What the verifier refuses, of modules that were read as of others, and what it takes from the parser."""

import pytest
from phlox import hlo
from phlox.hlo import F32, Shape, parse_module, verify

TEXT = """
callee { a = f32[2,3] parameter(0)  ROOT b = f32[2,3] negate(a) }
other { a = f32[4] parameter(0)  ROOT b = f32[4] negate(a) }
ENTRY main {
  p = f32[2,3] parameter(0)
  q = f32[4] parameter(1)
  n = f32[2,3] negate(p)
  t = f32[3,2] transpose(n), dimensions={1,0}
  f = f32[2,3] fusion(n), kind=kLoop, calls=callee
  g = f32[2,3] fusion(f), kind=kLoop, calls=callee
  h = f32[4] fusion(q), kind=kLoop, calls=other
  ROOT r = (f32[2,3], f32[3,2], f32[4]) tuple(g, t, h)
}"""


def set_shape(entry, instructions):
    instructions["n"].shape = Shape(F32, (3, 2))


def set_operands(entry, instructions):
    instructions["g"].operands = (instructions["q"],)


def set_attributes(entry, instructions):
    instructions["t"].attributes = {"dimensions": (0, 1)}


def set_callee(entry, instructions):
    instructions["g"].attributes = instructions["h"].attributes


def set_number_of_operands(entry, instructions):
    instructions["n"].operands *= 2


def set_order(entry, instructions):
    entry.instructions = tuple(reversed(entry.instructions))


def set_twice(entry, instructions):
    entry.instructions += (instructions["n"],)


def set_root(entry, instructions):
    entry.root = instructions["n"].with_operands([instructions["p"]])


def set_recursion(entry, instructions):
    instructions["g"].attributes = {**instructions["g"].attributes, "calls": entry}


CHANGES = {
    set_shape: r"has shape f32\[3,2\], but f32\[2,3\] is inferred",
    set_operands: r"calls must take \(f32\[4\]\), but callee takes \(f32\[2,3\]\)",
    set_attributes: r"has shape f32\[3,2\], but f32\[2,3\] is inferred",
    set_callee: r"calls must take \(f32\[2,3\]\), but other takes \(f32\[4\]\)",
    set_number_of_operands: "1 operand .* required, 2 given",
    set_order: "is not defined before it",
    set_twice: "stands twice in the computation",
    set_root: "is not one of its instructions",
    set_recursion: "computations must not be recursive: main calls main",
}


@pytest.mark.parametrize("is_verified_before", [False, True])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_of_what_was_read_is_refused(change, is_verified_before):
    module = parse_module(TEXT)
    if is_verified_before:
        verify(module)
    change(module.entry, {instruction.name: instruction for instruction in module.entry.instructions})
    with pytest.raises(hlo.VerificationError, match=CHANGES[change]):
        verify(module)


def test_what_the_parser_inferred_is_inferred_again_by_a_second_verification_alone(monkeypatch):
    inferred = []

    def infer_shape(record, operands, attributes, stated=None, infer=hlo.Operation.infer_shape):
        inferred.append(record.opcode)
        return infer(record, operands, attributes, stated)

    monkeypatch.setattr(hlo.Operation, "infer_shape", infer_shape)
    module = parse_module(TEXT)
    assert "fusion" in inferred
    inferred.clear()
    verify(module)
    assert not inferred
    verify(module)
    assert set(inferred) == {"parameter", "negate", "transpose", "fusion", "tuple"}

"""Loop nests that do nothing but call a function, as tables that one function reads: `run_calls` is compiled once a process.

What products and transpositions do at one place takes hundreds of instructions, by functions that programs have in common. The
loops around them would be a nest of its own to compile for each product; here they are a table of integers. Its nodes are loops
around a node, loops of calls, two nodes one after the other, chunks of terms, and copies of what is read next into a panel.

The function that is called takes three addresses, which loops move by steps of so many bytes, the address of its own numbers in
the table, the number of terms, and whether they are the first ones of several chunks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from ..llvm.branches import replaced_if
from ..llvm.builder import Builder
from ..llvm.index import Base, add_base, i64
from ..llvm.interruption import BUDGET, CHECK_INTERRUPTS, UNINTERRUPTED, interruption_of
from ..llvm.loops import carried_loop
from ..llvm.memory import load_function, pointer_table, stack_memory
from ..llvm.module import SharedFunction, constant_table, declaration, declared
from ..llvm.pieces import dividing
from ..llvm.types import I8, I32, I64, POINTER

CALLED = ir.FunctionType(ir.VoidType(), [POINTER] * 4 + [I64] * 2)
Steps = tuple[int, int, int]
IN_PLACE: Steps = (0, 0, 0)


@dataclass(frozen=True)
class Called:
    """A function of type CALLED, the numbers that it reads, and about how many instructions a call runs."""

    function: ir.Function
    numbers: tuple[int, ...]
    cost: int


@dataclass(frozen=True)
class Loop:
    """A node, or calls of a function, at so many places that lie these steps apart.

    They are divided among the pieces of a nest, ``least`` calls in each at least, if that is not 0.
    """

    inside: Node | Called
    size: int
    steps: Steps
    least: int = 1


@dataclass(frozen=True)
class Both:
    """A node, and another one that many bytes behind it: ``in_order`` in the last piece of the first, or in pieces of its own.

    ``divides_second`` says that there may be several of these.
    """

    first: Node
    second: Node
    offsets: Steps
    in_order: bool = False
    divides_second: bool = False


@dataclass(frozen=True)
class Chunks:
    """A node for each chunk of so many terms, the last of which may be shorter."""

    inside: Node
    length: int
    terms: int
    steps: Steps


@dataclass(frozen=True)
class Packed:
    """A node whose second address is that of the panel, which another one, given that of both, has filled before."""

    inside: Node
    copying: Node


Node = Loop | Both | Chunks | Packed


def run_calls(
    builder: ir.IRBuilder,
    node: Node,
    addresses: Sequence[ir.Value],
    terms: int,
    panel: ir.Value | None = None,
    chunks: tuple[Base, Base] = (0, 1),
) -> None:
    """Emit the calls of a table, in pieces where the function that is emitted computes those.

    terms: how many each call is told of, outside of chunks. chunks: from which one on, and up to which, they are run.
    """
    function, caller = dividing(builder), interruption_of(builder)
    number: Base = 0
    if function is not None:
        number = add_base(builder, function.number, -function.count)
    words = _Words()
    pieces = words.write(node, 0 if function is None else function.wanted)
    cost = -(-_cost(node) // pieces)
    is_interrupted = caller is not None and cost > UNINTERRUPTED
    table = words.table(builder, terms, pieces, is_interrupted)
    functions = pointer_table(builder, words.functions, at_entry=True)
    nothing = ir.Constant(POINTER, None)
    given = [table, functions, *addresses, nothing if panel is None else panel, *map(i64, (number, *chunks))]
    status = builder.call(declared(builder.module, SharedFunction("phlox.run_calls", _RUN, _define)), given)
    if function is not None:
        function.count += pieces
    if caller is not None:
        if is_interrupted:
            caller.leave_if(builder, builder.icmp_signed("!=", status, I32(0)))
        caller.add(cost)


def call_once(
    builder: ir.IRBuilder, called: Called, addresses: Sequence[ir.Value], terms: Base, is_first: ir.Value | None = None
) -> None:
    """Emit a single call; addresses that are left out are not used."""
    nothing = [ir.Constant(POINTER, None)] * (3 - len(addresses))
    first = I64(0) if is_first is None else builder.zext(is_first, I64)
    builder.call(called.function, [*addresses, *nothing, _table(builder, called.numbers), i64(terms), first])
    caller = interruption_of(builder)
    if caller is not None:
        caller.add(called.cost)


def number_of(builder: ir.IRBuilder, numbers: ir.Value, place: int) -> ir.Value:
    """One of the numbers that a function which is called reads."""
    return builder.load(_word(builder, numbers, place), typ=I64)


def _table(builder: ir.IRBuilder, words: Sequence[int]) -> ir.Value:
    name = f"phlox.calls.{hashlib.sha256(repr(words).encode()).hexdigest()[:16]}"
    return builder.bitcast(constant_table(builder, name, I64, words), POINTER)


def _cost(node: Node | Called) -> int:
    """About how many instructions all calls run."""
    match node:
        case Called():
            return node.cost
        case Loop():
            return node.size * _cost(node.inside)
        case Both():
            return _cost(node.first) + _cost(node.second)
        case Chunks():
            return -(-node.terms // node.length) * _cost(node.inside)
        case Packed():
            return _cost(node.copying) + _cost(node.inside)


# The nodes of a table by their first word. Behind it stand the nodes inside, by their distance in words, or a function.
_LOOP, _CALLS, _BOTH, _CHUNKS, _PACKED = range(5)


class _Words:
    """The words of a table that is being written, without those in front of the nodes, and the functions that it names."""

    def __init__(self) -> None:
        self.functions: list[ir.Function] = []
        self._words: list[int] = []
        self._costs: list[int] = []

    def table(self, builder: ir.IRBuilder, terms: int, pieces: int, is_interrupted: bool) -> ir.Value:
        """The address of the table, in front of whose nodes stand the number of terms and that of pieces."""
        for place in self._costs:
            self._words[place] = min(self._words[place], BUDGET) if is_interrupted else 0
        return _table(builder, (terms, pieces, *self._words))

    def write(self, node: Node, wanted: int) -> int:
        """Write a node that is to be divided into as many pieces, or is not if that is 0; how many there are."""
        match node:
            case Loop():
                return self._write_loop(node, wanted)
            case Both():
                return self._write_both(node, wanted)
            case Chunks():
                inside = self._begin(_CHUNKS, 0, node.length, node.terms, *node.steps)
            case Packed():
                inside = self._begin(_PACKED, 0, 0)
                self._write_inside(node.copying, inside + 1, 0)
        return self._write_inside(node.inside, inside, wanted)

    def _write_loop(self, loop: Loop, wanted: int) -> int:
        called, size = loop.inside if isinstance(loop.inside, Called) else None, loop.size
        if called is None:
            inside = self._begin(_LOOP, 0, size, 0, size, *loop.steps)
        else:
            inside = self._begin(_CALLS, self._number(called.function), size, 0, size, *loop.steps, 0, *called.numbers)
            self._count(inside + 7, called.cost)
        if not wanted or not loop.least:
            return self._write_inside(loop.inside, inside, wanted)
        is_each = 2 * size <= wanted
        most = 1 if is_each else min(size, max(loop.least, -(-size // wanted)))
        pieces = self._write_inside(loop.inside, inside, wanted // size if is_each else 0)
        self._words[inside + 2 : inside + 4] = [pieces, most]
        return -(-size // most) * pieces

    def _write_both(self, both: Both, wanted: int) -> int:
        inside = self._begin(_BOTH, 0, 0, 0, 0, *both.offsets)
        first = self._write_inside(both.first, inside, wanted)
        second = self._write_inside(both.second, inside + 2, wanted if both.divides_second else 0)
        in_order = both.in_order or not wanted
        begin = first - 1 if in_order else first
        self._words[inside + 1], self._words[inside + 3] = first, begin
        return max(first, begin + second)

    def _begin(self, *words: int) -> int:
        """Write these words; the place of the second one."""
        self._words.extend(words)
        return len(self._words) - len(words) + 1

    def _write_inside(self, node: Node | Called, place: int, wanted: int) -> int:
        if isinstance(node, Called):
            return 1
        self._words[place] = len(self._words) - place
        return self.write(node, wanted)

    def _count(self, place: int, cost: int) -> None:
        self._words[place] = cost
        self._costs.append(place)

    def _number(self, function: ir.Function) -> int:
        if function not in self.functions:
            self.functions.append(function)
        return self.functions.index(function)


# What does not change from node to node, or by chunks only; and how many instructions are left until interrupts are looked for.
_FUNCTIONS, _PANEL, _FIRST_CHUNK, _END_CHUNK, _TERMS, _IS_FIRST, _LEFT = range(7)
_RUN = ir.FunctionType(I32, [POINTER] * 6 + [I64] * 3)


def _define(run: ir.Function) -> None:
    visit = ir.Function(run.module, ir.FunctionType(I32, [POINTER] * 5 + [I64]), "phlox.visit_calls")
    visit.linkage = "internal"
    _Visit(visit).emit()
    b = Builder(run.append_basic_block("entry"))
    table, functions, *addresses, panel, number, first, end = run.args
    terms, pieces = (b.load(_word(b, table, place), typ=I64) for place in (0, 1))
    with b.if_then(b.icmp_unsigned(">=", number, pieces)):
        b.ret(I32(0))
    state = stack_memory(b, 8 * (_LEFT + 1), 8)
    given = {_FUNCTIONS: functions, _PANEL: panel, _FIRST_CHUNK: first, _END_CHUNK: end, _TERMS: terms}
    for place, value in {**given, _IS_FIRST: I64(0), _LEFT: I64(BUDGET)}.items():
        b.store(value, _word(b, state, place))
    b.ret(b.call(visit, [_word(b, table, 2), state, *addresses, number]))


class _Visit:
    """Emits ``i32 (ptr node, ptr state, ptr, ptr, ptr, i64 number)``, which runs the piece of a node with this number."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.node, self.state, *self.addresses, self.number = function.args
        self.builder = Builder(function.append_basic_block("entry"))

    def emit(self) -> None:
        b, function = self.builder, self.function
        kinds = {_LOOP: self._loop, _CALLS: self._calls, _BOTH: self._both, _CHUNKS: self._chunks, _PACKED: self._packed}
        blocks = {kind: function.append_basic_block() for kind in kinds}
        switch = b.switch(self._word(0), blocks[_LOOP])
        for kind, block in blocks.items():
            if kind != _LOOP:
                switch.add_case(I64(kind), block)
            b.position_at_end(block)
            kinds[kind]()
            b.ret(I32(0))

    def _loop(self) -> None:
        inside = self._node(1)
        self._at_each(lambda addresses: self._visit(inside, addresses, self._number_inside))

    def _calls(self) -> None:
        function = self._function(self._word(1))
        cost, numbers = self._word(8), _word(self.builder, self.node, 9)
        terms, is_first = self._kept(_TERMS), self._kept(_IS_FIRST)
        self._at_each(lambda addresses: self._call(function, [*addresses, numbers, terms, is_first], cost))

    def _both(self) -> None:
        b, number = self.builder, self.number
        second, begin = self._node(3), self._word(4)
        with b.if_then(b.icmp_signed("<", number, self._word(2))):
            self._visit(self._node(1), self.addresses, number)
        with b.if_then(b.icmp_signed(">=", number, begin)):
            self._visit(second, self._moved(self.addresses, self._steps(5)), b.sub(number, begin))

    def _chunks(self) -> None:
        b, inside, length, terms = self.builder, self._node(1), self._word(2), self._word(3)
        first, end = self._kept(_FIRST_CHUNK), self._kept(_END_CHUNK)

        def chunk(number: ir.Value, _: list) -> list:
            left = b.sub(terms, b.mul(number, length))
            b.store(b.select(b.icmp_signed("<", left, length), left, length), _word(b, self.state, _TERMS))
            b.store(b.zext(b.icmp_signed("==", number, first), I64), _word(b, self.state, _IS_FIRST))
            self._visit(inside, self._behind(steps, number), self.number)
            return []

        steps = self._steps(4)
        carried_loop(b, first, end, 1, [], chunk, "chunks")

    def _packed(self) -> None:
        left, right, result = self.addresses
        panel = self.builder.inttoptr(self._kept(_PANEL), POINTER)
        self._visit(self._node(2), [right, panel, ir.Constant(POINTER, None)], I64(0))
        self._visit(self._node(1), [left, panel, result], self.number)

    def _at_each(self, run: Callable[[list[ir.Value]], None]) -> None:
        """The iterations of the piece of a loop."""
        b, size, pieces, most = self.builder, *(self._word(place) for place in (2, 3, 4))
        is_divided = b.icmp_signed("!=", pieces, I64(0))

        def of_piece() -> list[ir.Value]:
            return [b.urem(self.number, pieces), b.mul(b.udiv(self.number, pieces), most)]

        self._number_inside, start = replaced_if(b, is_divided, [self.number, I64(0)], of_piece)
        end = b.add(start, most)
        end = b.select(b.icmp_signed("<", end, size), end, size)
        steps = self._steps(5)

        def iteration(_: ir.Value, addresses: list) -> list:
            run(addresses)
            return self._moved(addresses, steps)

        carried_loop(b, start, end, 1, self._behind(steps, start), iteration)

    def _steps(self, place: int) -> list[ir.Value]:
        return [self._word(place + number) for number in range(3)]

    def _moved(self, addresses: Sequence[ir.Value], steps: Sequence[ir.Value]) -> list[ir.Value]:
        return [self.builder.gep(one, [step], source_etype=I8) for one, step in zip(addresses, steps)]

    def _behind(self, steps: Sequence[ir.Value], count: ir.Value) -> list[ir.Value]:
        """The addresses, so many steps further."""
        return self._moved(self.addresses, [self.builder.mul(count, step) for step in steps])

    def _visit(self, node: ir.Value, addresses: Sequence[ir.Value], number: ir.Value) -> None:
        self._leave_unless_zero(self.builder.call(self.function, [node, self.state, *addresses, number]))

    def _call(self, function: ir.Value, given: Sequence[ir.Value], cost: ir.Value) -> None:
        """Call a function, and look for interrupts where that has been done long ago."""
        b, place = self.builder, _word(self.builder, self.state, _LEFT)
        b.call(function, given)
        left = b.sub(b.load(place, typ=I64), cost)
        b.store(left, place)
        with b.if_then(b.icmp_signed("<", left, I64(0)), likely=False):
            self._leave_unless_zero(b.call(declaration(b.module, CHECK_INTERRUPTS, I32, []), []))
            b.store(I64(BUDGET), place)

    def _leave_unless_zero(self, status: ir.Value) -> None:
        b = self.builder
        with b.if_then(b.icmp_signed("!=", status, I32(0)), likely=False):
            b.ret(status)

    def _word(self, place: int) -> ir.Value:
        return self.builder.load(_word(self.builder, self.node, place), typ=I64)

    def _kept(self, place: int) -> ir.Value:
        return self.builder.load(_word(self.builder, self.state, place), typ=I64)

    def _node(self, place: int) -> ir.Value:
        b, here = self.builder, _word(self.builder, self.node, place)
        return b.gep(here, [b.load(here, typ=I64)], source_etype=I64)

    def _function(self, number: ir.Value) -> ir.Value:
        b = self.builder
        functions = b.inttoptr(self._kept(_FUNCTIONS), POINTER)
        return load_function(b, b.gep(functions, [number], source_etype=POINTER), CALLED)


def _word(builder: ir.IRBuilder, words: ir.Value, place: int) -> ir.Value:
    return builder.gep(words, [I64(place)], source_etype=I64)

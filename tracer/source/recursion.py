"""A function that calls itself, as a loop: what a call leaves for later lies on stacks.

The body is cut behind each call of itself, and at the heads of loops in which there are some. The parts are the sides of an
``if`` in a loop, which ends when nothing is left to be done. Each local variable that is read in a later part has a stack of
its own, as have the parts that are to be gone on with, and the values that calls return. Of

    def depth(node):
        if node.inner is None:
            return 1
        return 1 + depth(node.inner)

it makes

    while part >= 0:
        if part == 0:
            node = of_node.pop()
            if node.inner is None:
                values.append(1)
                part = parts.pop()
            else:
                of_node.append(node.inner)
                parts.append(1)
                part = 0
        else:
            values.append(1 + values.pop())
            part = parts.pop()

where `pushed` and `popped` see to what is left on stacks (`capture/recursive_calls.py`). Parameters that all calls hand on as
they are, and that nothing assigns, need no stack.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .expressions import helper, located
from .hoisting import hoisted
from .liveness import Liveness
from .names import (
    COMPOUND,
    DEFINITIONS,
    NotCapturable,
    bound_names,
    copied,
    declared,
    forget_found,
    marked_nodes,
    never_ends,
    suspends,
    ways_out,
    without_declarations,
)
from .owned_names import OwnedNames
from .recursive_expressions import Own, flat, holds_own

_PREFIX = "_recursion_"
_PART, _PARTS, _VALUES = _PREFIX + "part", _PREFIX + "parts", _PREFIX + "values"
_END = -1  # the part behind the last one
_OF_PYTHON = {"range", "enumerate", "len"}


class _Transition(NamedTuple):
    """How a part ends: another one goes on, behind a call with these arguments if there are some; or a value is returned."""

    target: int | None = None
    arguments: dict[str, ast.expr] | None = None
    returned: ast.expr | None = None


class _Loop(NamedTuple):
    """The parts behind a loop, and at its head."""

    broken: int
    continued: int


def as_loop(function: ast.FunctionDef, own: Own) -> None:
    """Write a function anew, in place. Raises NotCapturable where it calls itself in a way that is not followed."""
    if suspends(marked_nodes(function.body)):
        raise NotCapturable("it is a generator")
    if not any(holds_own(statement, own) for statement in function.body):
        raise NotCapturable("it does not call itself by its name")
    body = [one for statement in hoisted(function.body) for one in _bound_before(statement)]
    marked = marked_nodes(body)
    outer = declared(marked, ast.Global), declared(marked, ast.Nonlocal)
    declarations = [kind(sorted(names)) for kind, names in zip((ast.Global, ast.Nonlocal), outer) if names]
    if any(isinstance(node, DEFINITIONS) for node in marked) or bound_names(body) & _OF_PYTHON:
        raise NotCapturable("it defines functions, or names that Python has")
    if declarations:
        body = without_declarations(body)
        forget_found(body)
    writer = _Parts(own, body, outer[0] | outer[1])
    first = writer.part()
    writer.parts[first] = writer.block(body, None, None)
    writer.join()
    place = function.body[0]
    function.body = [located(one, place) for one in (*declarations, *_Written(writer).body())]
    forget_found(function.body)


def _bound_before(statement: ast.stmt) -> list[ast.stmt]:
    """A statement, and those inside, with what the first of its expressions binds as an assignment in front of it."""
    if type(statement) not in COMPOUND:
        return [statement]
    for name in ("body", "orelse"):
        if inner := getattr(statement, name, None):
            setattr(statement, name, [one for part in inner for one in _bound_before(part)])
    holder, field = statement, "test"
    while isinstance(statement, ast.If):
        value = getattr(holder, field)
        value = value[0] if isinstance(value, list) else value
        if isinstance(value, ast.NamedExpr):
            forget_found([statement])
            made = located(ast.Assign([value.target], value.value), value)
            read = located(ast.Name(value.target.id, ast.Load()), value)
            if isinstance(getattr(holder, field), list):
                getattr(holder, field)[0] = read
            else:
                setattr(holder, field, read)
            return [made, statement]
        if type(value) not in _FIRST:
            break
        holder, field = value, _FIRST[type(value)]
    return [statement]


# What is evaluated first of an expression.
_FIRST = {ast.UnaryOp: "operand", ast.Compare: "left", ast.BinOp: "left", ast.BoolOp: "values"}


class _Parts:
    """The parts of a function, each a list of statements; those in which one ends have `_Transition`."""

    def __init__(self, own: Own, body: Sequence[ast.stmt], outer: set[str]) -> None:
        self.own = own
        self.locals = (bound_names(body) | own.parameters.keys()) - outer
        self.kept = own.parameters.keys() - bound_names(body)
        for node in ast.walk(ast.Module(list(body), [])):
            if own.is_call(node):
                given = own.arguments(node)
                self.kept = {name for name in self.kept if isinstance(given[name], ast.Name) and given[name].id == name}
        returned = [node.value for one in body for node in ast.walk(one) if isinstance(node, ast.Return)]
        self.has_values = any(
            not (value is None or isinstance(value, ast.Constant) and value.value is None) for value in returned
        )
        self.parts: list[list[ast.stmt]] = []
        self.transitions: dict[ast.stmt, _Transition] = {}
        self.results: dict[int, str] = {}  # by the part that begins with what a call has returned
        self._count = 0

    def join(self) -> None:
        """Let a part that only one other goes on with, without a call, be the end of that one."""
        every = [one for one in self.transitions.values() if one.target is not None]
        uses = Counter(one.target for one in every)
        alone = {target for target, times in uses.items() if times == 1}
        alone -= {one.target for one in every if one.arguments is not None}

        def joined(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
            for statement in statements:
                transition = self.transitions.get(statement)
                if transition is not None and transition.target in alone and transition.arguments is None:
                    yield from joined(self.parts[transition.target])
                    continue
                if self.ends_within(statement):
                    statement.body, statement.orelse = list(joined(statement.body)), list(joined(statement.orelse))
                yield statement

        kept = [index for index in range(len(self.parts)) if not index or uses[index] and index not in alone]
        number = {index: position for position, index in enumerate(kept)}
        self.parts = [list(joined(self.parts[index])) for index in kept]
        self.results = {number[index]: name for index, name in self.results.items() if index in number}
        for statement, one in self.transitions.items():
            self.transitions[statement] = one._replace(target=None if one.target is None else number.get(one.target))

    def ends_within(self, statement: ast.stmt) -> bool:
        """Whether a part ends within the statement."""
        return isinstance(statement, ast.If) and any(
            one in self.transitions or self.ends_within(one) for one in (*statement.body, *statement.orelse)
        )

    def part(self, *statements: ast.stmt) -> int:
        self.parts.append(list(statements))
        return len(self.parts) - 1

    def name(self, what: str) -> str:
        self._count += 1
        made = f"{_PREFIX}{what}{self._count}"
        self.locals.add(made)
        return made

    def _end(self, place: ast.AST, transition: _Transition) -> ast.stmt:
        made = located(ast.Return(None), place)
        self.transitions[made] = transition
        return made

    def _go_on(self, after: int | None, place: ast.AST) -> ast.stmt:
        """What stands at the end of statements, behind which this part comes, or the end of the function."""
        nothing = located(ast.Constant(None), place)
        return self._end(place, _Transition(returned=nothing) if after is None else _Transition(after))

    def block(self, statements: Sequence[ast.stmt], after: int | None, loop: _Loop | None) -> list[ast.stmt]:
        """Statements, then the part ``after``; None stands for the end of the function."""
        for position, statement in enumerate(statements):
            if holds_own(statement, self.own) or ways_out([statement]) or isinstance(statement, ast.Raise):
                rest = list(statements[position + 1 :])
                return [*statements[:position], *self._cut(statement, rest, after, loop)]
        return [*statements, self._go_on(after, statements[-1])]

    def _cut(self, statement: ast.stmt, rest: list[ast.stmt], after: int | None, loop: _Loop | None) -> list[ast.stmt]:
        if isinstance(statement, ast.If) and not holds_own(statement.test, self.own):
            return self._branch(statement, rest, after, loop)
        if isinstance(statement, ast.If):
            test, name = statement.test, self.name("test")
            statement = located(ast.If(ast.Name(name, ast.Load()), statement.body, statement.orelse), statement)
            return self.block([_assigned(name, test), statement, *rest], after, loop)
        if isinstance(statement, (ast.For, ast.While)):
            return self._loop(statement, rest, after, loop)
        if type(statement) in COMPOUND:
            raise NotCapturable("it calls itself, or is left, within a try or with statement")
        if holds_own(statement, self.own):
            return self._call(statement, rest, after, loop)
        if isinstance(statement, ast.Break):
            return [self._go_on(loop.broken, statement)]
        if isinstance(statement, ast.Continue):
            return [self._go_on(loop.continued, statement)]
        if isinstance(statement, ast.Raise):
            return [statement]
        value = statement.value or located(ast.Constant(None), statement)
        return [self._end(statement, _Transition(returned=value))]

    def _call(self, statement: ast.stmt, rest: list[ast.stmt], after: int | None, loop: _Loop | None) -> list[ast.stmt]:
        """The first call in a statement, and a part for what is behind it."""
        found = flat(statement, self.own, self.name, self.locals)
        if isinstance(found, list):
            return self.block([*found, *rest], after, loop)
        rest = rest if found.statement is None else [found.statement, *rest]
        if found.result is not None and not self.has_values:
            rest = [_assigned(found.result, located(ast.Constant(None), statement)), *rest]
        behind = self.part()
        if found.result is not None and self.has_values:
            self.results[behind] = found.result
        elif self.has_values:
            self.results[behind] = self.name("unused")
        self.parts[behind] = self.block(rest, after, loop) if rest else [self._go_on(after, statement)]
        return [*found.before, self._end(statement, _Transition(behind, arguments=found.arguments))]

    def _branch(self, statement: ast.If, rest: list[ast.stmt], after: int | None, loop: _Loop | None) -> list[ast.stmt]:
        body, orelse = statement.body, statement.orelse
        if rest and never_ends(body):
            orelse, rest = [*orelse, *rest], []
        elif rest and never_ends(orelse):
            body, rest = [*body, *rest], []
        if rest:
            behind = self.part()
            self.parts[behind] = self.block(rest, after, loop)
            after = behind
        sides = [self.block(side, after, loop) if side else [self._go_on(after, statement)] for side in (body, orelse)]
        return [located(ast.If(statement.test, *sides), statement)]

    def _loop(
        self, statement: ast.For | ast.While, rest: list[ast.stmt], after: int | None, loop: _Loop | None
    ) -> list[ast.stmt]:
        head, behind = self.part(), self.part()
        self.parts[behind] = self.block(rest, after, loop) if rest else [self._go_on(after, statement)]
        test, body, before = (
            (statement.test, statement.body, []) if isinstance(statement, ast.While) else self._counted(statement)
        )
        within = _Loop(behind, head)
        ends = self.block(statement.orelse, behind, loop) if statement.orelse else [self._go_on(behind, statement)]
        if holds_own(test, self.own):
            name = self.name("test")
            tested = located(ast.If(ast.Name(name, ast.Load()), self.block(body, head, within), ends), statement)
            self.parts[head] = self.block([_assigned(name, test)], self.part(tested), None)
        else:
            self.parts[head] = [located(ast.If(test, self.block(body, head, within), ends), statement)]
        return self.block(before, head, None) if before else [self._go_on(head, statement)]

    def _counted(self, statement: ast.For) -> tuple[ast.expr, list[ast.stmt], list[ast.stmt]]:
        """Of a loop over elements the condition and the body of one over their positions, and what is done before it."""
        place, before = self.name("place"), []

        def kept(value: ast.expr) -> ast.expr:
            if isinstance(value, ast.Constant):
                return value
            name = self.name("items")
            before.append(_assigned(name, value))
            return ast.Name(name, ast.Load())

        count, element = _elements(statement.iter, ast.Name(place, ast.Load()), kept)
        before.append(located(_assigned(place, located(ast.Constant(0), statement.iter)), statement.iter))
        test = located(ast.Compare(ast.Name(place, ast.Load()), [ast.Lt()], [count]), statement.iter)
        step = located(ast.AugAssign(ast.Name(place, ast.Store()), ast.Add(), ast.Constant(1)), statement.iter)
        taken = located(ast.Assign([statement.target], located(element, statement.iter)), statement.target)
        return test, [taken, step, *statement.body], before


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return located(ast.Assign([ast.Name(name, ast.Store())], value), value)


def _elements(iterable: ast.expr, place: ast.expr, kept: Callable[[ast.expr], ast.expr]) -> tuple[ast.expr, ast.expr]:
    """How many elements there are, and the one at a place; what has to be computed before is ``kept``."""
    is_call = isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and not iterable.keywords
    called = iterable.func.id if is_call else None
    if called == "range" and len(iterable.args) == 1:
        return kept(iterable.args[0]), place
    if called == "range" and len(iterable.args) == 2:
        start, stop = map(kept, iterable.args)
        return ast.BinOp(stop, ast.Sub(), start), ast.BinOp(copied(start), ast.Add(), place)
    if called == "enumerate" and len(iterable.args) == 1:
        count, element = _elements(iterable.args[0], place, kept)
        return count, ast.Tuple([copied(place), element], ast.Load())
    if isinstance(iterable, (ast.Tuple, ast.List)) and _is_constant(iterable):
        return ast.Constant(len(iterable.elts)), ast.Subscript(iterable, place, ast.Load())
    items = kept(helper("sequence", iterable, iterable))
    count = ast.Call(ast.Name("len", ast.Load()), [items], [])
    return count, ast.Subscript(copied(items), place, ast.Load())


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(map(_is_constant, node.elts))
    return isinstance(node, ast.Constant) or isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


class _Written:
    """The parts as one loop, with the stacks that they need."""

    def __init__(self, made: _Parts) -> None:
        self.made = made
        self.needed = self._names_needed()
        self.owned = self._owned_names()
        if not self.needed[0] <= made.own.parameters.keys():
            raise NotCapturable("it calls itself, and has variables that may be unbound")

    def _names_needed(self) -> list[set[str]]:
        """For each part the local variables that it, or one behind it in the same call, reads of what was assigned before."""
        made = self.made
        needed: list[set[str]] = [set() for _ in made.parts]
        while True:
            found = [self._read_first(part, needed) - ({made.results[index]} if index in made.results else set())
                     for index, part in enumerate(made.parts)]  # fmt: skip
            if found == needed:
                return needed
            needed = found

    def _owned_names(self) -> OwnedNames:
        made, ends = self.made, list(self.made.transitions.values())
        statements = [statement for part in made.parts for statement in part]
        given = [value for one in ends for value in (one.arguments or {}).values()]
        returned = [one.returned for one in ends if one.returned is not None]
        return OwnedNames(statements, given, returned, made.results.values(), made.own.parameters)

    def _read_first(self, part: list[ast.stmt], needed: list[set[str]]) -> set[str]:
        def read(statement: ast.stmt) -> list[ast.stmt]:
            if statement in self.made.transitions:
                transition = self.made.transitions[statement]
                names = set() if transition.target is None else set(needed[transition.target])
                names -= {self.made.results.get(transition.target, "")} if transition.arguments is not None else set()
                values = [*(transition.arguments or {}).values(), transition.returned]
                read_here = [ast.Name(name, ast.Load()) for name in sorted(names)] + [one for one in values if one is not None]
                return [located(ast.Return(ast.Tuple(read_here, ast.Load())), statement)]
            if self.made.ends_within(statement):
                sides = [[one for inner in side for one in read(inner)] for side in (statement.body, statement.orelse)]
                return [located(ast.If(statement.test, *sides), statement)]
            return [statement]

        statements = [one for statement in part for one in read(statement)]
        return set(Liveness(statements, ()).before & self.made.locals) - self.made.kept

    def body(self) -> list[ast.stmt]:
        made, stacks = self.made, set().union(*self.needed)
        first = [f"{_PARTS} = [{_END}]", f"{_PART} = 0"]
        first += [f"{_VALUES} = []"] if made.has_values else []
        first += [f"{_stack(name)} = []" for name in sorted(stacks)]
        place = made.parts[0][0]
        begin = [self._pushed(_stack(name), ast.Name(name, ast.Load()), place) for name in sorted(self.needed[0])]
        loop = ast.parse(f"while {_PART} >= 0: pass").body[0]
        loop.body, loop.is_of_calls = self._chain(0), True
        last = [ast.Return(self._popped(_VALUES, place))] if made.has_values else []
        return [*_parsed(*first), *begin, loop, *last]

    def _chain(self, index: int) -> list[ast.stmt]:
        """A branch for each of the parts from this one on."""
        part = self.made.parts[index]
        before = [_assigned(name, self._popped(_stack(name), part[0], name)) for name in sorted(self.needed[index])]
        if index == 0:
            deep = f"if len({_PARTS}) > {sys.getrecursionlimit()}: raise RecursionError('maximum recursion depth exceeded')"
            before[:0] = _parsed(deep)
        if index in self.made.results:
            before.append(_assigned(self.made.results[index], self._popped(_VALUES, part[0])))
        body = [*[located(one, part[0]) for one in before], *self._statements(part)]
        if index + 1 == len(self.made.parts):
            return body
        test = ast.Compare(ast.Name(_PART, ast.Load()), [ast.Eq()], [ast.Constant(index)])
        return [located(ast.If(test, body, self._chain(index + 1)), part[0])]

    def _statements(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        written: list[ast.stmt] = []
        for statement in statements:
            if statement in self.made.transitions:
                written += [located(one, statement) for one in self._ended(self.made.transitions[statement], statement)]
            elif self.made.ends_within(statement):
                sides = self._statements(statement.body), self._statements(statement.orelse)
                written.append(located(ast.If(statement.test, *sides), statement))
            else:
                written.append(statement)
        return written

    def _ended(self, transition: _Transition, place: ast.stmt) -> list[ast.stmt]:
        if transition.returned is not None:
            put = [self._pushed(_VALUES, transition.returned, place)] if self.made.has_values else []
            return [*put, *_parsed(f"{_PART} = {_PARTS}.pop()")]
        needed = sorted(self.needed[transition.target])
        left = [self._pushed(_stack(name), ast.Name(name, ast.Load()), place) for name in needed]
        if transition.arguments is None:
            return [*left, *_parsed(f"{_PART} = {transition.target}")]
        given = {name: value for name, value in transition.arguments.items() if name not in self.made.kept}
        names = [f"{_PREFIX}given_{name}" for name in given]
        computed = [_assigned(name, value) for name, value in zip(names, given.values())]
        pushed = [
            self._pushed(_stack(name), ast.Name(one, ast.Load()), place)
            for name, one in zip(given, names)
            if name in self.needed[0]
        ]
        return [*computed, *left, *pushed, *_parsed(f"{_PARTS}.append({transition.target})", f"{_PART} = 0")]

    def _popped(self, stack: str, place: ast.stmt, name: str | None = None) -> ast.expr:
        is_own = self.owned.returns_own if name is None else name in self.owned.names
        return helper("popped", place, ast.Name(stack, ast.Load()), ast.Constant(is_own))

    def _pushed(self, stack: str, value: ast.expr, place: ast.stmt) -> ast.stmt:
        given = helper("pushed", place, value, ast.Constant(stack), ast.Constant(self.made.own.qualname))
        return ast.Expr(ast.Call(ast.Attribute(ast.Name(stack, ast.Load()), "append", ast.Load()), [given], []))


def _stack(name: str) -> str:
    return f"{_PREFIX}of_{name.removeprefix(_PREFIX)}"


def _parsed(*lines: str) -> list[ast.stmt]:
    """Statements from their text, which have no place yet."""
    made = [one for line in lines for one in ast.parse(line).body]
    for statement in made:
        for node in ast.walk(statement):
            for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                vars(node).pop(name, None)
    return made

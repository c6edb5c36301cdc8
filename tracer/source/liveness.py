"""Which names may still be read behind a statement, and which may be unbound where they are read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from .names import (
    COMPOUND,
    DEFINITIONS,
    LOOPS,
    TRIES,
    WITHS,
    bound_names,
    found_in,
    marked_nodes,
    nodes_of_scope,
    parts_of,
    read_names,
)

Names = frozenset[str]
_NOTHING: Names = frozenset()
_NAMING = (*DEFINITIONS, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class _Exits:
    """What may be read where control goes other than to the next statement."""

    broken: Names = _NOTHING
    continued: Names = _NOTHING
    raised: Names = _NOTHING


class Liveness:
    """The names that may be read later: behind compound statements, the last of each block and those of a try statement's body,
    and at the head of each loop.

    ``always`` names those that may be read at any time, as functions defined inside do.
    """

    def __init__(self, statements: Sequence[ast.stmt], always: Iterable[str]) -> None:
        self.always = frozenset(always)
        self._behind: dict[ast.stmt, Names] = {}
        self._at_head: dict[ast.stmt, Names] = {}
        self._exits: dict[ast.stmt, _Exits] = {}
        # What is read from the beginning on, of what was assigned before.
        self.before = self._block(statements, self.always, _Exits())

    def behind(self, statement: ast.stmt) -> Names:
        """What may be read after the statement, wherever control goes from it."""
        exits = self._exits[statement]
        return self._behind[statement] | exits.broken | exits.continued | exits.raised | self.always

    def at_head(self, loop: ast.stmt) -> Names:
        """What may be read from the head of the loop on."""
        return self._at_head[loop] | self.always

    def _block(self, statements: Sequence[ast.stmt], after: Names, exits: _Exits, is_tried: bool = False) -> Names:
        live = set(after)  # a set of its own: as large as a function is long, it is not copied at each of its statements
        for statement in reversed(statements):
            if is_tried or statement is statements[-1] or type(statement) in COMPOUND:
                self._behind[statement], self._exits[statement] = frozenset(live), exits
            if type(statement) is ast.Assign or type(statement) is ast.Expr:
                live -= _plain_targets(getattr(statement, "targets", ()))
                live |= _reads(statement)
            else:
                live = set(self._statement(statement, frozenset(live), exits))
            live |= exits.raised
        return frozenset(live)

    def _statement(self, statement: ast.stmt, after: Names, exits: _Exits) -> Names:
        if isinstance(statement, ast.Return):
            return _reads(statement) | self.always
        if isinstance(statement, ast.Raise):
            return _reads(statement) | exits.raised
        if isinstance(statement, ast.Break):
            return exits.broken
        if isinstance(statement, ast.Continue):
            return exits.continued
        if isinstance(statement, ast.If):
            sides = self._block(statement.body, after, exits) | self._block(statement.orelse, after, exits)
            return _reads(statement.test) | sides
        if isinstance(statement, LOOPS):
            return self._loop(statement, after, exits)
        if isinstance(statement, WITHS):
            inside = self._block(statement.body, after, replace(exits, raised=exits.raised | after))
            first, *others = [_plain_targets([item.optional_vars]) for item in statement.items]
            return _reads(*statement.items) | inside.difference(first, *others) | after - first
        if isinstance(statement, TRIES):
            return self._try(statement, after, exits)
        if isinstance(statement, ast.Match):
            found = after | _reads(statement.subject)
            for case in statement.cases:
                found |= _reads(case.pattern, case.guard) | self._block(case.body, after, exits)
            return found
        if isinstance(statement, DEFINITIONS):
            return after - {statement.name} | frozenset(read_names([statement]))
        if isinstance(statement, ast.Delete):
            return after | _reads(statement) | found_in(statement).bound
        if isinstance(statement, ast.AugAssign):
            target = {statement.target.id} if isinstance(statement.target, ast.Name) else set()
            return after | _reads(statement) | target
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        return after - _plain_targets(targets) | _reads(statement)

    def _loop(self, loop: ast.stmt, after: Names, exits: _Exits) -> Names:
        is_while = isinstance(loop, ast.While)
        targets = _NOTHING if is_while else _plain_targets([loop.target])
        head = self._block(loop.orelse, after, exits) | after | _reads(loop.test if is_while else loop.target)
        # In a loop around it, what is read behind it only grows: it is the more that there was before.
        head |= self._at_head.get(loop, _NOTHING)
        while True:
            inside = self._block(loop.body, head, _Exits(after, head, exits.raised)) - targets
            if inside <= head:
                break
            head |= inside
        self._at_head[loop] = head
        return head if is_while else head | _reads(loop.iter)

    def _try(self, statement: ast.Try, after: Names, exits: _Exits) -> Names:
        leaving = exits
        if statement.finalbody:
            anywhere = after | exits.broken | exits.continued | exits.raised | self.always
            after = self._block(statement.finalbody, anywhere, exits)
            leaving = _Exits(after, after, after)
        caught = leaving.raised
        for handler in statement.handlers:
            caught |= self._block(handler.body, after, leaving) | _reads(handler.type)
        orelse = self._block(statement.orelse, after, leaving)
        return self._block(statement.body, orelse, replace(leaving, raised=caught), is_tried=True) | caught


def _reads(*nodes: ast.AST | None) -> Names:
    return frozenset(read_names([node for node in nodes if node is not None]))


def _plain_targets(targets: Iterable[ast.expr | None]) -> Names:
    """The names that are certainly rebound by an assignment to these targets."""
    found: set[str] = set()
    for target in targets:
        if isinstance(target, ast.Name):
            found.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            found |= _plain_targets(target.elts)
        elif isinstance(target, ast.Starred):
            found |= _plain_targets([target.value])
    return frozenset(found)


class Bindings:
    """Which names are certainly bound: follows control forward with the set of them, None where control does not come.

    unbound_reads: the places in this scope where one of the names is read while it may be unbound. behind: the names that are
    certainly bound behind a compound statement or the last of a block. ``bound`` are so from the beginning; ``deleted`` are
    those that some statement deletes.
    """

    def __init__(
        self, statements: Sequence[ast.stmt], bound: Iterable[str], names: Iterable[str], deleted: Iterable[str]
    ) -> None:
        self.deleted = frozenset(deleted)
        self.names = self.deleted.union(names)
        self.unbound_reads: set[ast.Name] = set()
        self.behind: dict[ast.stmt, Names | None] = {}
        self._broken: list[list[Names]] = []
        self.block(statements, frozenset(bound))

    def block(self, statements: Sequence[ast.stmt], bound: Names | None) -> Names | None:
        """What is certainly bound at the end of the statements."""
        if bound is None:
            return None
        so_far = set(bound)
        for statement in statements:
            if type(statement) is ast.Assign or type(statement) is ast.Expr:
                self._read(so_far, statement)
                so_far |= _plain_targets(getattr(statement, "targets", ()))
                if statement is statements[-1]:
                    self.behind[statement] = frozenset(so_far)
                continue
            ends = self.behind[statement] = self._statement(statement, frozenset(so_far))
            if ends is None:
                return None
            so_far = set(ends)
        return frozenset(so_far)

    def _read(self, bound: AbstractSet[str], *nodes: ast.AST | None) -> None:
        for root in nodes:
            if root is None or found_in(root).read & self.names <= bound:
                continue
            for node in nodes_of_scope([root]):
                if type(node) is ast.Name and node.id in self.names and node.id not in bound and type(node.ctx) is ast.Load:
                    self.unbound_reads.add(node)

    def _statement(self, statement: ast.stmt, bound: Names) -> Names | None:
        if isinstance(statement, ast.If):
            self._read(bound, statement.test)
            return _both(self.block(statement.body, bound), self.block(statement.orelse, bound))
        if isinstance(statement, LOOPS):
            return self._loop(statement, bound)
        if isinstance(statement, WITHS):
            self._read(bound, *statement.items)
            # Any of the managers may swallow what is raised behind its own name: by the next ones, and anywhere in the body.
            first, *others = [bound_names([item.optional_vars] if item.optional_vars else []) for item in statement.items]
            self.block(statement.body, bound.union(first, *others))
            return (bound | first) - self._deleted_in(statement.body)
        if isinstance(statement, TRIES):
            return self._try(statement, bound)
        if isinstance(statement, ast.Match):
            self._read(bound, statement.subject)
            ends: Names | None = bound
            for case in statement.cases:
                self._read(bound, case.guard)
                ends = _both(ends, self.block(case.body, bound | bound_names([case.pattern])))
            return ends
        if isinstance(statement, (ast.Return, ast.Raise)):
            self._read(bound, statement)
            return None
        if isinstance(statement, (ast.Break, ast.Continue)):
            if isinstance(statement, ast.Break):
                self._broken[-1].append(bound)
            return None
        self._read(bound, statement)
        if isinstance(statement, ast.Delete):
            return bound - bound_names([statement])
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            if statement.target.id in self.names and statement.target.id not in bound:
                self.unbound_reads.add(statement.target)
            return bound | {statement.target.id}
        targets = [part for part in getattr(statement, "targets", [getattr(statement, "target", None)]) if part is not None]
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            return bound
        if isinstance(statement, _NAMING):
            return bound | bound_names([statement])
        return bound | _plain_targets(targets)

    def _deleted_in(self, statements: Sequence[ast.stmt]) -> Names:
        if not self.deleted:
            return _NOTHING
        return frozenset(bound_names([node for node in marked_nodes(statements) if isinstance(node, ast.Delete)]))

    def _loop(self, loop: ast.stmt, bound: Names) -> Names | None:
        endless = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)
        bound -= self._deleted_in(parts_of(loop))
        self._read(bound, loop.test if isinstance(loop, ast.While) else loop.iter)
        inside = bound if isinstance(loop, ast.While) else bound | _plain_targets([loop.target])
        self._broken.append([])
        self.block(loop.body, inside)
        ends = None if endless else self.block(loop.orelse, bound)
        for broken in self._broken.pop():
            ends = _both(ends, broken)
        return ends

    def _try(self, statement: ast.Try, bound: Names) -> Names | None:
        deleted = self._deleted_in(statement.body)
        ends = self.block(statement.body, bound)
        if ends is not None:
            ends = self.block(statement.orelse, ends)
        for handler in statement.handlers:
            name = {handler.name} if handler.name else set()
            left = self.block(handler.body, (bound - deleted) | name)
            ends = _both(ends, None if left is None else left - name)
        if statement.finalbody:
            before = bound - deleted
            last = self.block(statement.finalbody, before)
            if last is None or ends is None:
                return None
            return ends | last
        return ends


def _both(first: Names | None, second: Names | None) -> Names | None:
    if first is None or second is None:
        return first if second is None else second
    return first & second

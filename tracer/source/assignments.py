"""Assignments and deletions, written anew: items and attributes are set by helpers, or announced to them."""

from __future__ import annotations

import ast

from .expressions import SET_OPERATORS, Expressions, helper, index_expression, later, located
from .names import bound_names

_SEQUENCES = (ast.Tuple, ast.List)


def unpacked(targets: list[ast.expr], value: ast.expr) -> ast.expr:
    """The value of an assignment, which helpers look at where it is unpacked."""
    for target in targets:
        if isinstance(target, _SEQUENCES) and not isinstance(value, _SEQUENCES):
            stars = [place for place, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
            before = ast.Constant(stars[0] if stars else len(target.elts))
            behind = ast.Constant(len(target.elts) - stars[0] - 1 if stars else None)
            return helper("unpacked", value, value, before, behind)
    return value


class Assignments:
    """The part of `Statements` that is about these."""

    expressions: Expressions
    locals: set[str]
    global_names: set[str]
    shared: set[str]

    def temporary(self) -> str:
        raise NotImplementedError

    def _assign(self, statement: ast.Assign, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        statement.value = self.expressions.visit(statement.value)
        return self.assign_to(statement), True

    def _annassign(self, statement: ast.AnnAssign, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """Annotations of local names are not evaluated, and not allowed for names that blocks share."""
        if statement.value is None:
            if isinstance(statement.target, ast.Name):
                self.shared.add(statement.target.id)
            return [located(ast.Pass(), statement)], True
        return self._assign(located(ast.Assign([statement.target], statement.value), statement), rest)

    def assign_to(self, statement: ast.Assign) -> list[ast.stmt]:
        """An assignment whose value is written anew already: items and attributes are set by helpers, from left to right."""
        made = self._noted_globals(statement)
        statement.value = unpacked(statement.targets, statement.value)
        if all(map(_binds_names_alone, statement.targets)):
            return [*made, statement]
        value = statement.value
        if len(statement.targets) > 1:
            name = self.temporary()
            made.append(located(ast.Assign([ast.Name(name, ast.Store())], value), statement))
            value = ast.Name(name, ast.Load())
        for target in statement.targets:
            made += self._store(target, value, statement)
        return made

    def _store(self, target: ast.expr, value: ast.expr, place: ast.AST) -> list[ast.stmt]:
        if isinstance(target, ast.Subscript):
            holder, index = self.expressions.visit_changed(target.value), index_expression(self.expressions.visit(target.slice))
            return [located(ast.Expr(helper("setitem", target, value, holder, index)), place)]
        if isinstance(target, ast.Attribute):
            holder = self.expressions.visit(target.value)
            name = self.temporary()
            kept = located(ast.Assign([ast.Name(name, ast.Store())], value), place)
            set_ = helper("setattr", target, holder, ast.Constant(target.attr), ast.Name(name, ast.Load()))
            return [kept, located(ast.Expr(set_), place)]
        if isinstance(target, _SEQUENCES):
            names = [self.temporary() for _ in target.elts]
            parts: list[ast.expr] = []
            for name, element in zip(names, target.elts):
                part: ast.expr = ast.Name(name, ast.Store())
                parts.append(ast.Starred(part, ast.Store()) if isinstance(element, ast.Starred) else part)
            made = [located(ast.Assign([type(target)(parts, ast.Store())], value), place)]
            for name, element in zip(names, target.elts):
                element = element.value if isinstance(element, ast.Starred) else element
                part = located(ast.Name(name, ast.Load()), place)
                made += self._store(element, located(unpacked([element], part), place), place)
            return made
        return [located(ast.Assign([target], value), place)]

    def _augassign(self, statement: ast.AugAssign, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        target = statement.target
        if isinstance(target, ast.Name):
            read = ast.Name(target.id, ast.Load())
            statement.value = self.expressions.visit(statement.value)
            changed = self._changed(statement)
            if target.id in self.locals and target not in self.expressions.unbound:
                return [self._noted(read, statement), changed], True
            if target in self.expressions.unbound:
                check = helper("bound", target, ast.Constant(target.id), later(located(read, target)))
                kept = located(ast.Assign([ast.Name(target.id, ast.Store())], check), statement)
                return [kept, changed], True
            return [*self._noted_globals(statement), changed], True
        # The holder and the index are evaluated once, the item is read, changed and stored.
        holder, value = self.temporary(), self.temporary()
        made = [located(ast.Assign([ast.Name(holder, ast.Store())], self.expressions.visit_changed(target.value)), statement)]
        whole = ast.Name(holder, ast.Load())
        if isinstance(target, ast.Subscript):
            index = self.temporary()
            expression = index_expression(self.expressions.visit(target.slice))
            made.append(located(ast.Assign([ast.Name(index, ast.Store())], expression), statement))
            read: ast.expr = helper("item_to_change", target, whole, ast.Name(index, ast.Load()))
            store: list[ast.stmt] = [
                ast.Expr(helper("setitem", target, ast.Name(value, ast.Load()), whole, ast.Name(index, ast.Load())))
            ]
        else:
            read = helper("getattr", target, whole, ast.Constant(target.attr))
            store = [ast.Expr(helper("setattr", target, whole, ast.Constant(target.attr), ast.Name(value, ast.Load())))]
        made.append(located(ast.Assign([ast.Name(value, ast.Store())], read), target))
        made.append(self._noted(ast.Name(value, ast.Load()), statement))
        changed = ast.AugAssign(ast.Name(value, ast.Store()), statement.op, self.expressions.visit(statement.value))
        made.append(self._changed(located(changed, statement)))
        return [*made, *[located(one, statement) for one in store]], True

    def _changed(self, statement: ast.AugAssign) -> ast.stmt:
        """A name bound anew to what an operator makes of it; lists and sets have some of these, too."""
        if isinstance(statement.op, ast.Add) and not isinstance(statement.value, ast.Constant | ast.BinOp | ast.UnaryOp):
            made = helper("added_in_place", statement, ast.Name(statement.target.id, ast.Load()), statement.value)
            return located(ast.Assign([statement.target], made), statement)
        if type(statement.op) not in SET_OPERATORS or isinstance(statement.value, ast.Constant):
            return statement
        name, read = ast.Constant(SET_OPERATORS[type(statement.op)]), ast.Name(statement.target.id, ast.Load())
        made = helper("combined_in_place", statement, name, read, statement.value)
        return located(ast.Assign([statement.target], made), statement)

    def _noted(self, holder: ast.expr, place: ast.stmt) -> ast.stmt:
        """Tell the helpers that an object may be changed in place."""
        return located(ast.Expr(helper("note_contents", place, holder)), place)

    def _noted_globals(self, statement: ast.stmt) -> list[ast.stmt]:
        """Tell the helpers which global names the statement sets."""
        if not self.global_names:
            return []
        names = sorted(bound_names([statement]) & self.global_names)
        here = later(located(ast.Constant(None), statement))
        return [located(ast.Expr(helper("note_global", statement, ast.Constant(name), here)), statement) for name in names]

    def _delete(self, statement: ast.Delete, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        if all(isinstance(target, ast.Name) and target.id not in self.global_names for target in statement.targets):
            return [statement], True
        made: list[ast.stmt] = []
        for target in statement.targets:
            if isinstance(target, ast.Name) and target.id in self.global_names:
                here = later(located(ast.Constant(None), statement))
                made.append(located(ast.Expr(helper("delete_global", target, ast.Constant(target.id), here)), statement))
                continue
            if isinstance(target, ast.Subscript):
                holder, index = (
                    self.expressions.visit_changed(target.value),
                    index_expression(self.expressions.visit(target.slice)),
                )
                made.append(located(ast.Expr(helper("delitem", target, holder, index)), statement))
                continue
            if isinstance(target, ast.Attribute):
                deleted = helper("delattr", target, self.expressions.visit(target.value), ast.Constant(target.attr))
                made.append(located(ast.Expr(deleted), statement))
                continue
            made.append(located(ast.Delete([target]), statement))
        return made, True


def _binds_names_alone(target: ast.expr) -> bool:
    """Whether a target is a name, or several side by side; those that are unpacked in turn go by way of helpers."""
    elements = target.elts if isinstance(target, _SEQUENCES) else [target]
    return all(isinstance(one.value if isinstance(one, ast.Starred) else one, ast.Name) for one in elements)

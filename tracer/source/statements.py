"""Statements, written anew: the blocks of loops and branches become functions that helpers call.

A block function shares the names of the function around it, by ``nonlocal``. It returns None where control reaches its end,
else what the helpers have for the way on which it is left: BREAK, CONTINUE, or a Return with the value. A statement
that may be left so hands this to what stands behind it (`then`), which becomes a function, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from .assignments import Assignments
from .expressions import HELPERS, Expressions, helper, later, located
from .generators import is_generator, split
from .hoisting import hoisted
from .liveness import Bindings, Liveness
from .names import (
    DEFINITIONS,
    NotCapturable,
    all_arguments,
    as_function,
    bound_names,
    declared,
    found_in,
    has_bindings,
    marked_nodes,
    never_ends,
    parts_of,
    shared_names,
    suspends,
    ways_out,
    without_declarations,
)

PREFIX = "_phlox_"


class Statements(Assignments):
    """Writes the body of one function anew, in place, and those of functions that it defines."""

    def __init__(self, function: ast.FunctionDef) -> None:
        arguments = all_arguments(function.args)
        parameters = {argument.arg for argument in arguments}
        body = function.body
        marked = marked_nodes(body)
        if any(type(node) is ast.NamedExpr for node in marked):
            body = function.body = hoisted(body)
            marked = marked_nodes(body)
        self.global_names, self.outer_names = declared(marked, ast.Global), declared(marked, ast.Nonlocal)
        self.locals = (bound_names(body) | parameters) - self.global_names - self.outer_names
        read, rebound = shared_names(marked)
        self.rebound_inside = rebound & self.locals
        always = (read & self.locals) | self.global_names | self.outer_names
        self.liveness = Liveness(body, always)
        deleted = bound_names([node for node in marked if isinstance(node, ast.Delete)])
        bindings = Bindings(body, parameters, self.locals - parameters, deleted)
        unbound, self.bound_behind = bindings.unbound_reads, bindings.behind
        first = [*function.args.posonlyargs, *function.args.args]
        self.expressions = Expressions(unbound, first[0].arg if first else None, has_bindings(marked))
        self.is_generator = suspends(marked)
        self.parameters = parameters
        self.count = 0
        self.depth = 0
        self.shared: set[str] = set()
        self.function = function

    def rewrite(self) -> None:
        function = self.function
        declares = self.global_names or self.outer_names
        made = self.block(without_declarations(function.body) if declares else function.body)
        first: list[ast.stmt] = []
        if self.global_names:
            first.append(ast.Global(sorted(self.global_names)))
        if self.outer_names:
            outer = sorted(self.outer_names)
            first.append(ast.Nonlocal(outer))
            reads = [located(ast.Name(name, ast.Load()), function.body[0]) for name in outer]
            cells = later(located(ast.Tuple(reads, ast.Load()), function.body[0]))
            first.append(ast.Expr(helper("note_nonlocal", function.body[0], cells)))
        if names := sorted(self.shared - self.parameters):
            # Never executed: it makes the names that only blocks assign names of this function.
            targets = [ast.Name(name, ast.Store()) for name in names]
            first.append(ast.If(ast.Constant(0), [ast.Assign(targets, ast.Constant(None))], []))
        place = function.body[0]
        start = 1 if _is_docstring(place) else 0
        function.body = [*made[:start], *[located(statement, place) for statement in first], *made[start:]]

    # --- blocks ---

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements anew; where one may be left on another way than at its end, it hands on to those behind it."""
        made: list[ast.stmt] = []
        for position, statement in enumerate(statements):
            new, goes_on = self.statement(statement, list(statements[position + 1 :]))
            made += new
            if not goes_on:
                break
        return made or [located(ast.Pass(), self.function.body[0])]

    def function_of(
        self, statements: Sequence[ast.stmt], place: ast.AST, takes: str | None = None, before: Sequence[ast.stmt] = ()
    ) -> ast.FunctionDef:
        """The statements as a block function, with those of ``before``, which are written anew already, at its beginning."""
        names = bound_names([*statements, *before])
        self.depth += 1
        body = [*before, *self.block(statements)] if statements else list(before)
        self.depth -= 1
        return self._named(body, names, place, takes)

    def _named(self, body: list[ast.stmt], names: set[str], place: ast.AST, takes: str | None = None) -> ast.FunctionDef:
        self.count += 1
        names = {name for name in names if not name.startswith(PREFIX)}
        own = sorted((names | self.rebound_inside) & self.locals)
        self.shared.update(own)
        first: list[ast.stmt] = []
        if own or names & self.outer_names:
            first.append(ast.Nonlocal(sorted({*own, *(names & self.outer_names)})))
        if names & self.global_names:
            first.append(ast.Global(sorted(names & self.global_names)))
        parameters = [] if takes is None else [ast.arg(takes)]
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        function = ast.FunctionDef(f"{PREFIX}block{self.count}", arguments, [*first, *body], [], None)
        function.type_params = []
        for statement in first:
            located(statement, place)
        return located(function, place)

    def temporary(self) -> str:
        self.count += 1
        return f"{PREFIX}value{self.count}"

    def names_of(self, statements: Sequence[ast.stmt], live: Iterable[str]) -> ast.expr:
        """What the statements bind: the names that may be read behind them, the others, and those that are certainly bound."""
        assigned = (bound_names(statements) | self.rebound_inside) & (self.locals | self.outer_names)
        kept = assigned & set(live)
        bound = kept & (self.bound_behind.get(statements[-1]) or set())
        return ast.Constant((tuple(sorted(kept)), tuple(sorted(assigned - kept)), tuple(sorted(bound))))

    # --- the ways out ---

    def _leave(self, outcome: ast.expr, place: ast.AST) -> ast.stmt:
        """Return what a helper has for the way on which control goes on, or, around all blocks, the value."""
        return located(ast.Return(outcome if self.depth else helper("value", place, outcome)), place)

    def hand_on(self, call: ast.expr, rest: list[ast.stmt], place: ast.stmt) -> list[ast.stmt]:
        """Run the call, and the rest of the block if it comes to its end."""
        if not rest:
            return [self._leave(call, place)]
        names = self.names_of(rest, self.liveness.behind(rest[-1]))
        function = self.function_of(rest, rest[0])
        handed = helper("then", rest[0], ast.Name(f"{PREFIX}outcome", ast.Load()), _name(function), names)
        stored = located(ast.Assign([ast.Name(f"{PREFIX}outcome", ast.Store())], call), place)
        return [stored, function, self._leave(handed, rest[0])]

    # --- statements ---

    def statement(self, statement: ast.stmt, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """The statement anew, and whether those of ``rest`` are still to be written."""
        method = getattr(self, f"_{type(statement).__name__.lower()}", None)
        if method is not None:
            return method(statement, rest)
        return [self.expressions.visit_parts(statement)], True

    def _stays(self, statement: ast.stmt) -> bool:
        """Whether a compound statement cannot become functions: generators suspend, and jump, in their own frame."""
        return self.is_generator and (suspends(found_in(statement).marked) or bool(ways_out([statement])))

    def _in_place(self, statement: ast.stmt) -> list[ast.stmt]:
        """A compound statement with its blocks where they are."""
        for name in ("body", "orelse", "finalbody"):
            if getattr(statement, name, None):
                setattr(statement, name, self.block(getattr(statement, name)))
        for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            inner.body = self.block(inner.body)
        for field in ("test", "iter", "subject"):
            if hasattr(statement, field):
                setattr(statement, field, self.expressions.visit(getattr(statement, field)))
        if isinstance(statement, ast.For):
            statement.iter = helper("asked", statement.iter, statement.iter)
        for item in getattr(statement, "items", ()):
            item.context_expr = self.expressions.visit(item.context_expr)
        for handler in getattr(statement, "handlers", ()):
            if handler.type is not None:
                handler.type = self.expressions.visit(handler.type)
        for case in getattr(statement, "cases", ()):
            if case.guard is not None:
                case.guard = helper("concrete_truth", case.guard, self.expressions.visit(case.guard))
        return [statement]

    def _if(self, statement: ast.If, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        if self._stays(statement):
            statement.test = helper("concrete_truth", statement.test, statement.test)
            return self._in_place(statement), True
        ways = ways_out([statement])
        body, orelse, joined = statement.body, statement.orelse, [statement]
        goes_on = True
        if ways:
            ends = never_ends(body), never_ends(orelse)
            if any(ends):  # what stands behind the statement belongs to the side that comes to its end
                goes_on = False
                joined = [statement, *rest]
                if ends == (True, False):
                    orelse = [*orelse, *rest]
                elif ends == (False, True):
                    body = [*body, *rest]
                else:
                    joined = [statement]
        names = self.names_of(joined, self.liveness.behind(joined[-1]))
        test = self.expressions.visit_test(statement.test)
        made = [self.function_of(body, statement)]
        sides: list[ast.expr] = [_name(made[0]), ast.Constant(None)]
        if orelse:
            made.append(self.function_of(orelse, orelse[0]))
            sides[1] = _name(made[1])
        call = helper("if_", statement.test, test, *sides, names)
        if not goes_on:
            return [*made, self._leave(call, statement)], False
        if ways:
            return [*made, *self.hand_on(call, rest, statement)], False
        return [*made, located(ast.Expr(call), statement)], True

    def _for(self, statement: ast.For, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        if self._stays(statement):
            return self._in_place(statement), True
        live = self.liveness.at_head(statement) | self.liveness.behind(statement)
        names, ways = self.names_of([statement], live), ways_out([statement])
        iterable = self.expressions.visit(statement.iter)
        item = self.temporary()
        taken = located(ast.Assign([statement.target], ast.Name(item, ast.Load())), statement.target)
        body = self.function_of(statement.body, statement, item, self.assign_to(taken))
        return self._finish_loop("for_", statement, [iterable], body, names, ways, rest)

    def _while(self, statement: ast.While, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        if self._stays(statement):
            statement.test = helper("concrete_truth", statement.test, statement.test)
            return self._in_place(statement), True
        live = self.liveness.at_head(statement) | self.liveness.behind(statement)
        names, ways = self.names_of([statement], live), ways_out([statement])
        bound = bound_names([statement.test])
        returned = located(ast.Return(self.expressions.visit_test(statement.test)), statement.test)
        test = self._named([returned], bound, statement.test)
        body = self.function_of(statement.body, statement)
        name = "calls_" if getattr(statement, "is_of_calls", False) else "while_"
        made, goes_on = self._finish_loop(name, statement, [_name(test)], body, names, ways, rest)
        return [test, *made], goes_on

    def _finish_loop(
        self,
        name: str,
        statement: ast.For | ast.While,
        given: list[ast.expr],
        body: ast.FunctionDef,
        names: ast.expr,
        ways: set[str],
        rest: list[ast.stmt],
    ) -> tuple[list[ast.stmt], bool]:
        made = [body]
        orelse: ast.expr = ast.Constant(None)
        if statement.orelse:
            made.append(self.function_of(statement.orelse, statement.orelse[0]))
            orelse = _name(made[1])
        call = helper(name, statement, *given, _name(body), orelse, names)
        if ways:
            return [*made, *self.hand_on(call, rest, statement)], False
        return [*made, located(ast.Expr(call), statement)], True

    def _in_blocks(self, statement: ast.stmt, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """Where it may be left by a jump its blocks become functions, which are called inside of it."""
        if ways_out(getattr(statement, "finalbody", ())):
            raise NotCapturable("it has a return, break or continue in a finally block")
        if not ways_out([statement]) or self._stays(statement):
            return self._in_place(statement), True
        outcome = self.temporary()
        made: list[ast.stmt] = [located(ast.Assign([ast.Name(outcome, ast.Store())], ast.Constant(None)), statement)]
        holders: list = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
        blocks: list[tuple] = [(holder, "body") for holder in holders if hasattr(holder, "body")]
        if getattr(statement, "orelse", None):
            blocks.append((statement, "orelse"))
        if getattr(statement, "finalbody", None):
            statement.finalbody = self.block(statement.finalbody)
        for holder, field in blocks:
            statements = getattr(holder, field)
            function = self.function_of(statements, statements[0])
            made.append(function)
            called = located(ast.Assign([ast.Name(outcome, ast.Store())], ast.Call(_name(function), [], [])), statements[0])
            if field == "orelse":
                missing = ast.Compare(ast.Name(outcome, ast.Load()), [ast.Is()], [ast.Constant(None)])
                called = located(ast.If(missing, [called], []), statements[0])
            setattr(holder, field, [called])
        whole = self._outer_expressions(statement)
        call = ast.Name(outcome, ast.Load())
        return [*made, whole, *self.hand_on(located(call, statement), rest, statement)], False

    _match = _in_blocks

    def _trystar(self, statement: ast.TryStar, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        made = self._in_blocks(statement, rest)
        place = statement.body[0]
        around = ast.withitem(helper("handled_by_python", place))
        statement.body = [located(ast.With([around], statement.body), place)]
        return made

    def _with(self, statement: ast.With, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """The body becomes a function of what the manager gives; it is the body of others where there are several."""
        if self._stays(statement):
            return self._in_place(statement), True
        names = self.names_of([statement], self.liveness.behind(statement) | self.liveness.behind(statement.body[-1]))
        ways = ways_out([statement])
        function, call = self._managed(statement, statement.items, names)
        if ways:
            return [function, *self.hand_on(call, rest, statement)], False
        return [function, located(ast.Expr(call), statement)], True

    def _managed(self, statement: ast.With, items: list[ast.withitem], names: ast.expr) -> tuple[ast.FunctionDef, ast.expr]:
        item, *others = items
        manager, taken, before = self.expressions.visit(item.context_expr), self.temporary(), []
        if item.optional_vars is not None:
            before = self.assign_to(located(ast.Assign([item.optional_vars], ast.Name(taken, ast.Load())), item.optional_vars))
        if others:
            function, call = self._managed(statement, others, names)
            body = [*before, function, located(ast.Return(call), statement)]
            function = self._named(body, bound_names([statement]), statement, taken)
        else:
            function = self.function_of(statement.body, statement, taken, before)
        return function, helper("with_", statement, manager, _name(function), names)

    def _try(self, statement: ast.Try, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """The statements of the body, and the handlers, become functions."""
        if self._stays(statement):
            return self._in_blocks(statement, rest)
        if statement.finalbody:
            return self._finally(statement, rest)
        ways = ways_out([statement])
        # What handlers and the else clause read is bound on one side of the branches behind each statement of the body.
        live = self.liveness.behind(statement).union(*map(self.liveness.behind, statement.body))
        names = self.names_of([statement], live)
        made: list[ast.stmt] = []
        parts = [statement.body] if ways_out(statement.body) else [[part] for part in statement.body]
        blocks = [self.function_of(part, part[0]) for part in parts]
        handlers: list[ast.expr] = []
        for handler in statement.handlers:
            kinds: ast.expr = ast.Constant(None)
            if handler.type is not None:
                kinds = later(self.expressions.visit(handler.type))
            function, asks = self._handler(handler)
            made.append(function)
            handlers.append(ast.Tuple([kinds, _name(function), ast.Constant(asks)], ast.Load()))
        orelse: ast.expr = ast.Constant(None)
        if statement.orelse:
            made.append(self.function_of(statement.orelse, statement.orelse[0]))
            orelse = _name(made[-1])
        simple = [len(part) == 1 and not parts_of(part[0]) for part in parts]
        sequence = [ast.Tuple([_name(one), ast.Constant(is_one)], ast.Load()) for one, is_one in zip(blocks, simple)]
        given = [ast.Tuple(sequence, ast.Load()), ast.Tuple(handlers, ast.Load()), orelse, names]
        given.append(ast.Constant(tuple(sorted(self.bound_behind.get(statement.body[-1]) or ()))))
        call = helper("try_", statement, *given)
        made = [*blocks, *made]
        if ways:
            return [*made, *self.hand_on(call, rest, statement)], False
        return [*made, located(ast.Expr(call), statement)], True

    def _finally(self, statement: ast.Try, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """What stands before the finally clause becomes a function, and the clause another one."""
        ways, final = ways_out([statement]), statement.finalbody
        before = [*statement.body, *statement.orelse[-1:], *[handler.body[-1] for handler in statement.handlers]]
        names = self.names_of([statement], self.liveness.behind(statement).union(*map(self.liveness.behind, before)))
        statement.finalbody = []
        block = self.function_of([statement] if statement.handlers else statement.body, statement)
        made = [block, self.function_of(final, final[0])]
        call = helper("finally_", statement, *map(_name, made), names)
        if ways:
            return [*made, *self.hand_on(call, rest, statement)], False
        return [*made, located(ast.Expr(call), statement)], True

    def _handler(self, handler: ast.ExceptHandler) -> tuple[ast.FunctionDef, bool]:
        """A function of the exception, and whether it asks for that; the name is unbound at the end, as Python has it."""
        taken = self.temporary()
        raises_again = _raise_again(handler.body, taken)
        if handler.name is None:
            return self.function_of(handler.body, handler, taken), raises_again
        bound = located(ast.Assign([ast.Name(handler.name, ast.Store())], ast.Name(taken, ast.Load())), handler)
        names = {*bound_names(handler.body), handler.name}
        self.depth += 1
        body = self.block(handler.body)
        self.depth -= 1
        # As Python's own: the name is set first, so that it can be unbound whatever the body has done.
        end = [
            ast.Assign([ast.Name(handler.name, ast.Store())], ast.Constant(None)),
            ast.Delete([ast.Name(handler.name, ast.Del())]),
        ]
        around = ast.Try(body, [], [], end)
        return self._named([bound, located(around, handler)], names, handler, taken), True

    def _outer_expressions(self, statement: ast.stmt) -> ast.stmt:
        if hasattr(statement, "subject"):
            statement.subject = self.expressions.visit(statement.subject)
        for item in getattr(statement, "items", ()):
            item.context_expr = self.expressions.visit(item.context_expr)
        for case in getattr(statement, "cases", ()):
            if case.guard is not None:
                case.guard = helper("concrete_truth", case.guard, self.expressions.visit(case.guard))
        return statement

    def _return(self, statement: ast.Return, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        value = None if statement.value is None else self.expressions.visit(statement.value)
        if self.depth:
            value = helper("Return", statement, value or ast.Constant(None))
        statement.value = value
        return [statement], False

    def _raise(self, statement: ast.Raise, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        self.expressions.visit_parts(statement)
        if statement.exc is not None:
            statement.exc = helper("raised", statement.exc, statement.exc)
        return [statement], False

    def _break(self, statement: ast.stmt, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        if not self.depth:
            return [statement], False
        name = type(statement).__name__.upper()
        value = ast.Attribute(ast.Name(HELPERS, ast.Load()), name, ast.Load())
        return [located(ast.Return(value), statement)], False

    _continue = _break

    def _assert(self, statement: ast.Assert, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        message = statement.msg or ast.Constant(None)
        if self.expressions.binds(message, statement.test):
            return [self.expressions.visit_parts(statement)], True
        self.expressions.visit_parts(statement)
        text = ast.Constant(None) if statement.msg is None else as_function([], statement.msg)
        statement.test = helper("asserted", statement.test, statement.test, text)
        return [statement], True

    def _importfrom(self, statement: ast.ImportFrom, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """What is imported is read of the module, as attributes are."""
        module, made = "." * statement.level + (statement.module or ""), [statement]
        for alias in statement.names if statement.names[0].name != "*" else ():
            name = alias.asname or alias.name
            arguments = ast.Constant(module), ast.Constant(alias.name), ast.Name(name, ast.Load())
            value = helper("imported", statement, *arguments)
            made.append(located(ast.Assign([ast.Name(name, ast.Store())], value), statement))
        return made, True

    # --- definitions ---

    def _functiondef(self, statement: ast.FunctionDef, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        statement.decorator_list = [helper("decorator", one, self.expressions.visit(one)) for one in statement.decorator_list]
        statement.args.defaults = [self.expressions.visit(one) for one in statement.args.defaults]
        statement.args.kw_defaults = [one and self.expressions.visit(one) for one in statement.args.kw_defaults]
        rewrite(statement)
        return [statement], True

    def _asyncfunctiondef(self, statement: ast.stmt, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        return [statement], True

    def _classdef(self, statement: ast.ClassDef, rest: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        for part in statement.body:
            if isinstance(part, ast.FunctionDef):
                rewrite(part)
        noted = helper("made", statement, ast.Name(statement.name, ast.Load()))
        return [statement, located(ast.Expr(noted), statement)], True


def rewrite(function: ast.FunctionDef) -> None:
    """Write a function anew, in place; a generator function as two others."""
    for part in split(function, PREFIX) if is_generator(function) else [function]:
        Statements(part).rewrite()


def _name(function: ast.FunctionDef) -> ast.Name:
    return ast.Name(function.name, ast.Load())


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
    )


def _raise_again(statements: list[ast.stmt], caught: str) -> bool:
    """Let ``raise`` alone name the exception that is handled; whether there is any."""
    found = False
    for statement in statements:
        if isinstance(statement, ast.Raise) and statement.exc is None:
            statement.exc, found = located(ast.Name(caught, ast.Load()), statement), True
        elif not isinstance(statement, DEFINITIONS):
            inner = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
            for part in (*inner, *[case.body for case in getattr(statement, "cases", ())]):
                found |= isinstance(part, list) and _raise_again(part, caught)
    return found

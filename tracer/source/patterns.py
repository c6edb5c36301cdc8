"""``match`` statements as chains of ``if``: a pattern is a test, and names that are bound where it holds."""

from __future__ import annotations

import ast
import copy
import itertools

from .expressions import helper, located
from .names import bound_names, copied

# Of these a positional pattern is for the whole value.
_WHOLE = {"bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}

# The body of a case stands once for each of them.
_MOST_ALTERNATIVES = 8


class _Unknown(Exception):
    """A pattern that is left to Python."""


class _Pattern:
    """Tests, which all have to hold, one after the other, and names with what they are bound to."""

    def __init__(self) -> None:
        self.tests: list[ast.expr] = []
        self.bindings: dict[str, ast.expr] = {}

    def add(self, pattern: ast.pattern, subject: ast.expr) -> None:
        method = getattr(self, f"_{type(pattern).__name__}", None)
        if method is None:
            raise _Unknown
        method(pattern, subject)

    def _compare(self, subject: ast.expr, operator: ast.cmpop, value: ast.expr) -> None:
        self.tests.append(ast.Compare(subject, [operator], [value]))

    def _MatchValue(self, pattern: ast.MatchValue, subject: ast.expr) -> None:
        self._compare(subject, ast.Eq(), pattern.value)

    def _MatchSingleton(self, pattern: ast.MatchSingleton, subject: ast.expr) -> None:
        self._compare(subject, ast.Is(), ast.Constant(pattern.value))

    def _MatchAs(self, pattern: ast.MatchAs, subject: ast.expr) -> None:
        if pattern.pattern is not None:
            self.add(pattern.pattern, subject)
        if pattern.name is not None:
            self.bindings[pattern.name] = subject

    def _MatchOr(self, pattern: ast.MatchOr, subject: ast.expr) -> None:
        tests = []
        for one in pattern.patterns:
            found = _Pattern()
            found.add(one, subject)
            if found.bindings:
                raise _Unknown
            tests.append(found.test() or ast.Constant(True))
        self.tests.append(ast.BoolOp(ast.Or(), tests))

    def _MatchSequence(self, pattern: ast.MatchSequence, subject: ast.expr) -> None:
        stars = [place for place, one in enumerate(pattern.patterns) if isinstance(one, ast.MatchStar)]
        count = len(pattern.patterns) - len(stars)
        self.tests.append(helper("is_sequence", pattern, subject, ast.Constant(count), ast.Constant(bool(stars))))
        for place, one in enumerate(pattern.patterns):
            if isinstance(one, ast.MatchStar):
                if one.name is not None:
                    end = place - count
                    whole = ast.Slice(ast.Constant(place), ast.Constant(end) if end else None)
                    part = ast.Subscript(subject, whole, ast.Load())
                    self.bindings[one.name] = ast.Call(ast.Name("list", ast.Load()), [part], [])
                continue
            position = place - len(pattern.patterns) if stars and place > stars[0] else place
            self.add(one, ast.Subscript(subject, ast.Constant(position), ast.Load()))

    def _MatchMapping(self, pattern: ast.MatchMapping, subject: ast.expr) -> None:
        self.tests.append(_call("isinstance", subject, ast.Name("dict", ast.Load())))
        for key, one in zip(pattern.keys, pattern.patterns):
            self._compare(key, ast.In(), subject)
            self.add(one, ast.Subscript(subject, key, ast.Load()))
        if pattern.rest is not None:
            self.bindings[pattern.rest] = _rest(subject, pattern.keys)

    def _MatchClass(self, pattern: ast.MatchClass, subject: ast.expr) -> None:
        self.tests.append(_call("isinstance", subject, pattern.cls))
        is_whole = isinstance(pattern.cls, ast.Name) and pattern.cls.id in _WHOLE
        for place, one in enumerate(pattern.patterns):
            names = ast.Attribute(pattern.cls, "__match_args__", ast.Load())
            name = ast.Subscript(names, ast.Constant(place), ast.Load())
            self.add(one, subject if is_whole else _call("getattr", subject, name))
        for name, one in zip(pattern.kwd_attrs, pattern.kwd_patterns):
            self.tests.append(_call("hasattr", subject, ast.Constant(name)))
            self.add(one, ast.Attribute(subject, name, ast.Load()))

    def test(self) -> ast.expr | None:
        """All tests as one, None where there are none."""
        return ast.BoolOp(ast.And(), self.tests) if len(self.tests) > 1 else self.tests[0] if self.tests else None


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _rest(subject: ast.expr, keys: list[ast.expr]) -> ast.expr:
    """A dict of the items under other keys."""
    key, value = "_matched_key", "_matched_value"
    targets = ast.Tuple([ast.Name(key, ast.Store()), ast.Name(value, ast.Store())], ast.Store())
    others = ast.Compare(ast.Name(key, ast.Load()), [ast.NotIn()], [ast.Tuple(keys, ast.Load())])
    items = ast.Call(ast.Attribute(subject, "items", ast.Load()), [], [])
    loop = ast.comprehension(targets, items, [others] if keys else [], 0)
    return ast.DictComp(ast.Name(key, ast.Load()), ast.Name(value, ast.Load()), [loop])


class _Bound(ast.NodeTransformer):
    """Puts what names are bound to in their places: a guard is asked before they are bound."""

    def __init__(self, bindings: dict[str, ast.expr]) -> None:
        self.bindings = bindings

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return located(copied(self.bindings[node.id]), node) if node.id in self.bindings else node

    def visit_Lambda(self, node: ast.AST) -> ast.AST:
        names = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)} | _names_stored_in(node)
        if names & set(self.bindings):
            raise _Unknown
        return self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_NamedExpr = visit_Lambda


def _names_stored_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def as_branches(statement: ast.Match) -> list[ast.stmt]:
    """The statement as an assignment and ``if`` statements; as it is where there are patterns that only Python knows.

    Python compares traced values with no pattern, so that then the subject must not hold any.
    """
    name = f"_matched_{statement.lineno}_{statement.col_offset}"
    alternatives = [one for case in statement.cases for one in _alternatives(case)]
    try:
        cases = [_case(case, tried, ast.Name(name, ast.Load())) for case, tried in alternatives]
    except _Unknown:
        statement.subject = helper("known_to_python", statement.subject, statement.subject)
        return [statement]
    behind: list[ast.stmt] = []
    for (case, _), (test, body) in zip(reversed(alternatives), reversed(cases)):
        behind = body if test is None else [located(ast.If(test, body, behind), case.pattern)]
    return [located(ast.Assign([ast.Name(name, ast.Store())], statement.subject), statement), *behind]


def _alternatives(case: ast.match_case) -> list[tuple[ast.match_case, list[ast.pattern]]]:
    """A case for each of several patterns that bind names, with those that must not match: Python asks a guard once."""
    patterns = _alternative_patterns(case.pattern)
    made = []
    for place, one in enumerate(patterns):
        guard, body = case.guard, case.body
        if place:
            guard, body = guard and copied(guard), [copied(statement) for statement in body]
        made.append((ast.match_case(one, guard, body), patterns[:place] if guard is not None else []))
    return made


def _alternative_patterns(pattern: ast.pattern) -> list[ast.pattern]:
    """Patterns without alternatives that bind names, in the order in which Python tries them."""
    if isinstance(pattern, ast.MatchOr) and bound_names([pattern]):
        return [one for part in pattern.patterns for one in _alternative_patterns(part)]
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        inner = _alternative_patterns(pattern.pattern)
        return [ast.copy_location(ast.MatchAs(one, pattern.name), pattern) for one in inner] if len(inner) > 1 else [pattern]
    parts = {name: getattr(pattern, name) for name in ("patterns", "kwd_patterns") if getattr(pattern, name, None)}
    if isinstance(pattern, ast.MatchOr) or not parts:
        return [pattern]
    every = [one for group in parts.values() for one in group]
    ways = list(itertools.islice(itertools.product(*map(_alternative_patterns, every)), _MOST_ALTERNATIVES + 1))
    if len(ways) == 1 or len(ways) > _MOST_ALTERNATIVES:
        return [pattern]
    made = []
    for way in ways:
        one, rest = copy.copy(pattern), list(way)
        for name, group in parts.items():
            setattr(one, name, rest[: len(group)])
            rest = rest[len(group) :]
        made.append(one)
    return made


def _case(case: ast.match_case, tried: list[ast.pattern], subject: ast.expr) -> tuple[ast.expr | None, list[ast.stmt]]:
    """The condition of a case, None where it always holds, and what is done there; other patterns have been tried in vain."""
    found = _Pattern()
    for pattern in tried:
        other = _Pattern()
        other.add(pattern, subject)
        found.tests.append(ast.UnaryOp(ast.Not(), other.test() or ast.Constant(True)))
    found.add(case.pattern, subject)
    if case.guard is not None:
        found.tests.append(_Bound(found.bindings).visit(copied(case.guard)))
    test = found.test()
    targets = [ast.Assign([ast.Name(name, ast.Store())], copied(value)) for name, value in found.bindings.items()]
    bound = [located(target, case.pattern) for target in targets]
    return None if test is None else located(copied(test), case.pattern), [*bound, *case.body]

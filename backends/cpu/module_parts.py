'''A module's assembly as that of several modules, which threads compile at the same time, and a program loads together.

>>> text = """
... @"table" = internal constant i32 3
... @"slot" = global ptr null
... declare i32 @"half"(i32 %".1")
... define internal i32 @"f"(i32 %".1") nounwind
... {
... entry:
...   ret i32 %".1"
... }
... define i32 @"g"(i32 %".1")
... {
... entry:
...   %".3" = call i32 @"f"(i32 %".1")
...   ret i32 %".3"
... }
... """
>>> first, second = divided(text, 2)
>>> [line for line in first.splitlines() if "@" in line]  # doctest: +NORMALIZE_WHITESPACE
['@"table" = internal constant i32 3', '@"slot" = global ptr null', 'declare i32 @"half"(i32 %".1")',
 'declare i32 @"f"(i32 %".1")', 'define i32 @"g"(i32 %".1")', '  %".3" = call i32 @"f"(i32 %".1")']
>>> [line for line in second.splitlines() if "@" in line]  # doctest: +NORMALIZE_WHITESPACE
['@"table" = internal constant i32 3', '@"slot" = external global ptr', 'declare i32 @"half"(i32 %".1")',
 'define i32 @"f"(i32 %".1") nounwind']
'''

from __future__ import annotations

import re

from ...runtime.thread_count import thread_limit

_Function = tuple[str, str, str]

# As llvmlite prints it.
_DEFINITION = re.compile(r'^define (?:internal )?(?P<head>[^@\n]*@"(?P<name>[^"]+)"\(.*?\))', re.MULTILINE)
_END = "\n}\n"
_VARIABLE = re.compile(r'^(@"[^"]+") = global ptr null$', re.MULTILINE)
_REFERENCE = re.compile(r'@"([^"]+)"')
# Lines for which LLVM takes ten times as long as a thread, a context and an object file do.
_LEAST_LINES = 500


# Those of functions that rarely run, which are so many that a module of their own saves more than it costs.
_LEAST_RARE_LINES = 100


def module_parts(llvm_ir: str) -> list[str]:
    """The module as no more modules than compiled code uses threads, none of them short."""
    return parts_by_level(llvm_ir, frozenset())[0]


def parts_by_level(llvm_ir: str, rare: frozenset[str]) -> tuple[list[str], list[str]]:
    """As module_parts, and a module of functions that rarely run, where there are enough of those."""
    if llvm_ir.count("\n") < _LEAST_RARE_LINES:
        return [llvm_ir], []
    head, functions = _parsed(llvm_ir)
    rare_lines = sum([text.count("\n") for name, _, text in functions if name in rare])
    if rare_lines < _LEAST_RARE_LINES:
        rare, rare_lines = frozenset(), 0
    count = min(thread_limit().value, (llvm_ir.count("\n") - rare_lines) // _LEAST_LINES)
    if count < 2 and not rare:
        return [llvm_ir], []
    apart = [number for number, (name, _, _) in enumerate(functions) if name in rare]
    parts = _modules(head, functions, [*_balanced(functions, max(1, count), frozenset(apart)), apart])
    return (parts[:-1], parts[-1:]) if apart else (parts, [])


def divided(llvm_ir: str, count: int) -> list[str]:
    """As many modules, of about one length. Each has all constants; the first one has the variables."""
    head, functions = _parsed(llvm_ir)
    return _modules(head, functions, _balanced(functions, count, frozenset()))


def _parsed(llvm_ir: str) -> tuple[str, list[_Function]]:
    """What is not in functions, and these: a name, a declaration, a definition."""
    functions, others, behind = [], [], 0
    for found in _DEFINITION.finditer(llvm_ir):
        end = llvm_ir.index(_END, found.end()) + len(_END)
        others.append(llvm_ir[behind : found.start()])
        functions.append((found["name"], f"declare {found['head']}\n", f"define {found['head']}{llvm_ir[found.end() : end]}"))
        behind = end
    return "".join([*others, llvm_ir[behind:]]), functions


def _balanced(functions: list[_Function], count: int, without: frozenset[int]) -> list[list[int]]:
    parts: list[list[int]] = [[] for _ in range(count)]
    lengths = [0] * count
    within = [number for number in range(len(functions)) if number not in without]
    for number in sorted(within, key=lambda number: -len(functions[number][2])):
        part = lengths.index(min(lengths))
        parts[part].append(number)
        lengths[part] += len(functions[number][2])
    return parts


def _modules(head: str, functions: list[_Function], parts: list[list[int]]) -> list[str]:
    head_of_others = _VARIABLE.sub(r"\1 = external global ptr", head)
    defined = [set(part) for part in parts if part]
    return [_module(head_of_others if number else head, functions, part) for number, part in enumerate(defined)]


def _module(head: str, functions: list[_Function], defined: set[int]) -> str:
    definitions = [functions[number][2] for number in sorted(defined)]
    used = set(_REFERENCE.findall("".join(definitions)))
    declarations = [
        declaration for number, (name, declaration, _) in enumerate(functions) if name in used and number not in defined
    ]
    return "\n".join([head, *declarations, *definitions])

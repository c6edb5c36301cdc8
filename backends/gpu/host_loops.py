"""Loops of short rounds that call functions of the host, on a device that is the processor: the host runs all of such a loop.

Before::

    r = (s64[], f64[2,2], f64[9]) while(s), condition=c, body=b    # b solves a system of two equations

After, where ``f`` holds the loop, and hands on what that changes::

    m = (s64[], f64[2,2]) call(i, a, x), to_apply=f
    r = (s64[], f64[2,2], f64[9]) tuple(m0, m1, x)

Between two calls of the host a launch takes some microseconds, for what one thread computes in nanoseconds.
"""

from __future__ import annotations

from ...compile.aliasing import invariant_leaves
from ...compile.pass_manager import Pass
from ...compile.traversal import on_operands, transformed_callees, tuple_elements, with_entry
from ...hlo import TOKEN, Computation, Instruction, Module, make_instruction, rebuild
from ...hlo.instruction import callees_first, post_order
from ...hlo.operation import HOST_CALL
from ..cpu.work_estimate import copying, nanoseconds
from .custom_kernels import is_custom_kernel
from .support import is_native_on_processors

# What one thread does in this time it does before others would have woken.
_MOST_NANOSECONDS = 60_000


def _run(module: Module) -> Module:
    """Such loops, the outermost ones, are calls, which become steps of the plan."""
    return with_entry(module, _transformed(module.entry))


HOST_LOOPS = Pass("host-loops", _run)


def _transformed(computation: Computation) -> Computation:
    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode == "while" and _is_for_the_host(instruction):
            return _as_call(instruction, operands[0])
        return on_operands(instruction, operands, transformed_callees(instruction, _transformed))

    return rebuild(computation, transform)


def _is_for_the_host(loop: Instruction) -> bool:
    """Whether rounds call functions of the host, or Python, and nothing of them is for other threads."""
    if not loop.shape.is_tuple or any(shape.is_tuple or shape.element_type is TOKEN for shape in loop.shape.elements):
        return False
    inside = [one for part in loop.called_computations for each in callees_first(part) for one in each.instructions]
    calls = [one for one in inside if one.has_trait(HOST_CALL)]
    if any(one.opcode != "custom-call" or is_custom_kernel(one) for one in calls) or all(map(is_native_on_processors, calls)):
        return False
    changed = [shape for leaf, shape in enumerate(loop.shape.elements) if leaf not in invariant_leaves(loop)]
    return sum(map(nanoseconds, loop.called_computations)) + sum(map(copying, changed)) < _MOST_NANOSECONDS


def _as_call(loop: Instruction, state: Instruction) -> Instruction:
    """A call of a function with the loop in it, and a tuple of what it changes and of what it hands on.

    What the loop begins with that is known stands in the function, so that its rounds can be counted there.
    """
    given = tuple_elements(state, loop.source)
    kept, parameters, known = invariant_leaves(loop), {}, {}
    for one in given:
        if _is_known(one):
            known[one] = _copied(one)
        elif one not in parameters:
            parameters[one] = make_instruction("parameter", (), {"number": len(parameters)}, one.shape)
    begin = make_instruction("tuple", [(known | parameters)[one] for one in given], source=loop.source)
    inside = loop.with_operands([begin])
    changed = {leaf: number for number, leaf in enumerate(leaf for leaf in range(len(given)) if leaf not in kept)}
    found = tuple_elements(inside, loop.source)
    root = make_instruction("tuple", [found[leaf] for leaf in changed], source=loop.source)
    function = Computation(f"{loop.name}_on_host", tuple(dict.fromkeys([*parameters.values(), *post_order(root)])), root)
    call = make_instruction("call", parameters, {"to_apply": function}, source=loop.source)
    results = tuple_elements(call, loop.source)
    each = [one if leaf in kept else results[changed[leaf]] for leaf, one in enumerate(given)]
    return make_instruction("tuple", each, source=loop.source)


def _is_known(value: Instruction) -> bool:
    return value.opcode == "constant" or value.opcode == "broadcast" and _is_known(value.operands[0])


def _copied(value: Instruction) -> Instruction:
    return value.with_operands(map(_copied, value.operands))

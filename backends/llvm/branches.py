"""Branches in LLVM IR, and the values that come out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from .types import I1, I32, RegisterValue, flatten, unflatten

Alternative = Callable[[], Sequence[RegisterValue]]

# Weights of branches: how often they are taken, and how often not.
UNLIKELY, RARE = (1, 99), (1, 100_000)


def chosen(
    builder: ir.IRBuilder, selector: ir.Value, alternatives: Sequence[Alternative], name: str = "branch"
) -> list[RegisterValue]:
    """The values of one alternative; only that one runs.

    An i1 selects the first of two where it holds; an i32 the alternative of that number, and the last where it is out of range.
    """
    blocks = [builder.append_basic_block(name) for _ in alternatives]
    done = builder.append_basic_block(f"{name}.done")
    if selector.type == I1:
        builder.cbranch(selector, *blocks)
    else:
        switch = builder.switch(selector, blocks[-1])
        for number, block in enumerate(blocks[:-1]):
            switch.add_case(I32(number), block)
    outcomes = []
    for emit, block in zip(alternatives, blocks):
        builder.position_at_end(block)
        outcomes.append((emit(), builder.block))
        builder.branch(done)
    builder.position_at_end(done)
    return _merged(builder, outcomes)


def replaced_if(
    builder: ir.IRBuilder,
    condition: ir.Value,
    values: Sequence[RegisterValue],
    emit: Alternative,
    weights: tuple[int, int] | None = None,
) -> list[RegisterValue]:
    """The values, or those that ``emit()`` computes where the condition holds; the builder ends in a new block."""
    before = builder.block
    with builder.if_then(condition):
        if weights is not None:
            before.terminator.set_weights(weights)
        others = emit()
        after = builder.block
    return _merged(builder, [(values, before), (others, after)])


def _merged(builder: ir.IRBuilder, outcomes: Sequence[tuple[Sequence[RegisterValue], ir.Block]]) -> list[RegisterValue]:
    like = outcomes[0][0]
    phis = [builder.phi(register.type) for register in flatten(like)]
    for values, block in outcomes:
        for phi, register in zip(phis, flatten(values), strict=True):
            phi.add_incoming(register, block)
    return unflatten(phis, like)

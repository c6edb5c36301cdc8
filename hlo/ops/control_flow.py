"""While, conditional, call and map: operations that run other computations.

Source of the semantics: the sections of the same names in XLA's Operation Semantics.
"""

from __future__ import annotations

import numpy as np

from ..attributes import CalledComputation, CalledComputations, Choice, IntegerList
from ..builder import Builder, scalar_computation
from ..element_type import F32, PRED, S32
from ..errors import require
from ..operation import ACTUAL_SIZES, APPLIES, BOUNDS, CONTROL_FLOW, FUNCTION_CALL, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape
from .constraints import PRED_SCALAR, require_array, require_scalar, require_signature, with_dynamic_dimensions_of


@operation(
    "while", "init", builder="While", traits={CONTROL_FLOW}, dynamic=BOUNDS,
    condition=CalledComputation(), body=CalledComputation()
)  # fmt: skip
def while_(init, *, condition, body):
    """While(condition, body, init): runs the body on its own result for as long as the condition holds of it.

    The condition takes a value of the shape of init and returns pred[]; the body takes such a value and returns one. The
    condition is asked before every run of the body: where it does not hold of init, init is the result. The state is usually a
    tuple; its shape is the same in all iterations. Loops may be nested.
    """
    require_signature("while", "condition", condition, (init,), PRED_SCALAR)
    require_signature("while", "body", body, (init,), init)
    return init


@while_.evaluation
def _(state, *, condition, body, run):
    while run(condition, state):
        state = run(body, state)
    return state


@while_.sampling
def _():
    state = TupleShape((Shape(S32), Shape(F32, (10,))))
    b = Builder("below_1000")
    count = b.emit("get-tuple-element", b.parameter(state, "state"), index=0)
    condition = b.build(b.emit("compare", count, b.constant(np.int32(1000)), direction="LT"))
    b = Builder("add_constant")
    parameter = b.parameter(state, "state")
    count = b.emit("add", b.emit("get-tuple-element", parameter, index=0), b.constant(np.int32(1)))
    vector = b.emit("add", b.emit("get-tuple-element", parameter, index=1), b.constant(np.full(10, 0.5, np.float32)))
    body = b.build(b.emit("tuple", count, vector))
    b = Builder("unused")
    init = b.emit("tuple", b.constant(np.int32(0)), b.constant(np.zeros(10, np.float32)))
    expected = (np.int32(1000), np.full(10, 500, np.float32))
    yield Sample([(init_value(init))], {"condition": condition, "body": body}, expected=expected)
    wrong = scalar_computation("add", F32)
    yield InvalidSample([state], {"condition": wrong, "body": body}, "condition must take")
    yield InvalidSample([state], {"condition": condition, "body": condition}, "body must return")
    yield InvalidSample([state], {"condition": body, "body": body}, "condition must return")


def init_value(instruction):
    """The value of a tuple of constants."""
    return tuple(operand.attributes["literal"] for operand in instruction.operands)


@operation(
    "conditional", "predicate", "*operands", builder="Conditional", traits={CONTROL_FLOW}, dynamic=BOUNDS,
    true_computation=CalledComputation(None), false_computation=CalledComputation(None),
    branch_computations=CalledComputations(()),
)  # fmt: skip
def conditional(predicate, *operands, true_computation, false_computation, branch_computations):
    """Conditional(pred or branch_index, operands, computations): runs one of the computations, on its own operand.

    With pred[] the true computation runs on the first operand or the false one on the second. With an s32[] branch index i it
    is ``branch_computations[i]`` on operand i; an index out of range, a negative one too, runs the last branch. Each
    computation takes its operand's shape, and all return the same one. The effects of the others do not take place.
    """
    branches = _branches(true_computation, false_computation, branch_computations)
    require(len(branches) > 0, "conditional: true_computation and false_computation, or branch_computations, are required")
    require_scalar("conditional", "predicate", predicate)
    if predicate.element_type is PRED:
        require(len(branches) == 2, f"conditional: a pred[] needs two computations, got {len(branches)}")
    else:
        require(predicate.element_type is S32, f"conditional: the predicate must be pred[] or s32[], got {predicate}")
        require(true_computation is None, "conditional: true_computation needs a pred[], got s32[]")
    require(len(operands) == len(branches), f"conditional: {len(branches)} branches need as many operands, got {len(operands)}")
    for number, (branch, operand) in enumerate(zip(branches, operands)):
        require_signature("conditional", f"branch {number}", branch, (operand,), branches[0].shape)
    return branches[0].shape.without_layout()


def _branches(true_computation, false_computation, branch_computations):
    if branch_computations:
        require(true_computation is None and false_computation is None, "conditional: two ways to name the computations given")
        return branch_computations
    if true_computation is None or false_computation is None:
        return ()
    return true_computation, false_computation


@conditional.evaluation
def _(predicate, *operands, true_computation, false_computation, branch_computations, run):
    branches = _branches(true_computation, false_computation, branch_computations)
    index = int(predicate)
    if np.asarray(predicate).dtype == np.bool_:
        index = 1 - index
    elif not 0 <= index < len(branches):
        index = len(branches) - 1
    return run(branches[index], operands[index])


@conditional.sampling
def _():
    def unary(opcode):
        b = Builder(opcode)
        return b.build(b.emit(opcode, b.parameter(Shape(F32, (3,)), "x")))

    x = np.array([1, -2, 3], np.float32)
    two = {"true_computation": unary("negate"), "false_computation": unary("abs")}
    yield Sample([np.True_, x, x], two, expected=-x)
    yield Sample([np.False_, x, x], two, expected=np.abs(x))
    three = {"branch_computations": (unary("negate"), unary("abs"), unary("sign"))}
    for index, expected in ((0, -x), (1, np.abs(x)), (2, np.sign(x)), (3, np.sign(x)), (-1, np.sign(x))):
        yield Sample([np.int32(index), x, x, x], three, expected=expected)
    array = Shape(F32, (3,))
    yield InvalidSample([PRED_SCALAR, array, array], three, "pred.. needs two computations")
    yield InvalidSample([Shape(S32), array, array], two, "true_computation needs a pred")
    yield InvalidSample([Shape(S32), array, array], three, "need as many operands")
    yield InvalidSample([PRED_SCALAR, array, Shape(F32)], two, "branch 1 must take")
    yield InvalidSample([PRED_SCALAR, array, array], {}, "are required")


@operation(
    "call", "*arguments", builder="Call", aliases=("CompositeCall",), traits={FUNCTION_CALL}, dynamic=BOUNDS,
    to_apply=CalledComputation(), is_composite=Choice("true", "false", default="false"),
)  # fmt: skip
def call(*arguments, to_apply, is_composite):
    """Call(computation, args...): the computation's result on these arguments.

    The computation has a parameter of each argument's shape. With ``is_composite`` (CompositeCall) the computation spells out
    an operation that has a name of its own elsewhere; here it runs as any other does.
    """
    require_signature("call", "to_apply", to_apply, arguments, None)
    return to_apply.shape.without_layout()


@call.evaluation
def _(*arguments, to_apply, is_composite, run):
    return run(to_apply, *arguments)


@call.sampling
def _():
    add = scalar_computation("add", F32)
    yield Sample([np.float32(2), np.float32(3)], {"to_apply": add}, expected=np.float32(5))
    yield InvalidSample([Shape(F32)], {"to_apply": add}, "to_apply must take")
    yield InvalidSample([Shape(F32), Shape(S32)], {"to_apply": add}, "to_apply must take")


@operation(
    "fusion", "*arguments", builder="Fusion", traits={FUNCTION_CALL}, dynamic=BOUNDS,
    kind=Choice("kLoop", "kInput", "kOutput", "kCustom", default="kLoop", always_printed=True), calls=CalledComputation(),
)  # fmt: skip
def fusion(*arguments, kind, calls):
    """Fusion(kind, computation, args...): a call whose computation is emitted as one loop nest.

    The optimizer makes it; what it computes is the computation's result on the arguments, whatever the kind, which says what
    gives the loops their form: kLoop the elements of the root, kInput a reduction, kOutput an operation whose result is worked
    on further, kCustom something else. Source: ``HloInstruction::FusionKind`` of XLA.
    """
    require_signature("fusion", "calls", calls, arguments, None)
    return calls.shape.without_layout()


@fusion.evaluation
def _(*arguments, kind, calls, run):
    return run(calls, *arguments)


@fusion.sampling
def _():
    b = Builder("fused")
    x, y = b.parameter(Shape(F32, (3, 20)), "x"), b.parameter(Shape(F32, (3, 20)), "y")
    fused = b.build(b.emit("add", b.emit("negate", x), y))
    yield Sample([Shape(F32, (3, 20)), Shape(F32, (3, 20))], {"kind": "kLoop", "calls": fused})
    yield InvalidSample([Shape(F32, (3,)), Shape(F32, (3,))], {"kind": "kLoop", "calls": fused}, "calls must take")


@operation(
    "map", "*operands", builder="Map", traits={APPLIES}, dynamic=ACTUAL_SIZES,
    dimensions=IntegerList(()), to_apply=CalledComputation()
)  # fmt: skip
def map_(*operands, dimensions, to_apply):
    """Map(operands..., computation): the scalar computation on corresponding elements of all operands.

    The operands have the same dimensions, which are the result's too. The computation takes one scalar of each operand's
    element type and returns one scalar, of the result's. ``dimensions``, where it is given, names all dimensions in order.
    """
    require(len(operands) > 0, "map: at least one operand is required")
    for number, operand in enumerate(operands):
        require_array("map", f"operand {number}", operand)
        same = operand.dimensions == operands[0].dimensions
        require(same, f"map: all operands must have the same dimensions, got {operands[0]} and {operand} as operand {number}")
    every = tuple(range(operands[0].rank))
    require(dimensions in ((), every), f"map: dimensions must name all of {every}, in order, got {dimensions}")
    require_signature("map", "to_apply", to_apply, tuple(Shape(operand.element_type) for operand in operands), None)
    require(
        not to_apply.shape.is_tuple and to_apply.shape.rank == 0, f"map: to_apply must return a scalar, got {to_apply.shape}"
    )
    shape = with_dynamic_dimensions_of(operands[0].without_layout(), operands)
    return shape.with_element_type(to_apply.shape.element_type)


@map_.evaluation
def _(*operands, dimensions, to_apply, run):
    shape = np.shape(operands[0])
    (result,) = run.elementwise(to_apply, *(np.ravel(operand) for operand in operands))
    return np.reshape(result, shape)


@map_.sampling
def _():
    multiply = scalar_computation("multiply", F32)
    operands, products = np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array([4, 10, 18], np.float32)
    yield Sample(list(operands), {"to_apply": multiply}, expected=products)
    yield Sample([Shape(F32, (3, 20)), Shape(F32, (3, 20))], {"dimensions": (0, 1), "to_apply": multiply})
    yield Sample([Shape(F32), Shape(F32)], {"to_apply": multiply})
    yield InvalidSample([Shape(F32, (3,))], {"to_apply": multiply}, "to_apply must take")
    yield InvalidSample([TupleShape(()), TupleShape(())], {"to_apply": multiply}, "operand 0 must be an array")
    yield InvalidSample([Shape(F32, (3,)), Shape(F32, (2,))], {"to_apply": multiply}, "must have the same dimensions")

"""Scan: a computation on the slices of arrays, one after the other, that hands values on from each to the next.

Source of the semantics: ``HloScanInstruction`` of XLA and its expansion, ``xla/service/scan_expander.cc``.
"""

from __future__ import annotations

import numpy as np

from ..attributes import Boolean, CalledComputation, Choice, Integer, IntegerList
from ..builder import Builder, scalar_computation
from ..element_type import F32, S32
from ..errors import require
from ..operation import InvalidSample, Sample, operation
from ..shape import AnyShape, Shape, TupleShape, leaves
from .constraints import one_or_tuple, require_array, require_dimensions, require_signature


@operation(
    "scan", "*operands", builder="Scan",
    dimensions=IntegerList(), num_carries=Integer(), is_reverse=Boolean(False),
    is_associative=Choice("", "true", "false", default=""), to_apply=CalledComputation(),
)  # fmt: skip
def scan(*operands, dimensions, num_carries, is_reverse, is_associative, to_apply, stated):
    """Scan(inputs, inits, computation, dimension, is_reverse, is_associative): the computation for each slice in turn.

    The operands are inputs and then num_carries initial values. The computation takes a slice of each input, without the
    scanned dimension, and the carries; it returns the elements of outputs and the next carries. The result is the outputs,
    with their elements stacked along the scanned dimension, and the last carries; of a single one, that one itself. With
    is_reverse the last slice is the first to be taken. is_associative says that the order of the computations does not matter;
    here they run in turn all the same. Without inputs the stated result shape tells the number of steps.
    """
    require(len(dimensions) == 1, f"scan: dimensions must name one dimension, got {dimensions}")
    (along,) = dimensions
    require(along >= 0, f"scan: the dimension must not be negative, got {along}")
    count = len(operands)
    require(0 <= num_carries <= count, f"scan: num_carries must be in [0, {count}], got {num_carries}")
    inputs, inits = operands[: count - num_carries], operands[count - num_carries :]
    for number, shape in enumerate(inputs):
        require_array("scan", f"operand {number}", shape)
        require_dimensions("scan", f"dimensions of operand {number}", dimensions, shape.rank)
        same = shape.dimensions[along] == inputs[0].dimensions[along]
        require(same, f"scan: operands 0 and {number} must have the same size of dimension {along}: {inputs[0]}, {shape}")
    require_signature("scan", "to_apply", to_apply, (*(_slice(shape, along) for shape in inputs), *inits), None)
    results = _parts(to_apply.shape)
    enough = len(results) >= num_carries
    require(enough, f"scan: to_apply must return {num_carries} carries at least, but {to_apply.name} returns {to_apply.shape}")
    elements = results[: len(results) - num_carries]
    for number, (before, after) in enumerate(zip(inits, results[len(elements) :])):
        same = before.without_layout() == after.without_layout()
        require(same, f"scan: to_apply must return carry {number} as {before}, but {to_apply.name} returns {after}")
    steps = inputs[0].dimensions[along] if inputs else _stated_steps(stated, along, len(elements))
    outputs = []
    for number, element in enumerate(elements):
        require_array("scan", f"output {number} of to_apply", element)
        fits = along <= element.rank
        require(fits, f"scan: output {number} of to_apply, {element}, cannot be stacked along dimension {along}")
        outputs.append(element.with_dimensions((*element.dimensions[:along], steps, *element.dimensions[along:])))
    return one_or_tuple([*outputs, *inits]).without_layout()


@scan.counting
def _(operands, shape, attributes):
    inputs = len(operands) - attributes["num_carries"]
    return (operands if inputs else _parts(shape))[0].dimensions[attributes["dimensions"][0]]


def _parts(shape: AnyShape) -> tuple[AnyShape, ...]:
    return shape.elements if shape.is_tuple else (shape,)


def _slice(shape: Shape, along: int) -> Shape:
    return Shape(shape.element_type, (*shape.dimensions[:along], *shape.dimensions[along + 1 :]))


def _stated_steps(stated: AnyShape | None, along: int, outputs: int) -> int:
    """The number of steps of a scan without inputs."""
    first = None if stated is None or not outputs else _parts(stated)[0]
    known = first is not None and not first.is_tuple and along < first.rank
    require(known, "scan: without inputs, a result shape with an output is required, which tells the number of steps")
    return first.dimensions[along]


@scan.counting
def _(operands, shape, attributes):
    """How often the computation runs: once for each slice."""
    (along,) = attributes["dimensions"]
    has_inputs = len(operands) > attributes["num_carries"]
    return (operands if has_inputs else leaves(shape))[0].dimensions[along]


@scan.evaluation
def _(*operands, dimensions, num_carries, is_reverse, is_associative, to_apply, shape, run):
    (along,), count = dimensions, len(operands)
    inputs, carries = operands[: count - num_carries], operands[count - num_carries :]
    shapes = _parts(shape)
    outputs = [np.empty(s.dimensions, s.dtype) for s in shapes[: len(shapes) - num_carries]]
    steps = inputs[0].shape[along] if inputs else outputs[0].shape[along]
    for step in reversed(range(steps)) if is_reverse else range(steps):
        at = (*(slice(None),) * along, step)
        results = run(to_apply, *(x[at] for x in inputs), *carries)
        results = results if isinstance(results, tuple) else (results,)
        for output, element in zip(outputs, results):
            output[at] = element
        carries = results[len(outputs) :]
    result = (*outputs, *carries)
    return result if shape.is_tuple else result[0]


@scan.sampling
def _():
    def running(opcode: str, carry: Shape):
        """(x, carry) -> both the output and the carry."""
        b = Builder(f"running_{opcode}")
        total = b.emit(opcode, b.parameter(carry, "x"), b.parameter(carry, "carry"))
        return b.build(b.emit("tuple", total, total))

    def sample(x, init, opcode="add", along=0, expected=None, **attributes):
        last = {"dimensions": (along,), "num_carries": 1, "to_apply": running(opcode, Shape(F32, init.shape)), **attributes}
        return Sample([x, init], last, expected=expected)

    vector, zero = np.array([1, 2, 3, 4], np.float32), np.float32(0)
    yield sample(vector, zero, expected=(np.array([1, 3, 6, 10], np.float32), np.float32(10)))
    expected = (np.array([10, 9, 7, 4], np.float32), np.float32(10))
    yield sample(vector, zero, is_reverse=True, is_associative="true", expected=expected)
    matrix = np.array([[1, 5, 2], [4, 3, 6]], np.float32)
    expected = (np.array([[1, 5, 5], [4, 4, 6]], np.float32), np.array([5, 6], np.float32))
    yield sample(matrix, np.zeros(2, np.float32), "maximum", 1, expected, is_associative="false")
    yield sample(vector[:0], np.float32(7), expected=(vector[:0], np.float32(7)))
    b = Builder("counted")  # no inputs: 0, 1, 4, 9, ...
    count = b.parameter(Shape(S32), "count")
    counted = b.build(b.emit("tuple", b.emit("multiply", count, count), b.emit("add", count, b.constant(np.int32(1)))))
    shape = TupleShape((Shape(S32, (5,)), Shape(S32)))
    squares = (np.arange(5, dtype=np.int32) ** 2, np.int32(5))
    without_inputs = {"dimensions": (0,), "num_carries": 1, "to_apply": counted}
    yield Sample([np.int32(0)], without_inputs, shape, expected=squares)
    b = Builder("negated")  # no carries: a map along the dimension, one output alone
    negated = b.build(b.emit("negate", b.parameter(Shape(F32, (2,)), "x")))
    yield Sample([matrix], {"dimensions": (1,), "num_carries": 0, "to_apply": negated}, expected=-matrix)
    add = scalar_computation("add", F32)  # no outputs: a reduction
    yield Sample([vector, zero], {"dimensions": (0,), "num_carries": 1, "to_apply": add}, expected=np.float32(10))
    x, scalar, one = Shape(F32, (4,)), Shape(F32), {"dimensions": (0,), "num_carries": 1, "to_apply": add}
    yield InvalidSample([x, scalar], one | {"dimensions": (0, 1)}, "must name one dimension")
    yield InvalidSample([x, scalar], one | {"dimensions": (-1,)}, "must not be negative")
    yield InvalidSample([x, scalar], one | {"dimensions": (1,)}, r"must be in \[0, 1\)")
    yield InvalidSample([x, scalar], one | {"num_carries": 3}, r"num_carries must be in \[0, 2\]")
    yield InvalidSample([x, Shape(F32, (5,))], one | {"num_carries": 0}, "the same size of dimension 0")
    yield InvalidSample([TupleShape(()), scalar], one, "operand 0 must be an array")
    yield InvalidSample([x, Shape(S32)], one, "to_apply must take")
    yield InvalidSample([scalar, scalar], one | {"num_carries": 2}, "must return 2 carries at least")
    yield InvalidSample([Shape(S32)], without_inputs, "without inputs, a result shape")
    yield InvalidSample([Shape(S32)], without_inputs | {"dimensions": (1,)}, "cannot be stacked along dimension 1",
                        shape=TupleShape((Shape(S32, (5, 5)), Shape(S32))))  # fmt: skip
    b = Builder("wrong_carry")
    b.parameter(Shape(F32), "x")
    wrong = b.build(b.emit("tuple", b.parameter(Shape(F32), "carry"), b.constant(np.int32(1))))
    yield InvalidSample([x, scalar], one | {"to_apply": wrong}, "must return carry 0 as f32")
    b = Builder("tuple_output")
    b.parameter(Shape(F32), "x")
    carry = b.parameter(Shape(F32), "carry")
    nested = b.build(b.emit("tuple", b.emit("tuple", carry), carry))
    yield InvalidSample([x, scalar], one | {"to_apply": nested}, "output 0 of to_apply must be an array")

"""The record that says everything about one operation, and the decorators that write it.

A record is a decorated shape function::

    @operation("reverse", "operand", builder="Rev", traits={DATA_MOVEMENT}, cost=1.0, dimensions=IntegerList())
    def reverse(operand, *, dimensions):
        \"\"\"Reverses the order of the elements along dimensions.\"\"\"
        require(...)                       # every constraint, each with its own message
        return operand.without_layout()

    @reverse.evaluation
    def _(operand, *, dimensions):         # the semantics, in NumPy
        return np.flip(operand, dimensions)

    @reverse.sampling
    def _():
        return [Sample([Shape(F32, (2, 3))], dimensions=(0,)), ...]

The builder, the parser and the verifier all call the shape function; the reference backend, constant folding and the tests
call the evaluation, and passes ask for the facts. What one layer says of operations, as emitters, expansions and padding rules
do, stands in a table of that layer, keyed by opcode.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .attributes import AttributeKind, CalledComputation
from .element_type import ElementType
from .errors import ShapeError
from .shape import AnyShape, Shape, has_dynamic_dimensions, leaves

# Traits. ELEMENTWISE: element i of the result depends on element i of each operand only, all of one shape.
# TRANSCENDENTAL: elementwise, and not a matter of a few additions and multiplications.
# SELECTING: elementwise, and every element of the result is one of an operand, unchanged.
# DATA_MOVEMENT: every element of the result is an element of an operand, found by index arithmetic alone.
# GIVEN: the value is there before the computation runs, in memory that is not the computation's own.
# FOLDABLE: its value may be computed while compiling, as that of all that are elementwise or move data.
# TUPLING: makes a tuple of values, or takes one out. RENAMES: the result is the first operand, in the same memory.
# CALLS: runs computations given as attributes, which is added to the traits of all that do. CONTROL_FLOW: they work on arrays,
# and the operation decides how often they run. FUNCTION_CALL: the result is that of the one computation, on the operands.
# APPLIES: they work on scalars, and run for each element.
# EFFECTFUL: must run exactly as often as written, in order.
# HOST_CALL: depends on what is outside of the program (``run.environment``); compiled code calls the evaluation back.
# COLLECTIVE: devices wait for each other there, and exchange values.
ELEMENTWISE = "elementwise"
TRANSCENDENTAL = "transcendental"
COMMUTATIVE = "commutative"
ASSOCIATIVE = "associative"
SELECTING = "selecting"
DATA_MOVEMENT = "data movement"
FOLDABLE = "foldable"
GIVEN = "given"
TUPLING = "tupling"
RENAMES = "renames"
CALLS = "calls"
CONTROL_FLOW = "control flow"
FUNCTION_CALL = "function call"
APPLIES = "applies"
EFFECTFUL = "effectful"
HOST_CALL = "host call"
COLLECTIVE = "collective"

# What an operation does with dynamic dimensions (``f32[<=10]``). REFUSED: it takes none. KEPT: its shapes may have them, though
# no backend runs it so. ACTUAL_SIZES: it is evaluated as the same operation on static shapes, those that its operands have.
# BOUNDS: its evaluation gets the shapes as they are written, or needs none. The shape functions of all but the first say which
# dimensions of the result are dynamic, as ``shape_inference.cc`` of XLA does.
REFUSED = "refused"
KEPT = "kept"
ACTUAL_SIZES = "actual sizes"
BOUNDS = "bounds"


@dataclass(frozen=True)
class Sample:
    """One valid use of an operation, from which tests are generated.

    ``operands`` holds shapes (tests fill them with varied values) or arrays (used as they are). ``shape`` is the stated
    result shape, for operations whose result shape is not inferred. ``expected`` is an array from the semantics'
    document or a closed form, where there is one.
    """

    operands: list[AnyShape | np.ndarray]
    attributes: dict[str, Any] = field(default_factory=dict)
    shape: AnyShape | None = None
    expected: Any = None


@dataclass(frozen=True)
class InvalidSample:
    """One use that breaks a constraint; ``match`` is a regular expression for the message."""

    operands: list[AnyShape]
    attributes: dict[str, Any]
    match: str
    shape: AnyShape | None = None


Work = Callable[[tuple[AnyShape, ...], AnyShape, dict[str, Any]], int]
Identity = Callable[[ElementType], bool | int | float | complex | None]


def no_identity(element_type: ElementType) -> None:
    """The identity of operations that have none."""


Places = list[tuple[int, int]]  # (operand, dimension)
Agreement = Callable[[list[Shape], dict[str, Any]], list[Places]]
# Operands, attributes, and the result's shape or None.
Resized = tuple[tuple[Any, ...], dict[str, Any], "AnyShape | None"]


def no_agreement(shapes: list[Shape], attributes: dict[str, Any]) -> list[Places]:
    """The agreement of operations whose operands need not agree."""
    return []


def all_agree(shapes: list[Shape], attributes: dict[str, Any]) -> list[Places]:
    """The agreement of operations on arrays of one shape, as elementwise ones are."""
    return agreeing(shapes, range(len(shapes)))


def agreeing(shapes: list[Shape], numbers: Sequence[int]) -> list[Places]:
    """All dimensions of these operands, without scalars that stand beside arrays."""
    rank = max(shapes[number].rank for number in numbers)
    return [[(number, dimension) for number in numbers if shapes[number].rank == rank] for dimension in range(rank)]


@dataclass(eq=False)
class Operation:
    """Everything that the language says about one opcode.

    ``opcode`` is the spelling in HLO text, ``builder`` the method name in XLA's ``XlaBuilder``; ``aliases`` are methods that
    build it, too, from other arguments. ``operand_names`` names the operands; a last name that starts with ``*`` takes any
    number. ``attributes`` maps names, in printing order, to their kinds.

    ``dynamic`` is what it does with dynamic dimensions. ``cost`` is about how many cheap vector instructions one element of the
    result takes, its operands' elements given; None for operations that need loops of their own. ``updated_operand`` is the
    number of the operand of which the (one) result is a copy with some elements replaced. ``identity(element_type)`` is the
    number that combines with any x to x, in either order; None where there is none. ``effects_if`` names the attribute without
    which an effectful operation has no effects after all.
    """

    opcode: str
    builder: str
    operand_names: tuple[str, ...]
    attributes: dict[str, AttributeKind]
    traits: frozenset[str]
    shape_function: Callable[..., AnyShape]
    evaluate_function: Callable[..., Any] | None = None
    samples_function: Callable[[], Iterable[Sample | InvalidSample]] | None = None
    wants_stated_shape: bool = False
    evaluation_wants: frozenset[str] = frozenset()
    dynamic: str = REFUSED
    cost: float | None = None
    updated_operand: int | None = None
    identity: Identity = no_identity
    work_function: Work | None = None
    aliases: tuple[str, ...] = ()
    effects_if: str = ""
    agreement_function: Agreement = no_agreement
    resize_function: Callable[[Any, tuple[Any, ...]], Resized] | None = None

    def __repr__(self) -> str:
        return f"<operation {self.opcode}>"

    @property
    def family(self) -> str:
        """The name of the file in ``hlo/ops`` that declares it."""
        return self.shape_function.__module__.rpartition(".")[2]

    @property
    def documentation(self) -> str:
        return inspect.getdoc(self.shape_function) or ""

    @cached_property
    def fixed_operand_count(self) -> int | None:
        """How many operands it takes; None where it takes any number."""
        return None if self.is_variadic else len(self.operand_names)

    @cached_property
    def is_foldable(self) -> bool:
        """Whether compilers may evaluate it ahead, or leave it out where its result has no elements."""
        return not self.traits.isdisjoint({ELEMENTWISE, DATA_MOVEMENT, FOLDABLE})

    @cached_property
    def names_of_computations(self) -> tuple[str, ...]:
        """The attributes that hold computations."""
        return tuple(name for name, kind in self.attributes.items() if isinstance(kind, CalledComputation))

    @property
    def is_variadic(self) -> bool:
        return bool(self.operand_names) and self.operand_names[-1].startswith("*")

    def check_operand_count(self, count: int) -> None:
        """Raise ShapeError unless the operation takes this many operands."""
        if count == self.fixed_operand_count:
            return
        named = len(self.operand_names)
        if self.is_variadic:
            if count >= named - 1:
                return
            wanted = f"at least {named - 1}"
        else:
            wanted = str(named)
        names = f" ({', '.join(self.operand_names)})" if named else ""
        raise ShapeError(f"{self.opcode}: {wanted} operand{'s' * (wanted != '1')}{names} required, {count} given")

    def infer_shape(
        self, operands: tuple[AnyShape, ...], attributes: dict[str, Any], stated: AnyShape | None = None
    ) -> AnyShape:
        """The result shape; raises ShapeError where a constraint is broken.

        ``stated`` is the result shape as the program states it. Operations that cannot infer theirs (convert, reshape,
        iota, ...) check and return it; the others ignore it.
        """
        if self.dynamic == REFUSED and any(map(has_dynamic_dimensions, operands)):
            raise NotImplementedError(
                f"{self.opcode} of dynamic dimensions is not implemented: {', '.join(map(str, operands))}"
            )
        if self.wants_stated_shape:
            return self.shape_function(*operands, stated=stated, **attributes)
        return self.shape_function(*operands, **attributes)

    def evaluate(
        self,
        operands: tuple[Any, ...],
        attributes: dict[str, Any],
        shape: AnyShape,
        run: Callable[..., Any],
        operand_shapes: tuple[AnyShape, ...],
    ) -> Any:
        """The result on NumPy arrays; tuples are Python tuples.

        ``run(computation, *arguments)`` evaluates a called computation.
        """
        if self.evaluate_function is None:
            raise NotImplementedError(f"no evaluation for operation {self.opcode}")
        extra: dict[str, Any] = {}
        if "shape" in self.evaluation_wants:
            extra["shape"] = shape
        if "run" in self.evaluation_wants:
            extra["run"] = run
        if "operand_shapes" in self.evaluation_wants:
            extra["operand_shapes"] = operand_shapes
        return self.evaluate_function(*operands, **attributes, **extra)

    def evaluation(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: this function is the operation's semantics in NumPy.

        It takes the operands and the attributes by name, and, where it names them, ``shape`` (of the result),
        ``operand_shapes`` (where layouts count) and ``run``, the running hlo.Evaluator. The value of a token is None.
        """
        self.evaluate_function = function
        names = inspect.signature(function, follow_wrapped=False).parameters
        self.evaluation_wants = frozenset({"shape", "run", "operand_shapes"} & set(names)) - frozenset(self.attributes)
        return function

    def work(self, operands: tuple[AnyShape, ...], shape: AnyShape, attributes: dict[str, Any]) -> int | None:
        """How much there is to do on operands of these shapes; None where the operation does not say.

        For operations that call computations this is how often these run, for others how many floating-point operations there
        are, or transcendental functions.
        """
        if self.work_function is not None:
            return self.work_function(operands, shape, attributes)
        if APPLIES in self.traits:
            return operands[0].size
        if CALLS in self.traits:
            return 1
        if ELEMENTWISE in self.traits:
            return sum(leaf.size for leaf in leaves(shape))
        return 0 if self.cost is not None or {RENAMES, HOST_CALL} & self.traits else None

    def counting(self, function: Work) -> Work:
        """Decorator: this function of the operands' shapes, the result's and the attributes says how much work there is."""
        self.work_function = function
        return function

    def agreement(self, function: Agreement) -> Agreement:
        """Decorator: this function of the operands' shapes and the attributes says which dimensions have the same size."""
        self.agreement_function = function
        return function

    def resizing(self, function: Callable[[Any, tuple[Any, ...]], Resized]) -> Callable:
        """Decorator: this function tells how the operation is evaluated on operands of their actual sizes.

        It takes the instruction and the operands, and returns operands, attributes, and the shape of the result, or None where
        that can be inferred.
        """
        self.resize_function = function
        return function

    def sampling(self, function: Callable[[], Iterable[Sample | InvalidSample]]) -> Callable:
        """Decorator: this function returns the operation's samples."""
        self.samples_function = function
        return function

    def samples(self) -> list[Sample]:
        return [s for s in (self.samples_function or list)() if isinstance(s, Sample)]

    def invalid_samples(self) -> list[InvalidSample]:
        return [s for s in (self.samples_function or list)() if isinstance(s, InvalidSample)]


OPERATIONS: dict[str, Operation] = {}


def operation(
    opcode: str,
    *operand_names: str,
    builder: str = "",
    aliases: Iterable[str] = (),
    traits: Iterable[str] = (),
    dynamic: str = REFUSED,
    cost: float | None = None,
    updated_operand: int | None = None,
    identity: Identity = no_identity,
    effects_if: str = "",
    **attributes: AttributeKind,
) -> Callable[[Callable[..., AnyShape]], Operation]:
    """Decorator: a shape function becomes the record of this opcode, and stands in OPERATIONS.

    An elementwise operation costs 1, unless it says otherwise, and takes dynamic dimensions.
    """

    def declare(shape_function: Callable[..., AnyShape]) -> Operation:
        if opcode in OPERATIONS:
            raise ValueError(f"operation {opcode} is declared twice")
        calls = {CALLS} if any(isinstance(kind, CalledComputation) for kind in attributes.values()) else ()
        record = Operation(
            opcode,
            builder or "".join(part.capitalize() for part in opcode.split("-")),
            operand_names,
            attributes,
            frozenset({*traits, *calls}),
            shape_function,
            wants_stated_shape="stated" in inspect.signature(shape_function).parameters,
            dynamic=ACTUAL_SIZES if dynamic == REFUSED and ELEMENTWISE in traits else dynamic,
            aliases=tuple(aliases),
            effects_if=effects_if,
            updated_operand=updated_operand,
            cost=1.0 if cost is None and ELEMENTWISE in traits else cost,
            identity=identity,
            agreement_function=all_agree if ELEMENTWISE in traits else no_agreement,
        )
        OPERATIONS[opcode] = record
        return record

    return declare

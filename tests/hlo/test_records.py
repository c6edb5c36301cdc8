"""Facts that the records state about operations, tried on values and on whatever else follows from them."""

import ast

import ml_dtypes
import numpy as np
import pytest
from operation_checks import module_of, operations_left_out, operations_without_native_code
from paths import ROOT
from phlox.backends.llvm.elementary import ELEMENTARY_FUNCTIONS
from phlox.backends.registry import get_backend
from phlox.compile.cost import cost_analysis
from phlox.compile.dynamic_padding.padder import HANDLERS
from phlox.hlo import ELEMENT_TYPES, F32, OPERATIONS, PRED, Sample, Shape, ShapeError, evaluate_operation, scalar_computation
from phlox.hlo.operation import ASSOCIATIVE, CALLS, ELEMENTWISE, KEPT, REFUSED, SELECTING, TRANSCENDENTAL, operation
from phlox.xla_builder import XlaBuilder

# --- every operation in every layer ---


def counts_work(record):
    def work(sample):
        instruction = module_of(record.opcode, [sample])[1][0]
        return record.work(tuple(o.shape for o in instruction.operands), instruction.shape, instruction.attributes)

    return all(isinstance(work(sample), int) for sample in record.samples())


def is_padded(record):
    """A parameter is padded by whoever gives the arguments."""
    return record.opcode in HANDLERS or ELEMENTWISE in record.traits or record.opcode == "parameter"


# For each layer, whether it has an entry for the operation.
LAYERS = {
    "samples": lambda record: bool(record.samples()),
    "evaluation": lambda record: record.evaluate_function is not None,
    "dynamic dimensions": lambda record: record.dynamic not in (REFUSED, KEPT),
    "cost": counts_work,
}


def left_out(records):
    found = {layer: {record.opcode for record in records if not has_entry(record)} for layer, has_entry in LAYERS.items()}
    return {layer: opcodes for layer, opcodes in found.items() if opcodes}


def test_every_layer_has_an_entry_or_a_gap():
    assert left_out(OPERATIONS.values()) == operations_left_out()


def test_native_code_or_a_gap():
    support = get_backend("cpu").support
    assert {opcode for opcode in OPERATIONS if support(opcode) is None} <= operations_without_native_code()


@pytest.mark.parametrize("record", OPERATIONS.values(), ids=OPERATIONS)
def test_what_takes_dynamic_dimensions_is_padded(record):
    assert is_padded(record) == (record.dynamic not in (REFUSED, KEPT))


@pytest.fixture
def new_operation():
    @operation("test-new", "operand")
    def new(operand):
        return operand

    yield new
    del OPERATIONS["test-new"]


def test_a_new_operation_needs_all_entries(new_operation):
    assert set(left_out([new_operation])) == set(LAYERS) - {"cost"}
    new_operation.sampling(lambda: [Sample([Shape(F32, (2,))])])
    assert set(left_out([new_operation])) == set(LAYERS) - {"samples"}
    assert get_backend("cpu").support("test-new") is None and not is_padded(new_operation)


# --- identities ---

TYPES = [element_type for element_type in ELEMENT_TYPES.values() if element_type.dtype is not None]
HAVE_IDENTITIES = [record for record in OPERATIONS.values() if any(record.identity(t) is not None for t in TYPES)]
ASSOCIATIVE_OPERATIONS = [record for record in OPERATIONS.values() if ASSOCIATIVE in record.traits]


def telling_values(element_type):
    """Zeros of both signs, the extremes, ones, and what is no number, as far as the type has them."""
    dtype = element_type.dtype
    if element_type.kind == "pred":
        return np.array([False, True])
    if element_type.is_integer:
        limits = ml_dtypes.iinfo(dtype)
        return np.array([dtype.type(value) for value in (int(limits.min), 0, 1, int(limits.max))], dtype)
    real = [-0.0, 0.0, 1.0, -1.5, np.inf, -np.inf, np.nan]
    if element_type.is_complex:
        return np.array([complex(x, y) for x in real for y in real], dtype)
    limits = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        return np.array([*real, float(limits.min), float(limits.max)]).astype(dtype)


def bits(array):
    """The bytes of each element, those of all NaN alike."""
    parts = array.view(ml_dtypes.finfo(array.dtype).dtype) if array.dtype.kind == "c" else array
    is_nan = parts != parts
    return [("nan" if nan else part.tobytes()) for part, nan in zip(parts, is_nan)]


@pytest.mark.parametrize("element_type", TYPES, ids=str)
@pytest.mark.parametrize("record", HAVE_IDENTITIES, ids=str)
def test_an_identity_changes_nothing(record, element_type):
    identity = record.identity(element_type)
    if identity is None:
        return
    values = telling_values(element_type)
    with np.errstate(over="ignore"):
        others = np.full(values.shape, identity, element_type.dtype)
    try:
        results = [evaluate_operation(record.opcode, *operands) for operands in ((values, others), (others, values))]
    except ShapeError:
        return  # the operation does not take this type
    for result in results:
        assert bits(result) == bits(values)


@pytest.mark.parametrize("record", ASSOCIATIVE_OPERATIONS, ids=str)
def test_associative_operations_have_an_identity(record):
    """Of every type that they take, but of sums where there is no zero, and of products of complex numbers."""
    for element_type in TYPES:
        value = np.ones((), element_type.dtype)
        try:
            evaluate_operation(record.opcode, value, value)
        except ShapeError:
            continue
        has_none = element_type.name == "f8e8m0fnu" and record.opcode == "add"
        has_none |= element_type.is_complex and record.opcode == "multiply"
        assert (record.identity(element_type) is None) == has_none, element_type


# --- selection ---


@pytest.mark.parametrize("element_type", TYPES, ids=str)
@pytest.mark.parametrize("record", [record for record in OPERATIONS.values() if SELECTING in record.traits], ids=str)
def test_what_selects_returns_elements_of_operands(record, element_type):
    """With all of the telling values in all places; a condition is pred."""
    values, types = telling_values(element_type), [element_type] * len(record.operand_names)
    if record.operand_names[0] == "pred":
        types[0] = PRED
    grids = np.meshgrid(*(telling_values(t) for t in types), indexing="ij")
    try:
        result = evaluate_operation(record.opcode, *(grid.ravel() for grid in grids))
    except ShapeError:
        return  # the operation does not take this type
    assert ELEMENTWISE in record.traits and set(bits(result)) <= set(bits(values))


# --- cost ---


def test_elementary_functions_cost_more_than_a_few_additions():
    """What the emitter computes by polynomials is dear, and nothing else that is elementwise is transcendental."""
    assert all(OPERATIONS[opcode].cost > 4 for opcode in ELEMENTARY_FUNCTIONS)
    transcendental = {opcode for opcode, record in OPERATIONS.items() if TRANSCENDENTAL in record.traits}
    assert transcendental == set(ELEMENTARY_FUNCTIONS) - {"remainder"}
    assert all(OPERATIONS[opcode].cost > 4 and ELEMENTWISE in OPERATIONS[opcode].traits for opcode in transcendental)


def test_calls_are_the_operations_with_computations():
    for record in OPERATIONS.values():
        assert (CALLS in record.traits) == bool(record.names_of_computations), record


def work_of(build, *shapes):
    b = XlaBuilder("f")
    cost = cost_analysis(b.build_module(build(b, *(b.parameter(Shape(F32, shape)) for shape in shapes))))
    return int(cost["flops"]), int(cost["transcendentals"])


def conv(b, x, kernel):
    return b.ConvWithGeneralPadding(x, kernel, (1, 1), [(0, 0), (0, 0)])


def total(b, x, window):
    return b.ReduceWindow(x, b.constant(np.float32(0)), scalar_computation("add", F32), window, window, "VALID")


@pytest.mark.parametrize(
    ("build", "shapes", "flops", "transcendentals"),
    [
        (lambda b, x: b.Add(x, x), [(3, 5)], 15, 0),
        (lambda b, x: b.Asinh(x), [(3, 5)], 0, 15),
        (lambda b, x: b.Transpose(x, (1, 0)), [(3, 5)], 0, 0),
        (lambda b, x, y: b.Dot(x, y), [(3, 5), (5, 7)], 2 * 3 * 5 * 7, 0),
        # 4 images of 2 channels, 6 kernels of 3 by 5: 8 by 6 places.
        (conv, [(4, 2, 10, 10), (6, 2, 3, 5)], 2 * 4 * 6 * 8 * 6 * 2 * 3 * 5, 0),
        (lambda b, x: total(b, x, (2, 5)), [(6, 20)], 3 * 4 * 2 * 5, 0),
        (lambda b, x: b.Sort([x], scalar_computation_less(), 0), [(8,)], 8 * 3, 0),
        (lambda b, x: b.Real(b.Fft(b.Complex(x, x), "FFT", (8,))), [(3, 8)], 3 * 5 * 8 * 3 + 2 * 3 * 8, 0),
        (lambda b, x: b.Cholesky(x, True), [(2, 6, 6)], 2 * 6**3 // 3, 0),
        (lambda b, a, x: b.TriangularSolve(a, x, True, True, False, "NO_TRANSPOSE"), [(6, 6), (6, 4)], 6 * 6 * 4, 0),
    ],
)
def test_work(build, shapes, flops, transcendentals):
    assert work_of(build, *shapes) == (flops, transcendentals)


def scalar_computation_less():
    b = XlaBuilder("less")
    return b.build(b.Lt(b.parameter(Shape(F32)), b.parameter(Shape(F32))))


# --- who lists operations by hand ---

FOLDERS = ("compile", "tracer", "runtime", "command_line", "client", "backends")
# The forms that a pass itself defines, and names for all operations.
MAY_LIST = {"compile/layout_normalization.py", "compile/fusion_plan.py"}


def lists_of_opcodes(source):
    """The lines of tuples, lists and sets of three or more opcodes; a pair is a pattern, a dictionary a layer's table."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) > 2:
            if all(isinstance(element, ast.Constant) and element.value in OPERATIONS for element in node.elts):
                yield node.lineno


def test_passes_ask_the_records():
    """What several operations have in common is a fact of each, which the next one states, too."""
    found = set()
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        if any(lists_of_opcodes(path.read_text(encoding="utf-8"))):
            found.add(path.relative_to(ROOT).as_posix())
    assert found == MAY_LIST


def test_lists_of_opcodes_are_found():
    assert list(lists_of_opcodes('x = 1\ny = {"add", "dot", "while"}')) == [2]
    assert not list(lists_of_opcodes('x = opcode in ("add", "dot")\ny = {"add": 1, "dot": 2, "while": 3}'))

"""Programs with dynamic dimensions, run by XLA."""

import numpy as np
import pytest
from dynamic_programs import CASES, COMPUTATIONS, numbers, sizes_of
from phlox.hlo import F32, S32, Shape, parse_module, scalar_computation
from phlox.xla_builder import XlaBuilder

pytestmark = pytest.mark.peer

# Of the others XLA refuses some, and lets some depend on the padding, on the bounds, or on an init value that is no identity.
AGREED = (
    "binary", "with static", "reverse", "strided slice", "pad", "concatenate", "reshape, two", "reshape, split",
    "dynamic-reshape",
    "reduce, maximum", "reduce, two", "select-and-scatter", "dot, contracted", "dot, one contracted", "sort", "gather, indices",
    "scatter", "remove",
)  # fmt: skip


@pytest.fixture(scope="module")
def run():
    """A function that runs HLO text on arrays."""
    jax = pytest.importorskip("jax")
    hlo_of_xla = pytest.importorskip("jaxlib._hlo")
    jaxlib = pytest.importorskip("jaxlib._jax")
    try:
        from jax._src.lib import xla_client
        from jax._src.xla_bridge import get_backend

        convert, options = jaxlib.mlir.xla_computation_to_mlir_module, xla_client.CompileOptions
    except (ImportError, AttributeError) as error:
        pytest.skip(f"this version of JAX has no way to run HLO text: {error}")

    def compile_text(text):
        proto = hlo_of_xla.hlo_module_from_text(text).as_serialized_hlo_module_proto()
        module = convert(hlo_of_xla.XlaComputation(proto))
        executable = get_backend("cpu").compile_and_load(module, jaxlib.DeviceList((jax.devices("cpu")[0],)), options())

        def call(*arrays):
            results = executable.execute_sharded([jax.device_put(array) for array in arrays])
            return [np.asarray(parts[0]) for parts in results.disassemble_into_single_device_arrays()]

        return call

    return compile_text


def weights(shape, seed):
    return np.random.default_rng(seed).integers(1, 9, shape.dimensions).astype(np.float32)


def with_static_signature(entry):
    """The program on padded arrays and sizes; of each result it returns three weighted sums, and its sizes."""
    b = XlaBuilder("static")
    values = {}
    for parameter in entry.parameters:
        value = b.parameter(parameter.shape.static())
        for dimension in range(parameter.shape.rank):
            if parameter.shape.is_dynamic(dimension):
                value = b.SetDimensionSize(value, b.parameter(Shape(S32)), dimension)
        values[parameter] = value
    for instruction in entry.instructions:
        if instruction.opcode != "parameter":
            values[instruction] = b.append(instruction.with_operands(values[operand] for operand in instruction.operands))
    root, results = values[entry.root], []
    parts = [root]
    if root.shape.is_tuple:
        parts = [b.GetTupleElement(root, number) for number in range(len(root.shape.elements))]
    for part in parts:
        shape = part.shape
        numbers_ = b.ConvertElementType(part, F32)
        for seed in range(3):
            product = b.emit("multiply", numbers_, b.constant(weights(shape, seed)))
            zero = b.constant(np.float32(0))
            results.append(b.Reduce(product, zero, scalar_computation("add", F32), tuple(range(shape.rank))))
        results.extend(b.GetDimensionSize(part, d) for d in range(shape.rank) if shape.is_dynamic(d))
    return b.build_module(b.Tuple(results)), [part.shape for part in parts]


@pytest.mark.parametrize("name", AGREED)
def test_xla_agrees(run, name):
    entry, arguments, meaning = CASES[name]
    module = parse_module(f"{COMPUTATIONS}\nENTRY main {{\n{entry}\n}}")
    static, shapes = with_static_signature(module.entry)
    call = run(static.as_text())
    for n, m in ((4, 3), (7, 2), (0, 5)):
        arrays = [numbers(*sizes_of(text, n, m), seed=number) for number, text in enumerate(arguments)]
        given = []
        for array, shape in zip(arrays, module.entry.parameter_shapes):
            whole = np.full(shape.dimensions, 777, np.float32)
            whole[tuple(map(slice, array.shape))] = array
            given += [whole, *(np.int32(array.shape[d]) for d in range(shape.rank) if shape.is_dynamic(d))]
        results = iter(call(*given))
        with np.errstate(all="ignore"):
            expected = meaning(*arrays)
        for shape, wanted in zip(shapes, expected if isinstance(expected, tuple) else (expected,)):
            sums = [next(results) for _ in range(3)]
            sizes = tuple(int(next(results)) if shape.is_dynamic(d) else shape.dimensions[d] for d in range(shape.rank))
            assert sizes == np.shape(wanted)
            for seed, total in enumerate(sums):
                inside = weights(shape, seed)[tuple(map(slice, sizes))]
                np.testing.assert_allclose(total, (inside * wanted).sum(), rtol=1e-4, atol=1e-3)

"""Random bits: the known answers of Random123, and XLA's own, from the reference and from native code; stochastic rounding."""

import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import (
    F32,
    F64,
    S8,
    S32,
    U8,
    U16,
    U32,
    U64,
    Shape,
    ShapeError,
    TupleShape,
    evaluate,
    evaluate_operation,
    scalar_computation,
)
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.hlo.ops.random_numbers import philox4x32, threefry2x32
from phlox.xla_builder import XlaBuilder

# Counter, key, words: of the file kat_vectors of Random123 1.09, for 20 rounds and 10 rounds.
THREEFRY_2X32 = [
    ("00000000 00000000", "00000000 00000000", "6b200159 99ba4efe"),
    ("ffffffff ffffffff", "ffffffff ffffffff", "1cb996fc bb002be7"),
    ("243f6a88 85a308d3", "13198a2e 03707344", "c4923a9c 483df7a0"),
]
PHILOX_4X32 = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
BOTH = pytest.mark.parametrize("backend", ["cpu", "reference"])


def words(text):
    return [int(word, 16) for word in text.split()]


def pairs(numbers):
    """Words of 32 bits in numbers of 64, the low word first."""
    return [low | high << 32 for low, high in zip(numbers[::2], numbers[1::2])]


def module_of(algorithm, length, element_type, dimensions):
    b = XlaBuilder("random")
    return b.build_module(b.RngBitGenerator(algorithm, b.parameter(Shape(U64, (length,))), Shape(element_type, dimensions)))


def generate(backend, algorithm, state, element_type, dimensions):
    state = np.array(state, np.uint64)
    return get_backend(backend).compile(module_of(algorithm, len(state), element_type, dimensions))(state)


@BOTH
@pytest.mark.parametrize(("counter", "key", "expected"), THREEFRY_2X32)
def test_known_answers_of_threefry(backend, counter, key, expected):
    state = pairs(words(key) + words(counter))
    after, bits = generate(backend, "RNG_THREE_FRY", state, U32, (2,))
    assert bits.tolist() == words(expected)
    assert after.tolist() == [state[0], (state[1] + 1) % 2**64]


@BOTH
@pytest.mark.parametrize(("counter", "key", "expected"), PHILOX_4X32)
def test_known_answers_of_philox(backend, counter, key, expected):
    state = pairs(words(key) + words(counter))
    after, bits = generate(backend, "RNG_PHILOX", state, U32, (4,))
    assert bits.tolist() == words(expected)
    total = (state[1] | state[2] << 64) + 1
    assert after.tolist() == [state[0], total % 2**64, (total >> 64) % 2**64]


def test_words_in_order():
    """Row-major, a counter for each group; elements of 64 bits are two words, the low one first."""
    state = [7 | 9 << 32, 2**64 - 2, 5]
    key = (np.uint32(7), np.uint32(9))

    def counters(first, count):
        numbers = range(first, first + count)
        return [np.array([n >> shift & 0xFFFFFFFF for n in numbers], np.uint32) for shift in (0, 32, 64, 96)]

    philox = np.stack(philox4x32(key, counters(2**64 - 2 | 5 << 64, 5)), axis=1).ravel()
    _, bits = generate("cpu", "RNG_PHILOX", state, U32, (3, 6))
    assert bits.ravel().tolist() == philox[:18].tolist()
    _, bits = generate("cpu", "RNG_PHILOX", state, U64, (3, 3))
    assert bits.ravel().tolist() == pairs(philox.tolist())[:9]
    threefry = np.stack(threefry2x32(key, counters(100, 12)[:2]), axis=1)
    _, bits = generate("cpu", "RNG_THREE_FRY", [state[0], 100], U64, (12,))
    assert bits.tolist() == pairs(threefry.ravel().tolist())
    # Pairs of words lie along the first even dimension: here rows 0 and 1 come from the counters 0, 1, 2.
    _, bits = generate("cpu", "RNG_THREE_FRY", [state[0], 100], U32, (4, 3))
    assert bits.tolist() == threefry[:6].reshape(2, 3, 2).transpose(0, 2, 1).reshape(4, 3).tolist()
    _, narrow = generate("cpu", "RNG_THREE_FRY", [state[0], 100], U8, (4, 3))
    assert narrow.tolist() == (bits & 0xFF).tolist()


def test_the_default_is_philox():
    for length in (2, 3):
        state = list(range(1, length + 1))
        for mine, wanted in zip(*(generate("cpu", algorithm, state, U32, (9,)) for algorithm in ("RNG_DEFAULT", "RNG_PHILOX"))):
            np.testing.assert_array_equal(mine, wanted)


def test_parts_of_a_sequence_fit_together():
    """Generating 4 n words at once, or in two steps with the state handed on, is the same."""
    for algorithm, state in (("RNG_PHILOX", [3, 2**64 - 3, 1]), ("RNG_THREE_FRY", [3, 2**64 - 3])):
        _, whole = generate("cpu", algorithm, state, U64, (16,))
        middle, first = generate("cpu", algorithm, state, U64, (8,))
        _, second = generate("cpu", algorithm, middle, U64, (8,))
        np.testing.assert_array_equal(np.concatenate([first, second]), whole)


def test_bits_are_uniform():
    """Each of the 32 bits is set in half of 2**16 words, within 5 standard deviations."""
    for algorithm in ("RNG_PHILOX", "RNG_THREE_FRY"):
        _, bits = generate("cpu", algorithm, [42, 0], U32, (1 << 16,))
        counts = [(bits >> np.uint32(position) & np.uint32(1)).sum() for position in range(32)]
        assert np.all(np.abs(np.array(counts, np.int64) - 2**15) < 5 * 2**7)


def test_a_generator_inside_a_loop():
    state, total = Shape(U64, (2,)), Shape(U32)
    carried = TupleShape((Shape(S32), state, total))
    c = XlaBuilder("condition")
    condition = c.build(c.Lt(c.GetTupleElement(c.parameter(carried), 0), c.constant(np.int32(5))))
    d = XlaBuilder("body")
    parameter = d.parameter(carried)
    count, before, subtotal = (d.GetTupleElement(parameter, i) for i in range(3))
    pair = d.RngBitGenerator("RNG_PHILOX", before, Shape(U32, (6,)))
    added = d.Reduce(d.GetTupleElement(pair, 1), subtotal, scalar_computation("add", U32), (0,))
    body = d.build(d.Tuple([d.Add(count, d.constant(np.int32(1))), d.GetTupleElement(pair, 0), added]))
    b = XlaBuilder("loop")
    init = b.Tuple([b.constant(np.int32(0)), b.parameter(state), b.constant(np.uint32(0))])
    module = b.build_module(b.While(condition, body, init))
    start = np.array([11, 12], np.uint64)
    for mine, wanted in zip(get_backend("cpu").compile(module)(start), evaluate(module.entry, start)):
        np.testing.assert_array_equal(mine, wanted)


def test_bad_algorithms_and_states():
    b = XlaBuilder("f")
    with pytest.raises(ShapeError, match="one of rng_default, rng_three_fry, rng_philox is required"):
        b.RngBitGenerator("RNG_MERSENNE", b.parameter(Shape(U64, (2,))), Shape(U32, (4,)))
    b = XlaBuilder("f")
    unknown = b.RngBitGenerator("RNG_THREE_FRY", b.parameter(Shape(U64, (3,))), Shape(U32, (4,)))
    module = b.build_module(unknown)
    for run in (lambda: get_backend("cpu").compile(module), lambda: evaluate(module.entry, np.zeros(3, np.uint64))):
        with pytest.raises(NotImplementedError, match=r"rng_three_fry is implemented for a state of u64\[2\], not u64\[3\]"):
            run()


# --- XLA as a peer ---


@pytest.fixture(scope="module")
def xla_bits():
    """XLA's results, by way of StableHLO."""
    jax = pytest.importorskip("jax")
    xla_client = pytest.importorskip("jaxlib.xla_client")
    device = jax.devices("cpu")[0]
    if not hasattr(device.client, "compile_and_load"):
        pytest.skip("another version of jaxlib")

    def run(algorithm, state, type_, dimensions):
        pair = f"tensor<{len(state)}xui64>, tensor<{''.join(f'{d}x' for d in dimensions)}{type_}>"
        first = pair.split(",")[0]
        text = (
            f"module @m {{ func.func public @main(%a: {first}) -> ({pair}) {{\n"
            f"%s, %v = stablehlo.rng_bit_generator %a, algorithm = {algorithm} : ({first}) -> ({pair})\n"
            f"return %s, %v : {pair} }} }}"
        )
        options, devices = xla_client.CompileOptions(), xla_client.DeviceList((device,))
        executable = device.client.compile_and_load(text, devices, options)
        with jax.enable_x64(True):
            argument = jax.device_put(np.array(state, np.uint64), device)
        arrays = executable.execute_sharded([argument]).disassemble_into_single_device_arrays()
        return [np.asarray(array[0]) for array in arrays]

    return run


@pytest.mark.peer
@pytest.mark.parametrize("algorithm", ["THREE_FRY", "PHILOX", "DEFAULT"])
def test_xla_gives_the_same_bits(xla_bits, algorithm):
    states = [[5 | 6 << 32, 7 | 8 << 32], [5 | 6 << 32, 2**64 - 1]]
    if algorithm != "THREE_FRY":
        states += [[5 | 6 << 32, 2**64 - 2, 9], [1, 2**64 - 1, 2**64 - 1]]
    cases = [(U32, "ui32", (5, 3)), (U32, "ui32", (3, 4, 2)), (U32, "ui32", ()), (U64, "ui64", (3, 3)), (U8, "ui8", (6,)),
             (U16, "ui16", (3, 5)), (S32, "i32", (7,))]  # fmt: skip
    for number, (element_type, type_, dimensions) in enumerate(cases):
        state = states[number % len(states)]
        expected = xla_bits(algorithm, state, type_, dimensions)
        actual = generate("cpu", f"RNG_{algorithm}", state, element_type, dimensions)
        for mine, wanted in zip(actual, expected):
            # JAX shows the bits of an i32 as unsigned numbers.
            np.testing.assert_array_equal(mine.view(wanted.dtype), wanted, err_msg=f"{algorithm} {type_}{dimensions}, {state}")


# --- rounding by random bits ---


def test_stochastic_rounding_is_unbiased():
    """The mean of many roundings is the number itself, within 5 standard deviations."""
    count, random = 1 << 14, np.random.default_rng(8)
    b = XlaBuilder("f")
    x, u = b.parameter(Shape(F32, (count,))), b.parameter(Shape(U32, (count,)))
    executable = get_backend("cpu").compile(b.build_module(b.StochasticConvertType(x, u, S8)))
    for number in (0.25, -3.75, 100.5, -0.125):
        values = np.full(count, number, np.float32)
        bits = random.integers(0, 2**32, count, dtype=np.uint32)
        (rounded,) = executable(values, bits)
        assert set(rounded.tolist()) == {int(np.floor(number)), int(np.ceil(number))}
        assert abs(rounded.mean() - number) < 5 * 0.5 / np.sqrt(count)
        reference = evaluate_operation("stochastic-convert", values, bits, shape=Shape(S8, (count,)))
        np.testing.assert_array_equal(rounded, reference)


@pytest.mark.parametrize(("element_type", "random_type"), [(F32, U32), (F64, U64)], ids=str)
def test_stochastic_rounding_at_the_limits(element_type, random_type):
    numbers = [np.inf, -np.inf, np.nan, 1e30, -1e30, 127.5, -127.5, -128.5, 0.0, -0.0, 5.0, -5.0, 127.0, 126.5]
    x = np.array(numbers, element_type.dtype)
    b = XlaBuilder("f")
    p, u = b.parameter(Shape(element_type, x.shape)), b.parameter(Shape(random_type, x.shape))
    module = b.build_module(b.Tuple([b.StochasticConvertType(p, u, S8), b.StochasticConvertType(p, u, U8)]))
    executable = get_backend("cpu").compile(module)
    up, down = np.zeros(x.shape, random_type.dtype), np.full(x.shape, np.iinfo(random_type.dtype).max, random_type.dtype)
    signed, unsigned = executable(x, up)
    assert signed.tolist() == [127, -128, 0, 127, -128, 127, -128, -128, 0, 0, 5, -5, 127, 127]
    assert unsigned.tolist() == [255, 0, 0, 255, 0, 128, 0, 0, 0, 0, 5, 0, 127, 127]
    signed, unsigned = executable(x, down)
    assert signed.tolist() == [127, -128, 0, 127, -128, 127, -127, -128, 0, 0, 5, -5, 127, 126]
    assert unsigned.tolist() == [255, 0, 0, 255, 0, 127, 0, 0, 0, 0, 5, 0, 127, 126]


@pytest.mark.parametrize("name", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
def test_high_half_of_products(name):
    """On integers of Python."""
    random = np.random.default_rng(4)
    element_type = ELEMENT_TYPES[name]
    info = np.iinfo(element_type.dtype)
    values = random.integers(info.min, info.max, 40, dtype=element_type.dtype, endpoint=True).tolist()
    values += [info.min, info.max, 0, 1, info.max // 2, info.min // 2]
    x, y = (np.array(column, element_type.dtype) for column in zip(*[(v, w) for v in values for w in values]))
    b = XlaBuilder("f")
    module = b.build_module(b.MulHi(b.parameter(Shape(element_type, x.shape)), b.parameter(Shape(element_type, x.shape))))
    expected = [v * w >> element_type.bits for v in values for w in values]
    assert get_backend("cpu").compile(module)(x, y)[0].tolist() == expected
    assert evaluate_operation("mulhi", x, y).tolist() == expected

"""Where arrays lie: reuse of memory, results in place, loops that do not copy their state."""

import numpy as np
import pytest
from comparisons import check_compiled
from cpu_passes import optimize
from phlox.backends.registry import get_backend
from phlox.compile.aliasing import Value, defining_value
from phlox.compile.buffer_assignment import assign_buffers
from phlox.compile.copy_insertion import insert_copies
from phlox.compile.memory_plan import memory_plan
from phlox.hlo import F32, S64, U16, Shape, TupleShape, verify
from phlox.xla_builder import XlaBuilder

ARRAY = Shape(F32, (1000,))
COUNT = Shape(S64)


def assign(module):
    prepared = insert_copies(module)
    verify(prepared)
    return prepared, assign_buffers(prepared, lambda instruction: 0, 64)


def counting_loop(body_of, *initial, trips=5):
    """A module: a While that counts to ``trips`` and applies ``body_of(builder, index, *arrays)`` to its arrays."""
    b = XlaBuilder("main")
    parameters = [b.parameter(ARRAY, f"x{k}") for k in range(len(initial) or 1)]
    state_shape = TupleShape((COUNT, *(p.shape for p in parameters)))
    inner = XlaBuilder("condition")
    count = inner.GetTupleElement(inner.parameter(state_shape), 0)
    condition = inner.build(inner.Lt(count, inner.constant(np.int64(trips))))
    inner = XlaBuilder("body")
    state = inner.parameter(state_shape)
    count, *arrays = (inner.GetTupleElement(state, k) for k in range(len(state_shape.elements)))
    results = body_of(inner, count, *arrays)
    body = inner.build(inner.Tuple([inner.Add(count, inner.constant(np.int64(1))), *results]))
    loop = b.While(condition, body, b.Tuple([b.constant(np.int64(0)), *parameters]))
    root = b.Tuple([b.GetTupleElement(loop, k + 1) for k in range(len(parameters))])
    return b.build_module(root)


def the_loop(module):
    (loop,) = (i for i in module.entry.instructions if i.opcode == "while")
    return loop


def test_a_chain_of_loops_needs_no_memory_of_its_own():
    b = XlaBuilder("chain")
    x = b.parameter(ARRAY)
    module = b.build_module(b.Exp(b.Neg(b.Abs(x))))
    _, assignment = assign(module)
    assert assignment.arena_size == 0
    assert all(buffer.kind in ("argument", "result") for buffer in assignment.buffers.values())


def test_buffers_whose_lives_do_not_overlap_share_memory():
    b = XlaBuilder("sequence")
    x = b.parameter(ARRAY)
    for _ in range(6):
        # A reversal cannot work in place: each needs its operand and its result at once.
        x = b.Rev(x, dimensions=(0,))
    _, assignment = assign(b.build_module(x))
    assert assignment.arena_size <= 2 * -(-ARRAY.byte_size // 64) * 64


def test_elements_that_are_read_as_another_type_lie_where_they_are():
    b = XlaBuilder("bits")
    x = b.Abs(b.parameter(ARRAY))
    halves = b.BitcastConvertType(b.Rev(x, dimensions=(0,)), U16)
    module = b.build_module(b.Rev(halves, dimensions=(0,)))
    prepared, assignment = assign(module)
    (view,) = (i for i in prepared.entry.instructions if i.opcode == "bitcast-convert")
    assert assignment.buffers[defining_value(Value(view))] == assignment.buffers[Value(view.operands[0])]
    assert assignment.arena_size <= 2 * -(-ARRAY.byte_size // 64) * 64


def test_simultaneously_live_buffers_never_overlap():
    b = XlaBuilder("wide")
    x = b.parameter(ARRAY)
    reversed_ = [b.Rev(b.Mul(x, b.BroadcastInDim(b.constant(np.float32(k)), (1000,), ())), dimensions=(0,)) for k in range(5)]
    total = reversed_[0]
    for value in reversed_[1:]:
        total = b.Rev(b.Add(total, value), dimensions=(0,))
    module = b.build_module(total)
    _, assignment = assign(module)
    temporaries = {id(buffer): buffer for buffer in assignment.buffers.values() if buffer.kind == "temporary"}.values()
    for first in temporaries:
        for second in temporaries:
            if first is not second and first.start <= second.end and second.start <= first.end:
                apart = first.offset + first.size <= second.offset or second.offset + second.size <= first.offset
                assert apart, (first, second)
    check_compiled(module, np.arange(1000, dtype=np.float32))


def test_an_elementwise_loop_body_works_in_place():
    module = counting_loop(lambda b, i, x: [b.Neg(x)])
    prepared, assignment = assign(module)
    state = assignment.loops[the_loop(prepared)]
    assert set(state.homes) == {1} and not state.seconds
    assert state.homes[1].kind == "result"
    check_compiled(module, np.arange(1000, dtype=np.float32))


def test_a_dynamic_update_slice_in_a_loop_does_not_copy_its_array():
    def body(b, i, x):
        element = b.DynamicSlice(x, [i], (1,))
        return [b.DynamicUpdateSlice(x, b.Add(element, element), [b.Add(i, b.constant(np.int64(1)))])]

    module = counting_loop(body)
    prepared, assignment = assign(module)
    assert not assignment.loops[the_loop(prepared)].seconds
    executable = get_backend("cpu").compile(module)
    body_text = executable.llvm_ir().split("\nwhile:\n")[1]
    copied = [line for line in body_text.splitlines() if "memmove" in line and str(ARRAY.byte_size) in line]
    assert not copied
    check_compiled(module, np.ones(1000, np.float32))


def test_two_updates_in_a_row_stay_in_place():
    def body(b, i, x):
        one = b.BroadcastInDim(b.constant(np.float32(1)), (1,), ())
        first = b.DynamicUpdateSlice(x, one, [i])
        return [b.DynamicUpdateSlice(first, one, [b.Add(i, i)])]

    module = counting_loop(body)
    prepared, assignment = assign(module)
    assert not assignment.loops[the_loop(prepared)].seconds
    assert assignment.arena_size < ARRAY.byte_size
    check_compiled(module, np.zeros(1000, np.float32))


def test_an_update_whose_old_value_is_read_later_is_not_in_place():
    def body(b, i, x):
        one = b.BroadcastInDim(b.constant(np.float32(7)), (1,), ())
        updated = b.DynamicUpdateSlice(x, one, [i])
        return [b.Add(b.Rev(updated, dimensions=(0,)), x)]

    check_compiled(counting_loop(body), np.arange(1000, dtype=np.float32))


def test_a_stencil_body_moves_between_two_buffers():
    def body(b, i, x):
        return [b.Add(b.Rev(x, dimensions=(0,)), x)]

    prepared, assignment = assign(optimize(counting_loop(body, trips=5)))
    state = assignment.loops[the_loop(prepared)]
    assert set(state.seconds) == {1}
    for trips in (0, 1, 2, 5):
        check_compiled(counting_loop(body, trips=trips), np.arange(1000, dtype=np.float32) / 1e3)


def test_exchanged_state():
    module = counting_loop(lambda b, i, x, y: [y, x], 0, 1)
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    check_compiled(module, x, y)


def test_what_a_condition_needs_lies_beside_both_places_of_the_state():
    state_shape = TupleShape((COUNT, ARRAY))
    inner = XlaBuilder("condition")
    state = inner.parameter(state_shape)
    count, x = (inner.GetTupleElement(state, k) for k in range(2))
    reverse = inner.Rev(x, dimensions=(0,))
    first = inner.Reshape(inner.Slice(reverse, (0,), (1,), (1,)), ())
    few = inner.Lt(count, inner.constant(np.int64(5)))
    condition = inner.build(inner.And(few, inner.Lt(first, inner.constant(np.float32(1e9)))))
    inner = XlaBuilder("body")
    state = inner.parameter(state_shape)
    count, x = (inner.GetTupleElement(state, k) for k in range(2))
    new = inner.Rev(x, dimensions=(0,))
    body = inner.build(inner.Tuple([inner.Add(count, inner.constant(np.int64(1))), new]))
    b = XlaBuilder("main")
    loop = b.While(condition, body, b.Tuple([b.constant(np.int64(0)), b.parameter(ARRAY)]))
    prepared, assignment = assign(b.build_module(b.GetTupleElement(loop, 1)))
    loop = the_loop(prepared)
    (second,) = assignment.loops[loop].seconds.values()
    (reverse,) = (i for i in loop.attributes["condition"].instructions if i.opcode == "reverse")
    needed = assignment.of(Value(reverse))
    assert needed.offset + needed.size <= second.offset or second.offset + second.size <= needed.offset


def test_one_value_in_two_places_of_the_state():
    module = counting_loop(lambda b, i, x, y: [b.Add(x, y)] * 2, 0, 1)
    check_compiled(module, np.arange(1000, dtype=np.float32), np.ones(1000, np.float32))


def test_state_that_the_body_leaves_alone_is_not_copied():
    module = counting_loop(lambda b, i, x, y: [b.Add(x, y), y], 0, 1)
    prepared, assignment = assign(module)
    loop = the_loop(prepared)
    assert 2 not in assignment.loops[loop].homes
    assert defining_value(Value(loop, 2)).instruction.opcode == "parameter"
    check_compiled(module, np.arange(1000, dtype=np.float32), np.ones(1000, np.float32))


def inner_loop(b, step, count, *arrays):
    """A While within a body: three rounds of ``step(builder, *arrays)``."""
    state_shape = TupleShape((COUNT, *(array.shape for array in arrays)))
    inner = XlaBuilder("inner_condition")
    condition = inner.build(inner.Lt(inner.GetTupleElement(inner.parameter(state_shape), 0), inner.constant(np.int64(3))))
    inner = XlaBuilder("inner_body")
    state = inner.parameter(state_shape)
    index, *values = (inner.GetTupleElement(state, k) for k in range(len(arrays) + 1))
    body = inner.build(inner.Tuple([inner.Add(index, inner.constant(np.int64(1))), *step(inner, *values)]))
    loop = b.While(condition, body, b.Tuple([count, *arrays]))
    return [b.GetTupleElement(loop, k + 1) for k in range(len(arrays))]


def test_nested_loops_keep_one_home():
    def body(b, i, x):
        return inner_loop(b, lambda b, x: [b.Neg(b.Abs(x))], i, x)

    module = counting_loop(body)
    prepared, assignment = assign(module)
    homes = {id(home) for state in assignment.loops.values() for home in state.homes.values()}
    assert len(assignment.loops) == 2 and len(homes) == 1
    assert assignment.arena_size == 0
    check_compiled(module, np.arange(1000, dtype=np.float32))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_nested_loop_does_not_work_where_another_leaf_of_its_state_lies(order):
    """It is left with what becomes the outer loop's state, which each of its rounds reads."""

    def body(b, i, x):
        def step(b, *values):
            x, total = (values[k] for k in order)
            new = (x, b.Add(total, x))
            return [new[k] for k in order]

        start = (x, b.Neg(x))
        after = inner_loop(b, step, b.constant(np.int64(0)), *(start[k] for k in order))
        return [b.Abs(after[order[1]])]

    module = counting_loop(body)
    _, assignment = assign(module)
    _, inner = sorted(assignment.loops, key=lambda loop: len(loop.shape.elements))
    (home,) = assignment.loops[inner].homes.values()
    assert home is not assignment.of(Value(inner.operands[0], 1 + order[0]))
    check_compiled(module, np.arange(1000, dtype=np.float32))


@pytest.mark.parametrize("chosen", [True, False])
def test_branches_write_one_result(chosen):
    b = XlaBuilder("main")
    predicate, x = b.parameter(Shape(F32)), b.parameter(ARRAY)
    branches = []
    for opcode in ("negate", "copy"):
        inner = XlaBuilder(opcode)
        parameter = inner.parameter(ARRAY)
        branches.append(inner.build(parameter if opcode == "copy" else inner.emit(opcode, parameter)))
    pred = b.Gt(predicate, b.constant(np.float32(0)))
    module = b.build_module(b.Conditional(pred, x, branches[0], x, branches[1]))
    _, assignment = assign(module)
    assert assignment.arena_size == 0
    check_compiled(module, np.float32(1 if chosen else -1), np.arange(1000, dtype=np.float32))


@pytest.mark.parametrize("other", [lambda b, x, i: x, lambda b, x, i: updated(b, x, 7, i)])
@pytest.mark.parametrize("order", [1, -1])
def test_a_branch_that_computes_an_array_beside_one_that_hands_it_on(other, order):
    """The loop that does so does not copy its array in each round."""

    def body(b, count, x):
        branches = []
        for compute in (lambda b, x, i: b.Rev(x, dimensions=(0,)), other)[::order]:
            inner = XlaBuilder("branch")
            given = inner.parameter(TupleShape((ARRAY, COUNT)))
            branches.append(inner.build(compute(inner, inner.GetTupleElement(given, 0), inner.GetTupleElement(given, 1))))
        given = b.Tuple([x, count])
        return [b.Conditional(b.Eq(count, b.constant(np.int64(3))), given, branches[0], given, branches[1])]

    module = counting_loop(body)
    prepared, assignment = assign(module)
    assert not assignment.loops[the_loop(prepared)].seconds
    check_compiled(module, np.arange(1000, dtype=np.float32))


def exchanged(b, x, y):
    return [y, x]


def kept(b, x, y):
    return [x, x]


@pytest.mark.parametrize("change", [exchanged, kept])
@pytest.mark.parametrize("order", [1, -1])
def test_a_branch_that_hands_on_other_arrays(change, order):
    """The loop copies them where it runs this branch, and otherwise updates them in place."""

    def body(b, count, *arrays):
        given = b.Tuple([updated(b, arrays[0], 7, count), arrays[1]])
        branches = []
        for hand_on in (change, lambda b, x, y: [x, y])[::order]:
            inner = XlaBuilder("branch")
            held = inner.parameter(given.shape)
            branches.append(inner.build(inner.Tuple(hand_on(inner, *[inner.GetTupleElement(held, k) for k in range(2)]))))
        chosen = b.Conditional(b.Eq(count, b.constant(np.int64(3))), given, branches[0], given, branches[1])
        return [b.GetTupleElement(chosen, k) for k in range(2)]

    module = counting_loop(body, None, None)
    prepared, assignment = assign(module)
    assert not assignment.loops[the_loop(prepared)].seconds
    check_compiled(module, np.arange(1000, dtype=np.float32), np.ones(1000, np.float32))


def test_results_that_are_arguments_constants_or_equal():
    b = XlaBuilder("main")
    x = b.parameter(ARRAY)
    y = b.Neg(x)
    constant = b.constant(np.arange(5, dtype=np.float32))
    module = b.build_module(b.Tuple([x, y, y, constant, b.Reshape(y, (10, 100)), b.constant(np.float32(3))]))
    prepared, assignment = assign(module)
    arrays = [Value(prepared.entry.root, leaf) for leaf in range(5)]
    assert [assignment.of(value).number for value in arrays] == [0, 1, 2, 3, 4]
    check_compiled(module, np.arange(1000, dtype=np.float32))


def test_one_body_used_by_two_loops():
    b = XlaBuilder("main")
    x, y = b.parameter(ARRAY), b.parameter(ARRAY)
    loop = the_loop(counting_loop(lambda b, i, x: [b.Add(b.Rev(x, dimensions=(0,)), x)]))
    results = [
        b.GetTupleElement(
            b.While(loop.attributes["condition"], loop.attributes["body"], b.Tuple([b.constant(np.int64(0)), array])), 1
        )
        for array in (x, y)
    ]
    check_compiled(b.build_module(b.Sub(*results)), np.arange(1000, dtype=np.float32), np.ones(1000, np.float32))


def updated(b, x, value, position):
    row = b.BroadcastInDim(b.constant(np.float32(value)), (1,), ())
    return b.DynamicUpdateSlice(x, row, [position])


def loop_that_updates(b, x, value):
    state_shape = TupleShape((COUNT, ARRAY))
    inner = XlaBuilder(f"condition_{value}")
    condition = inner.build(inner.Lt(inner.GetTupleElement(inner.parameter(state_shape), 0), inner.constant(np.int64(5))))
    inner = XlaBuilder(f"body_{value}")
    state = inner.parameter(state_shape)
    count = inner.GetTupleElement(state, 0)
    array = updated(inner, inner.GetTupleElement(state, 1), value, count)
    body = inner.build(inner.Tuple([inner.Add(count, inner.constant(np.int64(1))), array]))
    return b.GetTupleElement(b.While(condition, body, b.Tuple([b.constant(np.int64(0)), x])), 1)


def branch_that_updates(b, x, value):
    branches = []
    for name, position in (("first", 1), ("second", 2)):
        inner = XlaBuilder(f"{name}_{value}")
        branches.append(inner.build(updated(inner, inner.parameter(ARRAY), value, inner.constant(np.int64(position)))))
    pred = b.Gt(b.Reshape(b.Slice(x, (0,), (1,)), ()), b.constant(np.float32(0)))
    return b.Conditional(pred, x, branches[0], x, branches[1])


@pytest.mark.parametrize("nested", [loop_that_updates, branch_that_updates])
@pytest.mark.parametrize("is_read_again", [False, True])
def test_updates_behind_loops_and_branches_that_update(nested, is_read_again):
    b = XlaBuilder("main")
    array = b.Rev(b.parameter(ARRAY), dimensions=(0,))
    before = []
    for value in (10, 20, 30):
        array = nested(b, array, value)
        before.append(array)
        array = updated(b, array, value + 1, b.constant(np.int64(value)))
    result = b.Rev(array, dimensions=(0,))
    for one in before if is_read_again else ():
        result = b.Add(result, b.Rev(one, dimensions=(0,)))
    module = b.build_module(result)
    prepared, assignment = assign(module)
    copies = memory_plan(prepared, assignment).copies
    assert bool(copies) is is_read_again
    check_compiled(module, np.arange(1000, dtype=np.float32))

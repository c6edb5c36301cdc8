"""Lists whose length the program decides: what decorated functions return is what they return undecorated."""

from collections import deque

import numpy as np
import pytest
from list_programs import check

PROGRAMS = []


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


@program
def appended_in_a_branch(x):
    out = []
    for i, value in enumerate(x):
        if value > 0:
            out.append((i, value))
    return out, len(out)


@program
def appended_on_both_sides(x):
    small, large = [], [0.0]
    for value in x:
        if value > 2:
            large.append(value)
        else:
            small.append(int(value))
    return small, large, len(small) + len(large)


@program
def slices_that_end_before_they_begin(x):
    out = [value for value in x if value > -100]
    end = int(x[0]) - int(x[0])
    out[2:end] = [7.0, 8.0]
    out[len(out) : -3] = [9.0]
    del out[3:end]
    del out[3:1]
    return out


@program
def as_a_stack(x):
    stack, seen = [0], []
    while stack:
        place = stack.pop()
        if place < len(x) and x[place] > -1:
            seen.append(place)
            stack.append(2 * place + 2)
            stack.append(2 * place + 1)
    return seen


@program
def as_a_queue(x):
    queue, order = [0], []
    while queue:
        place = queue.pop(0)
        order.append(place)
        for child in (2 * place + 1, 2 * place + 2):
            if child < len(x) and x[child] > -2:
                queue.append(child)
    return order


@program
def grown_beyond_the_first_capacity(x):
    out = [0]
    while len(out) < 3000 and x[0] < 5:
        out.append(out[-1] + 1)
    return out[-1], len(out), sum(out)


@program
def texts_and_none_in_elements(x):
    log = []
    for i, value in enumerate(x):
        if value > 3:
            log.append(("above", i, value))
        elif value < 0:
            log.append(("below", i, None))
    return log


@program
def known_lists_stay(x):
    out = []
    for i in range(3):
        out.append(x[i])
    return out, [1, 2.5, "text"], out + [1]


@program
def read_from_both_ends(x):
    out = [0.0]
    for value in x:
        if value > out[-1]:
            out.append(value)
    return out[0], out[-1], out[len(out) - 1], out[:2], out[::-1], out[1:], out[-2:], out[:-1], out[::2]


@program
def index_out_of_range(x):
    out = [v for v in x[:1]]
    for value in x:
        if value > 4:
            out.append(value)
    return out[1]


@program
def pop_from_empty(x):
    stack = [1.0]
    for value in x:
        if value > 2:
            stack.append(value)
        else:
            stack.pop()
    return stack


@program
def contained(x):
    seen = []
    for value in x:
        kind = int(value) % 3
        if kind not in seen:
            seen.append(kind)
    return seen, 1 in seen, 7 in seen, seen == [0, 1, 2], seen != []


@program
def counted_by_place(x):
    counts = [0] * 4
    for value in x:
        counts[int(value) % 4] += 1
    return counts, counts[int(x[0])]


@program
def inserted_and_removed(x):
    out = [2.0]
    for value in x:
        place = 0
        while place < len(out) and out[place] < value:
            place += 1
        out.insert(place, value)
    if x[0] > 2:
        out.remove(2.0)
    out.insert(0, -100.0)
    return out, out.index(2.0) if 2.0 in out else -1, out.count(3.0)


@program
def builtins(x):
    out = [1.0]
    for value in x:
        if value > -2:
            out.append(value)
    return sum(out), max(out), min(out), sorted(out), sorted(out, reverse=True), any(v > 3 for v in x), list(out), out.copy()


@program
def gone_over(x):
    out = []
    for value in x:
        if value > 0:
            out.append(value)
    total, squares = 0.0, []
    for i, value in enumerate(out):
        total += i * value
        squares.append(value**2)
    pairs = 0.0
    for a, b in zip(out, out[1:]):
        pairs += a * b
    return total, squares, pairs


@program
def appended_while_gone_over(x):
    order = [0]
    for place in order:
        for child in (2 * place + 1, 2 * place + 2):
            if child < len(x) and x[child] > -2:
                order.append(child)
    return order


@program
def special_methods_by_their_names(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    changed = {"a": 1}
    if x[0] > 0:
        changed.__setitem__("a", 5)
        list.append(out, x[1])
    return out.__len__(), list.__len__(out), out.__contains__(x[2]), list.__getitem__([*out, x[0]], -1), changed


@program
def without_elements(x):
    above = [i for i, v in enumerate(x) if v > 5]
    pairs = [(v, i) for i, v in enumerate(x) if v > 5]
    flags = [v > 6 for v in x if v > 5]
    costs = [v * 2 for v in x if v > 5]
    x[above] = 5
    return (
        np.array(above),
        np.array(pairs),
        np.asarray(flags),
        np.sum(above),
        sum(costs),
        np.array(above, dtype=int),
        x[above],
        x,
    )


@program
def two_names(x):
    first = [1.0]
    second = first
    for value in x:
        if value > 1:
            first.append(value)
    second.append(7.0)
    return first, second


@program
def replaced_by_the_next(x):
    frontier, levels = [0], []
    while frontier:
        following = []
        for place in frontier:
            for child in (2 * place + 1, 2 * place + 2):
                if child < len(x) and x[child] > -2:
                    following.append(child)
        levels.append(len(frontier))
        frontier = following
    return levels


@program
def arrays_as_elements(x):
    rows = [x[:2]]
    for value in x:
        if value > 0:
            rows.append(x[:2] * value)
    return rows, np.array(rows), rows[-1].sum()


@program
def as_an_array(x):
    out, pairs = [], [(7, 0.5)]
    for i, value in enumerate(x):
        if value > 0:
            out.append(value)
            pairs.append((i, value))
    array = np.array(out)
    return array, array.sum(), np.array(pairs).shape, np.sum(out)


@program
def integers_that_become_floats(x):
    out = [0]
    for value in x:
        if value > 1:
            out.append(out[-1] + 1)
    out.append(0.5)
    return len(out)


@program
def cleared_and_extended(x):
    out, parts = [], []
    for value in x:
        out += [value, -value]
        if value > 3:
            parts.append(len(out))
            out.clear()
        if value < 0:
            out.extend([0.0, 1.0])
    return out, parts


@program
def attributes_and_items(x):
    holder = {"up": [], "down": []}
    for a, b in zip(x, x[1:]):
        if b > a:
            holder["up"].append(b - a)
        else:
            holder["down"].append(a - b)
    return holder


@program
def unpacked(x):
    out = [0.0, 1.0]
    for value in x:
        if value > 0:
            out.append(value)
    first, *middle, last = out
    return first, middle, last


@program
def unpacked_into_too_few(x):
    out = [0.0]
    for value in x:
        if value > 0:
            out.append(value)
    a, b, c, d, e, f = out
    return a + b


@program
def deleted(x):
    out = [5.0, 6.0, 7.0]
    for value in x:
        if value > 2:
            out.append(value)
    del out[1]
    del out[-1]
    out[0] = 9.0
    out[-1] = 8.0
    return out


@program
def comprehensions(x):
    kept = [i for i, value in enumerate(x) if value > 0]
    pairs = [a * b for a in kept for b in kept if a < b]
    nested = [(i, j) for i in range(3) for j in range(3) if x[i] > x[j]]
    return kept, [x[k] for k in kept], pairs, nested, [i for i in range(10) if i % 2]


@program
def generator_expressions(x):
    kept = []
    for i in range(len(x)):
        if all(abs(x[i] - x[j]) >= 1.5 for j in kept):
            kept.append(i)
    return kept, sum(k for k in kept), any(x[k] > 3 for k in kept), sorted(v for v in x if v < 3), max(v for v in kept)


@program
def mapped_and_filtered(x):
    large = list(filter(lambda v: v > 1, x))
    return large, list(map(lambda v: v * 2, large)), sum(map(lambda v: v * v, large), 0.5)


def root(a):
    if a < 1:
        raise ValueError("less than 1")
    return a**0.5


@program
def changed_in_a_statement_that_fails(x):
    steps = []
    try:
        steps.append(1.0)
        steps.append(root(x[0]))
        steps.append(2.0)
    except ValueError:
        steps.append(3.0)
    finally:
        steps.append(4.0)
    return steps


@program
def a_tuple_of_it(x):
    out = []
    for value in x:
        if value > 1:
            out.append(value)
    return tuple(out), len(tuple(out))


@program
def deque_breadth_first(x):
    free = np.abs(x).reshape(2, 3) < 2.5
    seen = np.zeros((2, 3), dtype=bool)
    queue, order = deque([(0, 0)]), []
    while queue:
        r, c = queue.popleft()
        if seen[r, c]:
            continue
        seen[r, c] = True
        order.append((r, c))
        for i, j in ((r, c + 1), (r + 1, c), (r, c - 1), (r - 1, c)):
            if 0 <= i < 2 and 0 <= j < 3 and free[i, j] and not seen[i, j]:
                queue.append((i, j))
    return order, seen


@program
def deque_at_both_ends(x):
    queue = deque([1.0, 2.0, 3.0])
    for value in x:
        if value > 1:
            queue.appendleft(value)
        elif value < 0:
            queue.pop()
        else:
            queue.extend([value, value])
    while len(queue) > 4:
        queue.popleft()
    return list(queue), queue[0], queue[-1], isinstance(queue, deque)


@program
def deque_with_a_greatest_length(x):
    recent, sums = deque(maxlen=3), []
    for value in x:
        if value > 0:
            recent.append(value)
        if len(recent) > 0:
            sums.append(sum(recent))
    return recent, sums


@program
def deque_without_elements(x):
    queue = deque()
    for value in x:
        if value > 2:
            queue.append(value)
    return queue.popleft()


@program
def lists_of_other_lengths_as_elements(x):
    groups, group = [], []
    for value in x:
        group.append(value)
        if value > 2:
            groups.append(group)
            group = []
    return groups, group


@program
def replaced_on_one_side_and_changed_on_the_other(x):
    out, other = [4], [1, 2]
    for i in range(len(x)):
        if x[i] > 2:
            out = [w + 1 for w in out]
            other.append(i)
        else:
            out.append(i)
            other = other[::-1]
        if i in other:
            other = other + [int(x[i])]
    return out, other


@program
def returned_early(x):
    out = []
    for value in x:
        if value > 4:
            return out
        if value > 1:
            out.append(value)
    return out


@program
def neighbouring_elements(x):
    values, found, pieces = x.tolist(), {}, []
    for i in range(len(values) - 2):
        three = tuple(values[i : i + 3])
        found[three[:-1]] = three[1:]
    for i in range(0, len(values), 4):
        pieces.append(values[i : i + 4])
    return found, pieces, [sum(values[i - 2 : i + 1]) for i in range(len(values))]


@pytest.mark.parametrize("function", PROGRAMS)
def test_as_undecorated(function):
    check(function)

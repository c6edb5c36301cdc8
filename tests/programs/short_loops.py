"""Functions of a few lines with loops, lists and comprehensions that depend on values, each for one construct."""

import itertools

import numpy as np

from .registry import either, program

UP, DOWN = np.arange(6.0), np.arange(6.0)[::-1] - 2
line = either((UP,), (DOWN,))
# The loops end where the numbers say.
scaled = either((UP, 1.0), (DOWN, 40.0))


# --- loops


@program(scaled)
def while_loop(x, least):
    count = 0
    while np.abs(x).max() < least:
        x = x * 2
        count += 1
    return x, count


@program(scaled)
def while_else(x, least):
    rounds = 0
    while rounds < 3:
        if x.sum() * 2**rounds > least:
            break
        rounds += 1
    else:
        return "never"
    return rounds


@program(scaled)
def endless_loop_with_break(x, least):
    while True:
        x = x * 1.5
        if x.max() > least:
            break
    return x


@program(line)
def continue_and_break(x):
    total = 0
    for value in x:
        if value < 0:
            continue
        if value > 4:
            break
        total += value
    return total


@program(line)
def for_else(x):
    for i, value in enumerate(x):
        if value < 0:
            place = i
            break
    else:
        place = None
    return place


@program(line)
def return_from_nested_loops(x):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if x[i] + x[j] > 4:
                return i, j
    return None


@program(line)
def loop_variable_afterwards(x):
    for i, value in enumerate(x):
        if value > 2:
            break
    return i, value


@program(either((UP, 0), (UP, 4)))
def name_of_a_loop_that_does_not_run(x, n):
    for i in range(n):
        y = x * i
    return y, i


@program(either((UP, 2), (DOWN, 5)))
def traced_trip_count(x, n):
    for i in range(int(x[1] + n) % 7):
        x = x + i
    return x


@program(either((1, 9, 3), (9, 1, -2)))
def range_of_arguments(a, b, step):
    total = 0
    for i in range(a, b, step):
        total = 10 * total + i
    return total, list(range(a, b, step))


@program(line)
def number_that_becomes_a_float(x):
    s = 0
    for i in range(3):
        s = s + x[i] / 2
    return s


@program(line)
def number_that_becomes_an_array(x):
    s = 0
    for _ in range(3):
        s = s * 0.5 + x
    return s


@program(line)
def array_that_grows(x):
    y = x[:1]
    for value in x[1:]:
        y = np.append(y, y[-1] + value)
    return y


@program(line)
def none_until_found(x):
    best = None
    for value in x:
        if best is None or value > best:
            best = value
    return best


@program(line)
def two_variables_exchanged(x):
    a, b = x[0], x[1]
    for value in x:
        a, b = b, a + value
    return a, b


@program(line)
def over_pairs(x):
    total = 0.0
    for (i, a), b in zip(enumerate(x[:-1]), x[1:]):
        total += i * a * b
    for i, j in np.ndindex(2, 3):
        total += x[i] * x[j]
    for a, b in itertools.combinations(x[:3], 2):
        total += a - b
    return total


@program(line)
def backwards(x):
    y = np.zeros_like(x)
    for i in reversed(range(len(x))):
        y[i] = x[i] + (y[i + 1] if i + 1 < len(x) else 0)
    for i in range(len(x) - 1, 0, -1):
        y[i] -= y[i - 1]
    return y


@program(line)
def list_of_results(x):
    out = []
    for value in x:
        out.append(value**2)
    return out, np.array(out), len(out)


@program(line)
def list_of_some_results(x):
    out = []
    for i, value in enumerate(x):
        if value > 0:
            out.append((i, value))
    return out


@program(line)
def list_as_a_stack(x):
    stack, seen = [0], []
    while stack:
        place = stack.pop()
        if place < len(x) and x[place] > -1:
            seen.append(place)
            stack.append(2 * place + 2)
            stack.append(2 * place + 1)
    return seen


@program(line)
def list_as_a_queue(x):
    queue = list(x[:3])
    for value in x[3:]:
        if value > queue[0]:
            queue.pop(0)
        queue.append(value)
    return queue


@program(line)
def list_by_place(x):
    counts = [0] * 4
    largest = [None, -np.inf]
    for i in range(len(x)):
        counts[int(x[i]) % 4] += 1
        if x[i] > largest[1]:
            largest = [i, x[i]]
    return counts, largest


@program(line)
def dictionary_of_counts(x):
    counts = {"up": 0, "down": 0}
    for a, b in zip(x, x[1:]):
        counts["up" if b > a else "down"] += 1
    return counts


@program(line)
def set_of_values(x):
    seen = set()
    for value in x:
        seen.add(int(value) % 3)
    return seen, 1 in seen, len(seen)


# --- expressions


@program(line)
def comprehensions(x):
    return [v + 1 for v in x], {i: v for i, v in enumerate(x)}, sum(v * v for v in x), [[a * b for b in x[:2]] for a in x[:2]]


@program(line)
def comprehension_with_condition(x):
    return [v for v in x if v > 1], [v if v > 1 else 0.0 for v in x]


@program(line)
def any_and_all(x):
    return any(v > 3 for v in x), all(v > -3 for v in x), sum(v > 1 for v in x)


@program(line)
def sorted_by_keys(x):
    return sorted(x, key=lambda v: abs(v - 2)), max(range(6), key=lambda i: x[i]), min(x, default=None)


@program(line)
def mapped_and_filtered(x):
    return list(map(lambda v: v * 2, x)), list(filter(lambda v: v > 1, x)), list(zip(x, x[1:]))


@program(line)
def slices_and_stars(x):
    first, *middle, last = x
    return [first, *middle[:2], last], (lambda *values, scale=2: [v * scale for v in values])(*x[:2], scale=3)

"""Generators: what goes over them is captured with them."""

import itertools

import numpy as np
import pytest
from phlox import TracerError, jit

from ...support.undecorated import check


def rising(values):
    last = -np.inf
    for v in values:
        if v > last:
            yield v
            last = v


def listed(x):
    return list(rising(x))


def summed(x):
    s = 0.0
    for v in rising(x):
        s += v
    return s


def numbered_and_left(x):
    s = 0.0
    for i, v in enumerate(rising(x)):
        s += v * i
        if s > 3:
            break
    else:
        s = s * 0 - 1
    return s, i


def returned_out_of(x):
    for v in rising(x):
        if v > 2:
            return v * 10
    return -1.0


def newton(f, df, x):
    while True:
        x = x - f(x) / df(x)
        yield x


def endless_until_small(x):
    n = 0
    for r in newton(lambda t: t * t - 2, lambda t: 2 * t, x[3]):
        n += 1
        if abs(r * r - 2) < 1e-12:
            break
    return r, n


def of_known_length(x):
    def evens(n):
        for i in range(n):
            if i % 2 == 0:
                yield i

    return [i * x[0] for i in evens(100)], sum(evens(50)), max(evens(9))


def walk(lo, hi):
    if lo >= hi:
        return
    m = (lo + hi) // 2
    yield from walk(lo, m)
    yield m
    yield from walk(m + 1, hi)


def recursive(x):
    s = []
    for i in walk(0, 5):
        s.append(x[i % 4] * i)
    return s, list(walk(0, 4))


def in_comprehensions(x):
    return sum(v * v for v in rising(x)), sorted(rising(x), reverse=True), [v for v in rising(x) if v > 1]


def next_of_one(x):
    g = newton(lambda t: t * t - 2, lambda t: 2 * t, x[3])
    a = next(g)
    b = next(g)
    return a, b


def pairs(x):
    def pairs(a):
        for i in range(len(a)):
            for j in range(i + 1, len(a)):
                if a[i] * a[j] > 0:
                    yield i, j

    best = (-1, -1)
    c = 0
    for i, j in pairs(x):
        c += 1
        if x[i] + x[j] > 3:
            best = (i, j)
            break
    return best, c


def parts(x):
    def chunks(a, n):
        for i in range(0, len(a), n):
            yield a[i : i + n]

    return [c.sum() for c in chunks(x, 2)], [c for c in chunks(x, 3)]


def many_values(x):
    out = np.zeros(4)

    def gen():
        for k in range(300):
            yield k % 4, x[k % 4]

    for k, v in gen():
        out[k] += v
    return out


def finally_at_a_break(x):
    log = []

    def gen(n):
        try:
            for k in range(n):
                yield k + 0
        finally:
            log.append("end")

    for k in gen(5):
        if k == 3:
            break
    return k, log


def endless_of_numbers(x):
    def fib():
        a, b = 0, 1
        while True:
            yield a
            a, b = b, a + b

    t = 0
    for f in fib():
        if f > x[2] * 10:
            break
        t += f
    return t, list(itertools.islice(fib(), 5)), [f for f, _ in zip(fib(), range(6))]


def steps_of_an_integrator(x):
    def rk(f, y, t, h):
        while True:
            k1 = f(t, y)
            k2 = f(t + h, y + h * k1)
            y = y + h * (k1 + k2) / 2
            t = t + h
            yield t, y

    for t, y in rk(lambda t, y: -y, x[0], 0.0, 0.1):
        if t > 3:
            return t, y


def generator_expressions(x):
    g = (v * 2 for v in x)
    return list(g), sum(v for v in x if v > 0), next(v for v in x * 1.0)


class Bag:
    def __init__(self, a):
        self.a = a

    def __iter__(self):
        for v in self.a:
            if v > 0:
                yield v

    def items(self):
        for i, v in enumerate(self.a):
            yield i, v + 0


def iterable_object(x):
    b = Bag(x)
    s = 0
    for v in b:
        s += v
    d = {i: v for i, v in b.items()}
    return s, d, list(b)


def one_in_another(x):
    r = []
    for v in rising(x):
        for w in rising(x):
            if w > v:
                r.append(v * w)
                continue
    return r, len(r)


def in_a_captured_loop(x):
    total = 0.0
    for i in range(100):
        for v in rising(x * i):
            total += v
            if v > 50:
                break
    return total


def sent_to(x):
    def gen():
        received = yield 1
        yield received

    g = gen()
    next(g)
    return g.send(5), next(iter([x[0]]))


def expression_in_for(x):
    s = 0
    for v in (a for a in x if a > 0):
        s += v
    return s, any(v > 3 for v in rising(x)), all(v > 3 for v in rising(x))


def into_containers(x):
    seen = {}
    for v in rising(x):
        seen["last"] = v
    return seen, tuple(rising(x))


def raised_and_unpacked(x):
    for v in rising(x):
        if v > 100:
            raise ValueError(f"big {v}")
    a, *b = walk(0, 4)
    return a, b, v


BAG = Bag(np.array([3.0, -1.0, 2.0]))


def object_from_outside(x):
    s = 0
    for v in BAG:
        s += v * x[0]
    return s, list(BAG), [i * v for i, v in BAG.items()], sum(BAG)


def tree(x):
    class Tree:
        def __init__(self, v, l=None, r=None):
            self.v, self.l, self.r = v, l, r

        def __iter__(self):
            if self.l is not None:
                yield from self.l
            yield self.v
            if self.r is not None:
                yield from self.r

    t = Tree(x[0], Tree(x[1]), Tree(x[2], None, Tree(x[3])))
    return list(t), sum(t), [v for v in t if v > 0], max(t)


def continued(x):
    def powers(b):
        p = b
        while p < 1000:
            yield p
            p *= b

    n = 0
    for p in powers(x[2]):
        if p % 1 > 0.5:
            continue
        n += 1
    return n, len(list(powers(x[3])))


def windows(x):
    def windows(a, k):
        for i in range(len(a) - k + 1):
            yield a[i : i + k]

    return np.array([w.max() for w in windows(np.tile(x, 50), 3)]), sum(w.sum() > 0 for w in windows(x, 2))


def bisection(x):
    def bisect(f, a, b):
        fa = f(a)
        while True:
            m = (a + b) / 2
            fm = f(m)
            yield m, b - a
            if fa * fm <= 0:
                b = m
            else:
                a, fa = m, fm

    for m, w in bisect(lambda t: t**3 - x[2], 0.0, 4.0):
        if w < 1e-9:
            return m


def with_a_returned_value(x):
    def gen():
        total = 0.0
        for v in x:
            total += v
            yield total
        return total

    out = []
    for t in gen():
        out.append(t)
    return out


def counts_by_values(x):
    def gen(n):
        k = 0
        while k < n:
            yield k
            k += 1

    s = 0
    for a in gen(int(x[3])):
        for b in gen(a + 1):
            s += a * b
    return s


def several(x):
    gens = [rising(x), rising(-x)]
    return [list(g) for g in gens], [sum(rising(x * k)) for k in range(3)]


def first_only(x):
    it = rising(x)
    first = []
    for v in it:
        first.append(v)
        break
    return first


def returned_out_of_two(x):
    for k in range(200):
        x = x * 0.9
        for v in rising(x):
            if v < 1e-3:
                return k
    return -1


def expression_of_two_loops(x):
    found = None
    for pair in ((i, j) for i in range(4) for j in range(i) if x[i] * x[j] < 0):
        found = pair
    return found


def into_a_dict(x):
    d = {}
    for i, v in enumerate(rising(x)):
        d[i] = v
    return len(d)


def up(x):
    for v in x:
        if v > 0:
            yield v


def exhausted_in_the_first_round(x):
    g = up(x)
    s = 0
    for i in range(100):
        for v in g:
            s += v + i
    return s


def exhausted(x):
    g = up(x)
    a = list(g)
    return a, list(g), sum(g)


def expression_that_is_exhausted(x):
    g = (v * 2 for v in x if v > 0)
    s = 0.0
    for v in g:
        s += v
    for v in g:
        s += v + 100
    return s


def left_in_each_round(x):
    s = 0
    for i in range(50):
        g = up(x * i)
        for v in g:
            s += v
            if s > 10:
                break
    return s


def last_value(x):
    total = 0.0
    for v in up(x):
        total += v
    return v, total


def of_several_types(x):
    def gen():
        yield 1.0
        yield x[0]
        yield "text"

    return list(gen()), [type(v).__name__ for v in gen()]


def of_tuples(x):
    def gen():
        for i in range(3):
            yield i, x[i]

    a = dict(gen())
    (p, q), *r = gen()
    return a, p, q, r, max(gen(), key=lambda t: t[1])


def grid(x):
    def grid(n):
        for i in range(n):
            for j in range(n):
                yield i, j

    out = np.zeros((20, 20))
    for i, j in grid(20):
        out[i, j] = x[i % 4] * j
    return out


def first_of_many(x):
    none = next((v for v in x if v > 100), None)
    place = next((i for i, v in enumerate(x) if v > 2), len(x))
    return (
        next(rising(x)),
        next(up(x), -1.0),
        none is None,
        place,
        x[:place].sum(),
        [next((v for v in x if v > k), k) for k in x],
    )


def first_of_known_and_unknown(x):
    losses = [0.0, *[1 - v for v in x]]
    return next((i for i, v in enumerate(losses) if v > 0.4), None), [i for i, v in zip(range(9), losses) if v < 0]


def looked_for(x):
    return 2.5 in rising(x), 7.0 in rising(x), x[1] not in rising(x), 0.5 in (v for v in x if v > 0)


def first_of_none(x):
    try:
        return next(v for v in x if v > 6)
    except StopIteration:
        return "none"


def groups_in_a_list(x):
    def runs(values):
        begin = 0
        while begin < len(values):
            end = begin + 1
            while end < len(values) and (values[end] > 0) == (values[begin] > 0):
                end += 1
            yield values[begin], end
            begin = end

    found = []
    for value, end in runs(x):
        found.append((value, end))
    return found


def iterator_of_a_round(x):
    total = 0.0
    for v in x:
        numbers = iter((v, 2 * v))
        total = 0.5 * total + next(numbers) - next(numbers, 1) * np.sin(v) * np.cos(v) + next(numbers, 3)
    return total


PROGRAMS = [
    first_of_many,
    first_of_none,
    looked_for,
    first_of_known_and_unknown,
    groups_in_a_list,
    iterator_of_a_round,
    exhausted_in_the_first_round,
    exhausted,
    expression_that_is_exhausted,
    left_in_each_round,
    last_value,
    of_several_types,
    of_tuples,
    grid,
    listed,
    summed,
    numbered_and_left,
    returned_out_of,
    endless_until_small,
    of_known_length,
    recursive,
    in_comprehensions,
    next_of_one,
    pairs,
    parts,
    many_values,
    finally_at_a_break,
    endless_of_numbers,
    steps_of_an_integrator,
    generator_expressions,
    iterable_object,
    one_in_another,
    in_a_captured_loop,
    sent_to,
    expression_in_for,
    into_containers,
    raised_and_unpacked,
    object_from_outside,
    tree,
    continued,
    windows,
    bisection,
    with_a_returned_value,
    counts_by_values,
    several,
    first_only,
    returned_out_of_two,
    expression_of_two_loops,
    into_a_dict,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_do_what_they_do_undecorated(program):
    jitted = check(program, np.array([0.5, -1.5, 2.5, 3.5]))
    check(jitted, np.array([5.5, -1.5, 2.5, 13.5]))
    check(jitted, np.array([7.5, 1.5, 2.5, 3.5]))


def gone_on_with(x):
    values = up(x)
    for v in values:
        if v > 2:
            break
    return v, list(values)


def made_outside_of_the_branch(x):
    values, total = up(x), 0.0
    if x[0] > 0:
        for v in values:
            total += v
    return total


def asked_in_a_branch(x):
    values, total = up(x), 0.0
    if x[0] > 0:
        total += next(values)
    return total


@pytest.mark.parametrize("program", [gone_on_with, made_outside_of_the_branch, asked_in_a_branch])
def test_what_cannot_be_gone_on_with_is_an_error(program):
    with pytest.raises(TracerError, match="make a list of it before"):
        jit(program)(np.array([0.5, -1.5, 2.5, 3.5]))


def test_an_iterator_asked_in_a_branch_is_an_error():
    def chosen(x):
        numbers, total = zip([1.0, 2.0, 3.0, 4.0]), 0.0
        for v in x:
            if v > 1:
                total += next(numbers)[0] * v
        return total

    with pytest.raises(TracerError, match="count positions"):
        jit(chosen)(np.array([0.5, -1.5, 2.5, 3.5]))


def test_a_function_inside_that_only_counts_up_a_variable_has_it_in_a_loop_over_a_generator():
    def count(x):
        calls = total = 0

        def add(v):
            nonlocal calls
            calls += 1
            return v

        for v in (2 * value for value in x):
            total += add(v)
        return total

    traced = jit(count)
    for x in (np.arange(5.0), np.arange(40.0), np.arange(5.0)):
        assert traced(x) == count(x)


def test_rounds_of_an_argument_ask_a_generator_from_outside():
    def halves():
        value = 1.0
        while True:
            yield value
            value /= 2

    def asked(n, x):
        first, second = halves(), halves()
        next(second)
        return [[next(one) * x for one in (first, second)] for _ in range(n)], list(itertools.islice(first, n))

    jitted = jit(asked)
    for n, x in ((3, 2.0), (3, 0.5), (2, 1.0)):
        assert jitted(n, x) == asked(n, x)

"""Objects in lists and dicts whose length the program decides: what is changed of one is seen wherever it is held."""

import copy
import dataclasses
from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np
import pytest
from phlox import TracerError, jit

X = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])
KEPT = []


@dataclass
class Particle:
    x: float
    v: float = 0.0


class Counted:
    def __init__(self, x):
        self.x, self.n = x, 0

    def step(self, dt):
        self.x += dt
        self.n += 1


class Node:
    def __init__(self, number):
        self.number, self.seen, self.near = number, False, []


def described(value):
    """The value as tuples of names and numbers, types among them."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *map(described, value)
    if isinstance(value, dict):
        return type(value).__name__, *((key, described(one)) for key, one in value.items())
    return (type(value).__name__, described(vars(value))) if hasattr(value, "__dict__") else (type(value).__name__, value)


def above_zero(x, make=Particle):
    made = []
    for value in x:
        if value > 0:
            made.append(make(float(value)))
    return made


def by_their_positions(x):
    ps = above_zero(x)
    for i in range(len(ps)):
        ps[i].x += i
    return ps


def pairs(x):
    ps = above_zero(x)
    for i in range(len(ps)):
        for j in range(i + 1, len(ps)):
            ps[i].v += ps[i].x - ps[j].x
            ps[j].v -= ps[i].x - ps[j].x
    for p in ps:
        p.x += 0.1 * p.v
    return ps


def by_methods(x):
    ps = above_zero(x, Counted)
    for k in range(7):
        ps[k % len(ps)].step(0.25)
    return ps


def by_names(x):
    ps = above_zero(x)
    p, q, last = ps[0], ps[0], ps[-1]
    p.x += 1
    q.x *= 3
    last.v = 5.0
    return ps, p.x, last.x, p is q, ps[0] is p, ps[1] is p


def put_there_twice(x):
    ps = []
    for value in x:
        p = Particle(float(value))
        if value > 0:
            ps.append(p)
            ps.append(p)
    ps[0].x += 10
    return ps, ps[0] is ps[1], ps[1] is ps[2]


def held_elsewhere(x):
    first = Particle(100.0)
    ps = [first]
    for value in x:
        if value > 0:
            ps.append(Particle(float(value)))
    for p in ps:
        p.x += 1
    first.x *= 2
    return ps, first


def changed_behind_its_append(x):
    ps = []
    for value in x:
        p = Particle(float(value))
        if value > 0:
            ps.append(p)
        p.v = value + 5.0
    return ps


def moved_in_the_list(x):
    ps = above_zero(x)
    ps.sort(key=lambda p: p.x)
    p = ps[0]
    ps.insert(0, Particle(0.5))
    ps[0], ps[2] = ps[2], ps[0]
    p.x = 50.0
    ps.pop()
    return ps, p


def parts_of_lists(x):
    ps = above_zero(x)
    for p in [p for p in ps if p.x > 2]:
        p.v += p.x
    for p in ps[1:]:
        p.x += 1
    for i, p in enumerate(reversed(ps)):
        p.v -= i
    for p, q in zip(ps, ps[1:]):
        q.x += p.x
    best = max(ps, key=lambda p: p.x)
    best.v = 99.0
    return ps, best


def one_or_another(x):
    ps = above_zero(x)
    p = ps[0] if x[0] > 0 else ps[-1]
    q, best = ps[0], None
    if x[1] > 0:
        q = ps[1]
        q.x = 100.0
    for one in ps:
        if best is None or one.x > best.x:
            best = one
    best.v += 10.0
    q.v += 1.0
    p.v *= 2.0
    return ps, p is q, best is q


def in_tuples(x):
    events = []
    for i, value in enumerate(x):
        if value > 0:
            events.append((float(value), Particle(float(value), float(i))))
    events.sort(key=lambda event: -event[0])
    for time, p in events:
        p.x += time
    return events


def in_objects(x):
    class Spring:
        def __init__(self, end):
            self.end, self.length = end, 0.0

    ps, springs = [], []
    for value in x:
        if value > 0:
            ps.append(Particle(float(value)))
            springs.append(Spring(ps[-1]))
    for spring in springs:
        spring.length += 1
        spring.end.x += spring.length
    ps[0].v = 9.0
    return ps, [(spring.length, spring.end.x, spring.end.v) for spring in springs]


def in_a_dict(x):
    found, others = {}, defaultdict(lambda: Counted(0.5))
    for value in x:
        key = int(value) % 3
        if key not in found:
            found[key] = Counted(0.0)
        found[key].step(1.5)
        others[int(value) % 2].step(value)
    return found, dict(others)


def in_a_list_of_known_length(x):
    ps = [Particle(float(value)) for value in x]
    i = int(np.argmax(x))
    ps[i].v = 4.0
    for k in range(len(x)):
        ps[(k + i) % 6].x += 1
    return ps


def taken_changed_and_put_back(x):
    queue, done = deque(above_zero(x)), []
    while queue:
        p = queue.popleft()
        p.x -= 2
        p.v += 1
        if p.x > 0:
            queue.append(p)
        else:
            done.append(p)
    return done


def popped_changed_and_put_back(x):
    queue, done = [], []
    for i, value in enumerate(x):
        if value > 0:
            queue.append((i, Particle(float(value))))
    while queue:
        i, p = queue.pop()
        p.x -= 2
        if p.x > 0:
            queue.append((i, p))
        else:
            done.append(p)
    return done


def copied(x):
    ps = above_zero(x)
    one, other, third = copy.copy(ps[0]), copy.deepcopy(ps[1]), dataclasses.replace(ps[0], v=3.0)
    ps[0].x += 1
    one.x += 5
    other.x += 6
    third.x += 7
    return ps, one, other, third, dataclasses.asdict(ps[0]), dataclasses.astuple(ps[1])


def compared_and_shown(x):
    ps = above_zero(x)
    ps[0].x += 1
    p = Particle(4.0)
    texts = f"{ps[0]}", str(ps[1]), repr(p)
    return ps[0] == p, p == ps[0], ps[0] != ps[1], isinstance(ps[0], Particle), type(ps[0]) is Particle, texts


def with_lists(x):
    nodes = []
    for value in x:
        if value > -2:
            nodes.append(Node(int(value)))
    for i in range(1, len(nodes)):
        nodes[i - 1].near.append(i)
        nodes[i].seen = True
    nodes[1].near[0] = 7
    return nodes


def found_from_the_first(x):
    nodes = [Node(i) for i in range(6)]
    queue, order = [nodes[0]], []
    nodes[0].seen = True
    while queue:
        node = queue.pop(0)
        order.append(node.number)
        for j in range(6):
            if abs(x[node.number] - x[j]) < 4.5 and not nodes[j].seen:
                nodes[j].seen = True
                queue.append(nodes[j])
    return order, [node.seen for node in nodes]


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y


class Body:
    mass = 1.5

    def __init__(self, place, speed):
        self.place, self.speed, self.flies, self.found = place, speed, True, None

    def step(self, dt):
        self.place = self.place + self.speed * dt
        if self.place.x > 5:
            self.flies = False
            self.found = 3

    @property
    def energy(self):
        return self.speed.x**2 * self.mass

    @energy.setter
    def energy(self, energy):
        self.speed.x = np.sqrt(energy)


def of_vectors(x):
    bodies = []
    for value in x:
        if value > 0:
            bodies.append(Body(Vector(float(value), 0.0), Vector(1.0, float(value))))
    for _ in range(5):
        for body in bodies:
            body.step(0.5)
    bodies[0].speed.y = -3.0
    bodies[1].energy = 16.0
    return bodies, bodies[0].place == bodies[1].place, [body.energy for body in bodies]


def of_other_types(x):
    ps = above_zero(x, lambda value: Counted(1))
    for p in ps:
        p.x = p.x * 0.5 + x[0]
    ps[0].n = 2.5
    ps[1].n = None
    return ps


def behind_errors(x):
    ps, failed = above_zero(x, Counted), 0
    for p in ps:
        try:
            p.n += 1
            if p.x > 3:
                raise ValueError
            p.x += 10
        except ValueError:
            failed += 1
    return ps, failed


def given_to_functions(x):
    def hit(p, k):
        p.x -= k
        if p.x < 0:
            p.x = 0.0
            p.v += 1
        return p.x

    ps = above_zero(x)
    total = hit(ps[0], 1.5) + hit(ps[-1], 2.5) + hit(ps[0], 3.5)
    for p in ps:
        total += hit(p, 0.25)
    return total, ps


def lists_of_chosen_ones(x):
    """Nothing of the objects is changed but the lists that they hold."""
    bins = [Node(k) for k in range(3)]
    tables = [{"seen": [], "sum": 0} for _ in range(2)]
    for value in x:
        bins[int(value) % 3].near.append(float(value))
        tables[int(value > 2)]["seen"].append(int(value))
    return [node.near for node in bins], tables


def stored_outside(x):
    ps = above_zero(x)
    for p in ps:
        p.x += 1
    KEPT[:] = ps
    return ps[0]


PROGRAMS = [
    by_their_positions, pairs, by_methods, by_names, put_there_twice, held_elsewhere, changed_behind_its_append,
    moved_in_the_list, parts_of_lists, one_or_another, in_tuples, in_objects, in_a_dict, in_a_list_of_known_length,
    copied, taken_changed_and_put_back, popped_changed_and_put_back, compared_and_shown, with_lists,
    found_from_the_first, of_other_types, of_vectors, behind_errors, given_to_functions,
    lists_of_chosen_ones,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_changes_are_seen(function):
    decorated = jit(function)
    for x in (X, -X, np.abs(X) + 0.25, X[::-1], X):
        assert described(decorated(x)) == described(function(x))


def test_there_is_one_object_for_each_that_the_function_makes():
    @jit
    def some(x):
        ps = above_zero(x)
        ps[0].x += 1
        return ps, [ps[1], ps[0]], ps[0], (ps[1], {"last": ps[-1]})

    ps, two, first, (second, last) = some(X)
    assert ps[0] is two[1] is first and ps[1] is two[0] is second and ps[-1] is last["last"]
    assert some(X)[0][0] is not first


def test_objects_are_stored_outside():
    decorated = jit(stored_outside)
    for x in (X, -X):
        stored_outside(x)
        expected = described(KEPT)
        first = decorated(x)
        assert described(KEPT) == expected and KEPT[0] is first


def test_there_may_be_many():
    def many(x):
        ps = []
        for k in range(1000):
            if x[k % 6] > 0:
                ps.append(Particle(x[k % 6] + k))
        for p in ps:
            p.v += p.x
        return ps

    decorated = jit(many)
    for x in (X, -X):
        assert described(decorated(x)) == described(many(x))


def with_another_attribute(ps):
    ps[0].other = 1


def as_a_dict(ps):
    vars(ps[0])["x"] = 1.0
    ps[1].x = 2.0


def as_a_key(ps):
    ps[0].x = 2.0
    return {ps[0]: 1}


def with_an_array(ps):
    ps[0].x = np.ones(3)


def without_an_attribute(ps):
    ps[0].x = 2.0
    del ps[1].x


@pytest.mark.parametrize("change", [with_another_attribute, as_a_dict, as_a_key, with_an_array, without_an_attribute])
def test_what_records_cannot_do_is_an_error(change):
    @jit
    def some(x):
        ps = above_zero(x, Counted)
        return change(ps), len(ps)

    with pytest.raises(TracerError, match="a Counted is changed"):
        some(X)

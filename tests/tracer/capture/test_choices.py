"""Values that are another kind of thing on each side of a branch: texts, functions, objects, None, arrays of other shapes."""

import dataclasses

import numpy as np
import pytest
from phlox.tracer import jit
from thinning import left_to_ci

from ...support.undecorated import check

UP, DOWN = np.arange(6.0), np.arange(6.0)[::-1] - 2
PROGRAMS = []


def program(*calls):
    def add(function):
        PROGRAMS.append((function, calls))
        return function

    return add


line = program((UP,), (DOWN,))


@line
def text_that_is_returned(x):
    if x[0] > 1:
        return "down"
    elif x[1] > 5:
        return "far"
    return "up"


@line
def text_as_key_in_a_loop(x):
    counts = {"up": 0, "down": 0}
    for a, b in zip(x, x[1:]):
        counts["up" if b > a else "down"] += 1
    return counts


@line
def formatted_and_compared(x):
    name = "up" if x[0] < x[1] else "down"
    said = f"{name} {x[1]:.2f}"
    if x[1] > 1:
        said = said + "!"
    return said, name.upper(), len(name), name == "up", "%s %.1f" % (name, x[1]), name in ("up", "left"), said.startswith("up")  # noqa: UP031


@line
def function_chosen(x):
    operations = [np.sin, np.cos, lambda v: v * 2]
    operation = operations[0] if x[0] > 1 else operations[2]
    return operation(x[1]), operation(x)


@program((UP,), (DOWN,), (np.arange(300) / 100,))
def state_of_an_automaton(x):
    state, seen = "start", 0
    for value in x:
        if state == "start":
            if value > 1:
                state = "run"
        elif state == "run":
            seen += 1
            if value > 2:
                state = "done"
        else:
            seen += 100
    return state, seen


class Counter:
    def __init__(self, count):
        self.count = count

    def twice(self):
        return self.count * 2


@line
def object_chosen_and_changed(x):
    first, second = Counter(1), Counter(2)
    chosen = first if x[0] > 1 else second
    chosen.count += 5
    return first.count, second.count, chosen.twice(), chosen is first


@program((UP,), (DOWN,), (np.sin(np.arange(300.0)),))
def best_as_a_dict(x):
    best = None
    for i, value in enumerate(x):
        if best is None or value > best["value"]:
            best = {"place": i, "value": value}
    return best


@line
def arrays_of_two_shapes(x):
    y = x[:2] if x[0] > 1 else x
    z = y * 2
    z += 1
    return z, z.sum(), len(y), y.shape, y[0], np.concatenate([y, x])


@line
def pairs_with_texts(x):
    number, name = (1, "a") if x[0] > 1 else (2, "b")
    return name + "c", number + 1, [name] * 2


@line
def kinds_of_results(x):
    if x[0] > 1:
        return {"first": x[0]}
    return [x[0], None]


@program((3.0,), (0.0,), (-2.0,))
def truths(a):
    name = "positive" if a > 0 else ""
    return a or "none", (a > 0 and a < 5), name or "no name", not name, "yes" if name else "no", a and None


@program((3, UP), (-1, DOWN))
def exception_chosen(n, x):
    kind = ValueError if x[0] > 1 else KeyError
    try:
        if n < 0:
            raise kind("negative")
    except ValueError as error:
        return f"caught {error}"
    return "fine"


@line
def none_in_one_way(x):
    if x.sum() > 12:
        return x.sum(), "large"


@line
def flags(x):
    rises = bool(x[0] < x[1])
    return rises is True, rises is False, rises is not True


@line
def loops_over_one_of_two(x):
    total = 0.0
    for value in (1.5, 2.5, 3.5) if x[0] > 1 else [5.0]:
        total += value
    return total


@line
def dicts_with_other_keys(x):
    best = {"error": np.inf}
    for i, value in enumerate(x):
        if abs(value) < best["error"]:
            best = {"error": abs(value), "place": i, "sign": 1 if value > 0 else -1}
    return best["place"], best["sign"], best


class Ring:
    def __init__(self, size):
        self.data, self.next = np.zeros(size), 0

    def __iter__(self):
        for i in range(len(self.data)):
            yield self.data[(self.next + i) % len(self.data)]

    def push(self, value):
        self.data[self.next] = value
        self.next = (self.next + 1) % len(self.data)


@line
def object_in_a_loop_that_is_unrolled(x):
    ring, sums = Ring(3), np.zeros(len(x))
    for i, value in enumerate(x):
        ring.push(value)
        sums[i] = sum(ring)
    return sums, ring.next


# The second calls take the native way.
again = program((1 / DOWN[:3],), (DOWN[3:],), (1 / DOWN[:3],), (UP,), (UP,))


@again
def text_of_an_error_that_may_be_none(x):
    with np.errstate(all="raise"):
        try:
            return 1 / x
        except FloatingPointError as error:
            return str(error)


@again
def container_with_a_text_or_nothing(x):
    if x[0] > 0:
        return {"values": x, "text": f"{x[1]:.2f}"}


letters = program((UP,), (UP[2:4],), (UP[::-1],))


@letters
def letters_of_a_text(x):
    place = int(x[1])
    return "ABCDEF"[place], "ABCDEF"[-place:], "ABCDEF"[place] == "C"


@letters
def text_that_grows(x):
    line = ""
    for value in x[:3]:
        line += "ABCDEF"[int(value)]
    return line, len(line)


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=[function.__name__ for function, _ in PROGRAMS])
def test_programs_do_what_they_do_undecorated(number):
    function, calls = PROGRAMS[number]
    for arguments in (*calls, calls[0]):
        check(function, *arguments)
    jitted = jit(function)
    for arguments in (*calls, calls[0]):
        check(jitted, *arguments)


@left_to_ci
def test_values_of_ever_new_kinds_say_which_name():
    @jit
    def f(x):
        y = x[:1]
        for n in range(int(x[0])):
            y = [y, n]
        return y

    with pytest.raises(TypeError, match="y"):
        f(np.full(3, 4.0))


class Point:
    def __init__(self, x, name="point"):
        self.x, self.name = x, name

    def moved(self, distance):
        return Point(self.x + distance, self.name)

    def __add__(self, other):
        return Point(self.x + other.x)


@dataclasses.dataclass
class Tally:
    total: float
    below: int = 0


def object_made_in_a_branch(x):
    point = Point(x[0]) if x[1] > 1 else Point(x[2] * 2, "other")
    return point.x, point.name


def object_made_in_each_round(x):
    point = Point(0.0)
    for value in x:
        point = point.moved(value) + Point(1.0)
    return point.x, point.name


def best_object(x):
    best, second = None, Point(np.float64(-np.inf))
    for i, value in enumerate(x):
        candidate = Point(value, i)
        if best is None or candidate.x > best.x:
            best = candidate
        elif candidate.x > second.x:
            second = candidate
    return best.x, best.name, second.x


def object_under_two_names(x):
    point = other = Point(0.0)
    for value in x:
        point.x += value
        if value > 0.9:
            other.name = "large"
    return point.x, point.name, other is point


def dataclass_made_or_changed(x):
    tally = Tally(0.0)
    for value in x:
        if value > 0:
            tally = Tally(tally.total + value, tally.below)
        else:
            tally.below += 1
    return tally.total, tally.below


@pytest.mark.parametrize(
    "function",
    [object_made_in_a_branch, object_made_in_each_round, best_object, object_under_two_names, dataclass_made_or_changed],
    ids=lambda function: function.__name__,
)
def test_objects_that_the_function_makes(function):
    jitted = jit(function)
    for x in (UP, DOWN, np.sin(np.arange(500.0)), UP):
        check(jitted, x)


def test_what_one_of_the_values_cannot_do_is_an_exception_of_the_program():
    @jit
    def f(x):
        table = {"a": 1.5} if x[0] > 1 else {"b": 2.5}
        return table["a"]

    assert f(DOWN) == 1.5
    with pytest.raises(KeyError, match="a"):
        f(UP)


def test_a_letter_behind_the_end_of_a_text():
    @jit
    def f(place):
        return "abc"[place]

    assert f(-3) == "a"
    with pytest.raises(IndexError, match="string index out of range"):
        f(3)


def test_a_value_that_may_be_none_within_one_of_two_texts():
    def described(x):
        found = None if x > 1 else x
        return "none" if found is None else f"value {found}"

    jitted = jit(described)
    assert [jitted(x) for x in (0.5, 2.0, 0.5)] == ["value 0.5", "none", "value 0.5"]


def test_a_value_that_may_be_none_is_no_object_that_holds_it():
    @dataclasses.dataclass
    class Holder:
        value: object

    def compared(x):
        value = float(x[0])
        holder = Holder(value)
        found = value if value > 2 else None
        return found is holder, holder is found, found is None

    jitted = check(compared, UP + 3)
    check(jitted, DOWN - 9)

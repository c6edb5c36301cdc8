"""Functions of all of Python's constructs, with arguments for each: what they do must not depend on whether they are rewritten.

``CASES`` holds pairs of a function and tuples of arguments.
"""

import contextlib
import functools

CASES = []


def case(*arguments):
    def add(function):
        CASES.append((function, [one if isinstance(one, tuple) else (one,) for one in arguments]))
        return function

    return add


@case(0, 1, 5, 9)
def jumps_in_loops(n):
    found = []
    for i in range(n):
        if i == 3:
            continue
        for j in range(i):
            if j == 2:
                break
            if i * j == 24:
                return "early", found
            found.append((i, j))
        else:
            found.append("else")
    else:
        found.append("end")
    return found


@case(0, 1, 7, 10)
def while_with_else(n):
    while n:
        n -= 1
        if n == 8:
            break
        if n % 2:
            continue
        if n == 6:
            return "six"
    else:
        return "else"
    return "broken"


@case(0, 1, 2)
def returns_in_try(n):
    log = []
    for k in range(3):
        try:
            if k == n:
                return log, "returned", 1 // (k - 1)
            log.append(k)
        except ZeroDivisionError as error:
            log.append(str(error))
            if k:
                break
        else:
            log.append("else")
            if n == 2:
                continue
        finally:
            log.append("finally")
        log.append("behind")
    return log


@case(False, True)
def names_unbound(bind):
    if bind:
        x = 1
    return x  # noqa: F821


@case([], [1], [1, 2])
def names_of_loops(values):
    for last in values:
        square = last * last
    return last, square


@case(0, 1)
def names_deleted(n):
    x = 3
    if n:
        del x
    return x


@case((), (1,), (1, 2), (1, 2, 3, 4))
def starred(*values):
    if len(values) > 1:
        first, *rest = values
        (a, *b), c = ([*rest, 5], 6)
        return first, rest, a, b, c
    return [*values, *values]


@case(0, 1, 4)
def generators(n):
    def count():
        for i in range(n):
            if i == 2:
                got = yield "two"
                if got:
                    return
            elif i > 2:
                yield from (i, i)
            else:
                yield i

    def sends():
        iterator = count()
        return [next(iterator, None), *iterator]

    return list(count()), sends(), list(x for x in count() if x and x != 3)


@case(1, 2, 3, "ab", [1, 2], [5, 6, 7], {"k": 1, "z": 2}, 4.5, None)
def matches(value):
    match value:
        case 1 | 2:
            return "small"
        case int(x) if x > 2:
            kind = "int"
        case [first, *rest]:
            if rest == [2]:
                return first
            kind = ("list", first, rest)
        case {"k": k, **others}:
            kind = k, others
        case str() as text:
            kind = text
        case None:
            for kind in "none":
                if kind == "o":
                    break
        case _:
            kind = "other"
    return kind


@case(0, 5)
def closures(n):
    functions = []
    total = 0

    def add(k):
        nonlocal total
        total += k
        if total > 12:
            return "many"
        return total

    for i in range(n):
        functions.append(lambda k=i: (k, i, add(k)))  # noqa: B023
        if i % 2:
            add(i)
    return [function() for function in functions], total


@case(3, 0)
def walrus(n):
    if (m := n + 1) > 2 and (k := m * 2):
        return m, k
    values = [y for x in range(5) if (y := x * n) > 1]
    while (n := n + 2) < 7 and not values:
        pass
    return m, n, values, [last := v for v in values] and last


@case((1, 2, 3), (3, 2, 1), (1, 3, 2), (2, 2, 2))
def chains(a, b, c):
    calls = []

    def see(x):
        calls.append(x)
        return x

    return see(a) < see(b) < see(c), a <= b != c, a in (b, c) or not (c > b > a), a is b is not c, calls


@case((0, 0), (0, 2), (1, 0), (3, 4))
def operators(a, b):
    return a and b, a or b, not a, a and b or 7, (a if b else -a), (1 if a else 2 if b else 3), (a or b) and not (a and b)


class Base:
    __count = 0

    def __init__(self, start):
        self.__start = start
        self.items = {}

    @property
    def start(self):
        return self.__start

    def bump(self, by=1, *, times=2):
        for _ in range(times):
            self.__start += by
            Base.__count += 1
        return self.__start

    @classmethod
    def make(cls, *args):
        return cls(*args)

    @staticmethod
    def twice(x):
        return 2 * x if x else "none"


class Derived(Base):
    def bump(self, by=1, *, times=2):
        if times > 2:
            return super().bump(by, times=times), [super(Derived, self).start for _ in range(1)]
        return super().bump(by)

    def __getitem__(self, key):
        if key in self.items:
            return self.items[key]
        raise KeyError(key)


@case(1, 2, 3)
def classes(times):
    made = Derived.make(times)
    made.items["a"], made.items["b"], made.extra = 1, [2], times
    made.items["a"] += 5
    made.items["b"][0] -= 1
    made.extra **= 2
    try:
        made["c"]
    except KeyError as error:
        missing = error.args
    return made.bump(times=times), made.start, made.twice(times - 1), made["a"], made["b"], made.extra, missing


@case(2, 0)
def local_classes(n):
    class Local:
        size = n

        def __init__(self):
            if n:
                self.value = n
            else:
                self.value = "zero"

        def get(self):
            for _ in range(3):
                if self.value:
                    return self.value, __class__.__name__, type(self).__qualname__
            return None

    return Local.size, Local().get(), Local.get.__qualname__


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        if result is None:
            return None
        return 2 * result

    return wrapper


@case(1, None)
def decorators(x):
    @doubled
    def inner(y):
        if y is None:
            return None
        return y + 1

    return inner(x), inner.__name__


@contextlib.contextmanager
def recorded(log):
    log.append("enter")
    try:
        yield log
    finally:
        log.append("exit")


@case(0, 1, 2, 3)
def with_statements(n):
    log = []
    for k in range(2):
        with recorded(log) as one, contextlib.suppress(ValueError):
            if n == 0:
                return log, "returned"
            if n == 1 and k == 0:
                continue
            if n == 2:
                break
            one.append(k)
            raise ValueError(k)
        log.append("behind")
    return log


@case((1,), (1, 2), (1, 2, 3))
def defaults(a, b=10, /, c=20, *rest, d=30, **others):
    if c > b:
        a, b = b, a
    return a, b, c, rest, d, others


@case(3)
def annotations(n):
    x: int = n
    y: nothing  # noqa: F821
    if x > 2:
        y: int = 4
        z: list[int] = [x, y]
    return x, y, z


@case("a", "b")
def exceptions(kind):
    try:
        try:
            if kind == "a":
                raise KeyError("inner")
            raise ValueError(kind) from KeyError("cause")
        except KeyError:
            if kind == "a":
                raise
            return "never"
    except KeyError as error:
        return repr(error), error.__context__
    except ValueError as error:
        return repr(error), repr(error.__cause__)


@case(0, 2)
def asserts(n):
    assert n, f"no {n}"
    assert n > 1
    return n


@case(0, 1)
def divisions(n):
    values = []
    for k in (1, 2):
        values.append(k / n)
    return values


@case(4)
def comprehensions(n):
    return (
        [i * j for i in range(n) if i % 2 for j in range(i) if not j or j > 1],
        {i: {j for j in range(i)} for i in range(n)},
        sum(i if i > 1 else -i for i in range(n)),
        [[x for x in row if x and x < 3] for row in ([0, 1, 5], [2, n])],
    )


@case([5, 3, 4], [])
def slices(values):
    copy = values[:]
    copy[1:1] = [9, 8]
    copy[::2] = copy[::2][::-1]
    if copy:
        copy[-1], copy[0] = copy[0], copy[-1]
        i, copy[i] = 0, "first"
    return copy, values[0:1], [*copy[1:]]


@case(1, 0)
def deletions(n):
    holder = Base(n)
    holder.extra, values, table = n, [1, 2, 3, 4], {"a": [1], "b": 2}
    del holder.extra, values[0], table["b"]
    del values[n:2], (values[-1],)
    values += [n]
    table["a"] += [n, n]
    table["a"][0] -= 1
    return hasattr(holder, "extra"), values, table


TOTAL = 0


@case(1, 2)
def global_names(n):
    global TOTAL
    before = TOTAL
    if n:
        TOTAL = before + n
    for TOTAL in (TOTAL, before):  # noqa: B007, B020
        pass
    return TOTAL


@case(6)
def recursion(n):
    def factorial(k):
        return 1 if k < 2 else k * factorial(k - 1)

    return factorial(n), fibonacci(n)


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


CASES.append((lambda x: x if x else "none", [(0,), (1,)]))
CASES.append((lambda x, *y: [k for k in y if k > x], [(1, 2, 0), (0,)]))

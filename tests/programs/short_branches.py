"""Functions of a few lines with branches, calls and exceptions that depend on values, each for one construct."""

import contextlib

import numpy as np

from .registry import either, program

UP, DOWN = np.arange(6.0), np.arange(6.0)[::-1] - 2
line = either((UP,), (DOWN,))
number = either((3.0,), (-2.0,))


# --- branches


@program(line)
def if_alone(x):
    y = x
    if x.sum() > 12:
        y = y * 2
    return y


@program(line)
def if_else(x):
    if x[0] < 1:
        y = x + 1
    else:
        y = x * 3
    return y


@program(either((2.5,), (-1.0,)))
def if_elif_else(a):
    if a > 3:
        return "large"
    elif a > 0:
        return "small"
    else:
        return "negative"


@program(line)
def early_return(x):
    if x[0] > 1:
        return x[::-1]
    y = x * 2
    if y[1] > 5:
        return y
    return y + 1


@program(line)
def return_in_one_branch(x):
    if x[0] > 1:
        return x.sum()


@program(line)
def branches_of_other_types(x):
    if x[0] > 1:
        result = 1
    else:
        result = 0.5
    return result * x


@program(line)
def branches_of_other_shapes(x):
    if x[0] > 1:
        return x[:2]
    return x


@program(line)
def branches_of_other_kinds(x):
    if x[0] > 1:
        return {"first": x[0]}
    return [x[0], None]


@program(line)
def bound_in_one_branch(x):
    """UnboundLocalError for the other."""
    if x[0] < 1:
        y = x * 2
    return y


@program(line)
def effects_in_branches(x):
    if x[0] < 1:
        x[1] = 9
        print("small")
    else:
        x *= 2
        print("large", x[0])


@program(line)
def nested_branches(x):
    count = 0
    if x[0] > 1:
        count += 1
        if x[1] > 2:
            count += 10
        elif x[2] > 0:
            count += 100
    return count


@program(line)
def conditional_expression(x):
    return (x[0] if x[0] > x[1] else x[1]) + (1 if x.any() else 0)


@program(line)
def conditional_expression_of_arrays(x):
    return x[1:] if x[0] > 1 else -x[:-1]


@program(number)
def and_or_not(a):
    return a > 0 and a < 5, a < 0 or a > 2, not a > 1, a and 7, a or "none", (not a) == False  # noqa: E712


@program(number)
def conditions_are_not_evaluated_further(a):
    if a > 0 and 1 / a < 1:
        return "large"
    if a < 0 or 1 / a > 1:
        return "negative"
    return "none"


@program(number)
def chained_comparisons(a):
    return 0 < a <= 3, 0 <= a < 3 < 4, -3 < a < 0 != 1


@program(line)
def truth_of_arrays(x):
    if x.any() and not x.all():
        return len(x)
    if x[:1]:
        return "one element"
    return None


@program(line)
def truth_of_many_elements(x):
    """A ValueError, as everybody knows it."""
    if x > 1:
        return x


@program(line)
def assigned_in_a_condition(x):
    if (total := x.sum()) > 12 and (half := total / 2) > 1:
        return half
    return total


@program(number)
def assertion_with_a_message(a):
    assert a > 0, f"{a} is not positive"
    return a**0.5


@program(number)
def raise_in_a_branch(a):
    if a < 0:
        raise ValueError(f"negative: {a:.1f}")
    return a**0.5


# --- functions


def collatz_steps(n):
    return 0 if n == 1 else 1 + collatz_steps(n // 2 if n % 2 == 0 else 3 * n + 1)


@program(either((6,), (7,)))
def recursion_on_values(n):
    return collatz_steps(n)


@program(line)
def recursion_on_extents(x):
    def total(y):
        if len(y) == 1:
            return y[0]
        return total(y[: len(y) // 2]) + total(y[len(y) // 2 :])

    return total(x)


@program(line)
def generator_function(x):
    def rising(values):
        last = -np.inf
        for value in values:
            if value > last:
                yield value
                last = value

    return list(rising(x))


@program(line)
def nonlocal_variable(x):
    count = 0

    def tell(value):
        nonlocal count
        if value > 1:
            count += 1
        return count

    return [tell(value) for value in x], count


@program(line)
def functions_chosen_by_value(x):
    operations = [np.sin, np.cos, lambda v: v * 2]
    y = x[0]
    for i in range(4):
        y = operations[int(abs(y)) % 3](y + i)
    return y


@program(line)
def class_made_inside(x):
    class Counter:
        count = 0

        def see(self, value):
            if value > 1:
                self.count += 1
            return self

    counter = Counter()
    for value in x:
        counter.see(value)
    return counter.count


# --- exceptions and contexts


def checked_root(a):
    if a < 0:
        raise ValueError("negative")
    return a**0.5


@program(line)
def caught_in_a_loop(x):
    total, failures = 0.0, 0
    for value in x:
        try:
            total += checked_root(value)
        except ValueError:
            failures += 1
            continue
        else:
            total += 1
        finally:
            total *= 2
    return total, failures


@program(number)
def caught_and_raised_again(a):
    try:
        return checked_root(a)
    except ValueError as error:
        raise RuntimeError(f"no root of {a}") from error


@program(number)
def return_in_finally(a):
    steps = []
    try:
        steps.append(checked_root(a))
        return steps
    except ValueError:
        steps.append("failed")
        return steps
    finally:
        steps.append("done")


@program(number)
def suppressed(a):
    result = None
    with contextlib.suppress(ValueError):
        result = checked_root(a)
    return result


@contextlib.contextmanager
def scaled_by(x, factor):
    x *= factor
    try:
        yield x
    finally:
        x /= factor


@program(line)
def context_of_ones_own(x):
    with scaled_by(x, 4.0) as y:
        if y[0] > 1:
            return y[1] + 1
        total = y.sum()
    return total


@program(line)
def index_error_ends_a_loop(x):
    i = 0
    try:
        while True:
            i += 1 + (x[i] > 1)
    except IndexError:
        return i

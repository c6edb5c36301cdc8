"""What Python and NumPy raise of known values and shapes is raised where the program comes there, and only there."""

import numpy as np
import pytest
from phlox import TracerError, jit

X = np.array([1.0, -2, 3])


def only_integers(x):
    if isinstance(x, float):
        raise TypeError("no floats")
    return x


def shapes_that_differ(n, x):
    y = 0.0
    if n > 2:
        y = np.linalg.solve(np.eye(2), x).sum()
    return y


def a_missing_key(n, x):
    names = {"a": 1}
    if n > 0:
        return names["missing"]
    return 0


def a_text_that_is_no_number(n, x):
    if n > 3:
        int("abc")
    return n


def attributes_that_are_not_there(n, x):
    x[0] = 5
    if n > 2:
        x[1] = 6
        x.nothing()
    x[2] = 7


def rounds(n, x):
    for i in range(n):
        x[i] = only_integers(2.0)
    return x


def the_other_operand(n, x):
    return n > 0 and only_integers(2.0) > 1


def the_other_value(n, x):
    return only_integers(2.0) if n > 2 else x


def handlers(n, x):
    try:
        if n > 3:
            int("abc")
        if n > 2:
            (1, 2)[n + 5]  # noqa: B018
        if n > 1:
            return None + 1
        return 0
    except (ValueError, TypeError) as error:
        return str(error)
    except IndexError:
        return -5


def rounds_of_while(n, x):
    k = 0
    while k < n:
        k += 1
        x[0] += 1
        np.zeros(3) + np.zeros(4)
    return x


def several_shapes(n, x):
    if n > 2:
        x @ np.ones((5, 5))
    if n > 1:
        np.concatenate([x, np.ones((2, 2))])
    if n < -1:
        x.reshape(7, 7)
    if n < -2:
        name_that_is_nowhere  # noqa: B018, F821
    return x.sum()


def a_while_that_raises(n, x):
    while n > 0:
        raise ValueError(f"bad {n}")
    return n


def a_round_that_raises_on_both_sides(n, x):
    for i in range(n):
        if x[i] > 0:
            raise ValueError("positive")
        else:
            raise KeyError("negative")
    return 1


def raised_behind_another(n, x):
    if n > 2:
        raise KeyError("first")
    x[0] = 9
    return int("abc")


def operands_that_do_not_go_together(n, x):
    x[0] = n
    best = None
    for value in x:
        if value > 2:
            if value > best:
                best = value
        else:
            best = value
    if n > 3:
        x + None
    if n < -2:
        x()
    return best


def operands_in_every_round(n, x):
    x[0] = n
    for value in x:
        value > None  # noqa: B015


def an_operand_that_a_handler_sees(n, x):
    try:
        return x[n % 3] - "text"
    except TypeError:
        return -1


def a_message_that_cannot_be_made(n, x):
    if n > 2:
        x[0] = 7
        raise ValueError(f"bad {[5, 6][n - 2]} {x[0]}")
    return n


def a_statement_that_fails_in_front_of_a_raise(n, x):
    if n < 2:
        k = 1 // (n + 2)
        raise KeyError(f"bad {k} {x[n]}")
    return n


def an_assertion_whose_message_cannot_be_made(n, x):
    held = [n, 2.5]
    assert n in (0, 2, 4), f"{held[n]} {1 // (n + 2)}"
    assert x[0] > 0, held[7]
    return n


def numbers_in_messages_that_handlers_see(n, x):
    found = []
    try:
        a, *b = [value for value in x if value > n]
        found.append(b)
    except ValueError as error:
        found.append(str(error))
    try:
        return [2, 3, n].index(4), found
    except ValueError as error:
        return [*found, str(error)]


FUNCTIONS = [
    a_message_that_cannot_be_made, a_statement_that_fails_in_front_of_a_raise, an_assertion_whose_message_cannot_be_made,
    numbers_in_messages_that_handlers_see,
    shapes_that_differ, a_missing_key, a_text_that_is_no_number, attributes_that_are_not_there, rounds, the_other_operand,
    the_other_value, handlers, rounds_of_while, several_shapes, a_while_that_raises, a_round_that_raises_on_both_sides,
    raised_behind_another, operands_that_do_not_go_together, operands_in_every_round, an_operand_that_a_handler_sees,
]  # fmt: skip


def outcome(function, *arguments):
    """What a call returns or raises, from which line, and what has become of its arguments."""
    arguments = [np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments]
    try:
        return repr(function(*arguments)), repr(arguments)
    except Exception as error:
        traceback = error.__traceback__
        lines = []
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == __file__:
                lines.append(traceback.tb_lineno)
            traceback = traceback.tb_next
        return type(error), str(error), lines[1:], repr(arguments)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_is_raised_where_the_program_comes_there(function):
    jitted = jit(function)
    for n in (0, 2, 3, 4, -2, -3, 0):
        assert outcome(jitted, n, X) == outcome(function, n, X)


def test_what_cannot_be_traced_is_said_at_once():
    @jit
    def function(n, x):
        if n > 3:
            return f"{x[0]}".encode()
        return n

    with pytest.raises(TracerError, match="encode"):
        function(1, X)

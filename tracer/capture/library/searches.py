"""``in``, ``==``, ``index`` and ``count`` of lists whose elements are compared one by one: lists, dicts, objects."""


def holds(values, wanted):
    for value in values:
        if value is wanted or value == wanted:
            return True
    return False


def position_of(values, wanted, message):
    position = 0
    for value in values:
        if value is wanted or value == wanted:
            return position
        position += 1
    raise ValueError(message)


def count_of(values, wanted):
    count = 0
    for value in values:
        if value is wanted or value == wanted:
            count += 1
    return count


def are_equal(first, second):
    if len(first) != len(second):
        return False
    for k in range(len(first)):
        if not (first[k] is second[k] or first[k] == second[k]):
            return False
    return True


def is_before(first, second, shorter):
    """``first < second`` of lists; ``shorter`` says so of their lengths, where one of them begins with the other."""
    for k in range(min(len(first), len(second))):
        if not (first[k] is second[k] or first[k] == second[k]):
            return shorter(first[k], second[k])
    return shorter(len(first), len(second))

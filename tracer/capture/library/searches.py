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

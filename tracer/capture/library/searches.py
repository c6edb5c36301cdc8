"""Lists of lists whose lengths the program decides, gone over for those that are equal to another one."""


def position_of(items, value):
    """Where the first one stands, -1 where there is none."""
    for place in range(len(items)):
        if items[place] == value:
            return place
    return -1


def count_of(items, value):
    count = 0
    for place in range(len(items)):
        if items[place] == value:
            count += 1
    return count


def are_equal(first, second):
    if len(first) != len(second):
        return False
    for place in range(len(first)):
        if first[place] != second[place]:
            return False
    return True

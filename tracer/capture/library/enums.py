"""``Color(1)``: the members of enumerations by their values."""


def place_of_member(kind, values, value):
    if value not in values:
        raise ValueError(f"{value!r} is not a valid {kind.__qualname__}")
    return values.index(value)

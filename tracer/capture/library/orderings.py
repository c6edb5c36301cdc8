"""What `functools.total_ordering` adds to a class."""


def gt_from_lt(self, other):
    return not self < other and not self == other  # noqa: SIM201


def le_from_lt(self, other):
    return self < other or self == other


def ge_from_lt(self, other):
    return not self < other


def ge_from_le(self, other):
    return not self <= other or self == other


def lt_from_le(self, other):
    return self <= other and not self == other  # noqa: SIM201


def gt_from_le(self, other):
    return not self <= other


def lt_from_gt(self, other):
    return not self > other and not self == other  # noqa: SIM201


def ge_from_gt(self, other):
    return self > other or self == other


def le_from_gt(self, other):
    return not self > other


def le_from_ge(self, other):
    return not self >= other or self == other


def gt_from_ge(self, other):
    return self >= other and not self == other  # noqa: SIM201


def lt_from_ge(self, other):
    return not self >= other

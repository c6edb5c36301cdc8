"""Random Python programs in which several names hold one list, dict or object, and loops and branches exchange what they hold.

What a name shows that is not the one under which something has been changed is what captured loops can have silently wrong.
"""

import random

KINDS = ("dict", "list", "object", "rows")
NEW = {
    "dict": lambda of: f'{{"v": {of()}, "n": {of()}}}',
    "list": lambda of: f"[{of()}, {of()}, {of()}]",
    "object": lambda of: f"Box({of()}, {of()})",
    "rows": lambda of: f"[[{of()}, {of()}], [{of()}, {of()}]]",
}
PARTS = {
    "dict": ('["v"]', '["n"]'),
    "list": ("[0]", "[1]", "[-1]"),
    "object": (".v", ".n"),
    "rows": ("[0][0]", "[1][1]", "[0][1]"),
}
PRELUDE = """
class Box:
    def __init__(self, v, n):
        self.v, self.n = v, n

    def raised(self, by):
        self.n += by
        return self.v

    def __repr__(self):
        return f"Box({self.v!r}, {self.n!r})"


def changed(dict_, by):
    dict_["n"] += by
    return dict_
"""


class RandomNames:
    """One program, of two or three names of each of one or two kinds, perhaps None, and numbers.

    may_be_none: some names hold None at first, and here and there later. most: statements of a block.
    """

    def __init__(self, seed, may_be_none=False, most=4):
        self.random, self.most = random.Random(seed), most
        kinds = self.random.sample(KINDS, self.random.choice((1, 1, 2)))
        self.names = {f"{kind[0]}{number}": kind for kind in kinds for number in range(self.random.choice((2, 3)))}
        self.optional = {name for name in self.names if may_be_none and self.random.random() < 0.5}
        self.numbers, self.lines = ["a", "b"], []

    def text(self):
        """The source; the program is called ``program``, and takes two vectors."""
        self.line(0, "def program(x, y):")
        self.line(1, "a, b = 1.0, 2.0")
        for name, kind in self.names.items():
            known = [
                other for other, its_kind in self.names.items() if its_kind == kind and f"{other} = " in "".join(self.lines)
            ]
            if name in self.optional:
                self.line(1, f"{name} = None")
            elif known and self.random.random() < 0.3 and known[0] not in self.optional:
                self.line(1, f"{name} = {known[0]}")
            else:
                self.line(1, f"{name} = {NEW[kind](self.number)}")
        self.line(1, "for v in x:")
        self.numbers.append("v")
        self.block(2, 1)
        if self.random.random() < 0.3:
            self.numbers.remove("v")
            self.line(1, "for v in y:")
            self.numbers.append("v")
            self.block(2, 1)
        self.line(1, f"return {', '.join(self.names)}, a, b")
        return PRELUDE + "\n\n" + "".join(self.lines)

    def line(self, depth, text):
        self.lines.append("    " * depth + text + "\n")

    def number(self):
        """Of numbers alone, so that it is a number on all ways."""
        return self.random.choice(("1.0", "0.5", "3", *self.numbers, *self.numbers))

    def condition(self):
        return self.random.choice(("v > 0.5", "v < 0.3", "a > b", "a > 4", "b < 2.5", "v > a"))

    def block(self, depth, loops):
        before = len(self.lines)
        for _ in range(self.random.randint(1, self.most)):
            self.statement(depth, loops)
        if len(self.lines) == before:
            self.line(depth, "a += 0.5")

    def statement(self, depth, loops):
        name = self.random.choice(list(self.names))
        kind = self.names[name]
        others = [other for other, its_kind in self.names.items() if its_kind == kind and other != name]
        ways = ["change", "change", "change", "read", "new", "alias", "swap", "assign", "call"]
        ways += ["branch"] * 2 if depth < 5 else []
        ways += ["loop"] if loops < 2 and depth < 4 else []
        ways += ["leave"] if depth > 2 and self.random.random() < 0.2 else []
        ways += ["none"] if name in self.optional else []
        getattr(self, self.random.choice(ways))(depth, loops, name, kind, others)

    def guarded(self, depth, name, text):
        if name in self.optional:
            self.line(depth, f"if {name} is not None:")
            depth += 1
        self.line(depth, text)

    def change(self, depth, loops, name, kind, others):
        part = self.random.choice(PARTS[kind])
        self.guarded(depth, name, f"{name}{part} {self.random.choice(('+=', '=', '-='))} {self.number()}")

    def read(self, depth, loops, name, kind, others):
        self.guarded(depth, name, f"{self.random.choice('ab')} += {name}{self.random.choice(PARTS[kind])} * 0.25")

    def new(self, depth, loops, name, kind, others):
        self.line(depth, f"{name} = {NEW[kind](self.number)}")

    def none(self, depth, loops, name, kind, others):
        self.line(depth, f"{name} = None")

    def alias(self, depth, loops, name, kind, others):
        others = [other for other in others if other not in self.optional or name in self.optional]
        if others:
            self.line(depth, f"{name} = {self.random.choice(others)}")

    def swap(self, depth, loops, name, kind, others):
        others = [other for other in others if (other in self.optional) is (name in self.optional)]
        if kind == "rows" and self.random.random() < 0.5:
            self.guarded(depth, name, f"{name}[0], {name}[1] = {name}[1], {name}[0]")
        elif others:
            other = self.random.choice(others)
            self.line(depth, f"{name}, {other} = {other}, {name}")

    def assign(self, depth, loops, name, kind, others):
        self.line(depth, f"{self.random.choice('ab')} = {self.number()}")

    def call(self, depth, loops, name, kind, others):
        if kind == "object":
            self.guarded(depth, name, f"a += {name}.raised({self.number()}) * 0.5")
        elif kind == "dict":
            other = self.random.choice([name, *[one for one in others if (one in self.optional) is (name in self.optional)]])
            self.guarded(depth, name, f"{other} = changed({name}, {self.number()})")
        else:
            self.guarded(depth, name, f"a += len({name})")

    def branch(self, depth, loops, name, kind, others):
        self.line(depth, f"if {self.condition()}:")
        self.block(depth + 1, loops)
        if self.random.random() < 0.4:
            self.line(depth, "else:")
            self.block(depth + 1, loops)

    def loop(self, depth, loops, name, kind, others):
        self.line(depth, f"for w{depth} in y:")
        self.numbers.append(f"w{depth}")
        self.block(depth + 1, loops + 1)
        self.numbers.remove(f"w{depth}")

    def leave(self, depth, loops, name, kind, others):
        self.line(depth, f"if {self.condition()}:")
        self.line(depth + 1, self.random.choice(("break", "continue")))

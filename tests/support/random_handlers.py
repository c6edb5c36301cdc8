"""Random Python programs of nested ``try`` statements, in loops and branches, which are left in all ways.

What a handler, an else or a finally clause finds, and where control goes on behind it, is what can be silently wrong.
"""

import random

ERRORS = ("KeyError", "IndexError", "ValueError")
CAUGHT = (*ERRORS, "LookupError", "(KeyError, ValueError)", "Exception")
PRELUDE = """
COUNTS = {"n": 0}


def risky(v, found):
    found.append(v)
    if v > 2:
        raise ValueError("large")
    COUNTS["n"] += 1
    if v < -1:
        raise KeyError("small")
    return v + 1
"""


class RandomHandlers:
    """One program, of two numbers, a list, a dict outside and the vectors that it takes. most: lines, more or less."""

    def __init__(self, seed, most=35):
        self.random, self.most = random.Random(seed), most
        self.lines = []

    def text(self):
        """The source; the program is called ``program``, and takes two vectors and a list."""
        self.line(0, "def program(x, y, found):")
        self.line(1, "a, b = 1.0, 2.0")
        if self.random.random() < 0.7:
            self.line(1, "for v in x:")
            self.block(2, True, True)
        else:
            self.line(1, "v = x[0]")
            self.try_(1, False, True)
        self.block(1, False, True, 2)
        self.line(1, "return a, b")
        return PRELUDE + "\n\n" + "".join(self.lines)

    def line(self, depth, text):
        self.lines.append("    " * depth + text + "\n")

    def number(self):
        return self.random.choice(("1.0", "0.5", "3.0", "a", "b", "v", "v", "y[0]", "len(found)"))

    def condition(self):
        return self.random.choice(
            ("v > 0.5", "v < 0.3", "v < -0.5", "a > b", "a > 4", "b < 2.5", "v > a", "v > 1.5", "y[0] > v")
        )

    def block(self, depth, in_loop, may_leave, least=1):
        for _ in range(self.random.randint(least, max(least, 2))):
            self.statement(depth, in_loop, may_leave)

    def statement(self, depth, in_loop, may_leave):
        ways = ["changed"] * 4 + ["risky", "raised"] + ["left"] * may_leave
        ways += ["branch", "try_", "try_"] if depth < 5 and len(self.lines) < self.most - 15 else []
        ways += ["loop"] if depth < 3 and not in_loop and len(self.lines) < self.most - 15 else []
        getattr(self, self.random.choice(ways))(depth, in_loop, may_leave)

    def changed(self, depth, in_loop, may_leave):
        number = self.number()
        ways = (
            f"a += {number}", f"b -= {number}", f"a = {number}", f"b = {number}", f"found.append({number})", "COUNTS['n'] += 1",
            f"y[1] += {number}", f"y[0] = {number}", "a, b = b, a",
        )  # fmt: skip
        self.line(depth, self.random.choice(ways))

    def risky(self, depth, in_loop, may_leave):
        ways = (f"a = risky({self.number()}, found)", "a += x[int(v) + 3]", "b = found[3]", f"risky({self.number()}, found)")
        self.line(depth, self.random.choice(ways))

    def raised(self, depth, in_loop, may_leave):
        self.line(depth, f"if {self.condition()}:")
        self.line(depth + 1, f"raise {self.random.choice(ERRORS)}")

    def left(self, depth, in_loop, may_leave):
        self.line(depth, f"if {self.condition()}:")
        ways = [f"return {self.number()}", *(["break", "continue"] * 2 if in_loop else [])]
        self.line(depth + 1, self.random.choice(ways))

    def branch(self, depth, in_loop, may_leave):
        self.line(depth, f"if {self.condition()}:")
        self.block(depth + 1, in_loop, may_leave)
        if self.random.random() < 0.4:
            self.line(depth, "else:")
            self.block(depth + 1, in_loop, may_leave)

    def loop(self, depth, in_loop, may_leave):
        self.line(depth, f"for v in {self.random.choice(('x', 'y', 'x[1:]'))}:")
        self.block(depth + 1, True, may_leave)
        if self.random.random() < 0.3:
            self.line(depth, "else:")
            self.block(depth + 1, in_loop, may_leave)

    def try_(self, depth, in_loop, may_leave):
        self.line(depth, "try:")
        self.block(depth + 1, in_loop, may_leave)
        has_final = self.random.random() < 0.3
        if not has_final or self.random.random() < 0.5:
            for kind in self.random.sample(CAUGHT[:-1], self.random.choice((1, 1, 2))) + ["Exception"] * (
                self.random.random() < 0.2
            ):
                asks = self.random.random() < 0.3
                self.line(depth, f"except {kind} as error:" if asks else f"except {kind}:")
                if asks:
                    self.line(depth + 1, "b += len(error.args)")
                if self.random.random() < 0.15:
                    self.line(depth + 1, f"if {self.condition()}:")
                    self.line(depth + 2, "raise")
                self.block(depth + 1, in_loop, may_leave)
            if self.random.random() < 0.4:
                self.line(depth, "else:")
                self.block(depth + 1, in_loop, may_leave)
        if has_final:
            self.line(depth, "finally:")
            self.block(depth + 1, in_loop, may_leave and self.random.random() < 0.2)

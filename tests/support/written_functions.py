"""Functions of source text that a test writes, with lines that are found as those of a file are."""

import linecache


def written(source, file, **names):
    """What the text defines, by name; ``names`` are what it finds outside, and ``file`` is what the text is called."""
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space = dict(names)
    exec(compile(source, file, "exec"), space)
    return space

"""Functions of source text that a test writes, with lines that are found as those of a file are."""

import linecache


def written(source, name="program", file=None, **names):
    """The function, or whatever else is called ``name`` in the text; ``names`` are what the text finds outside."""
    file = f"<{name} {hash(source):x}>" if file is None else file
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space = {"__name__": "written", **names}
    exec(compile(source, file, "exec"), space)
    return space[name]

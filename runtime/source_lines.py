"""What a line of the user's code is called where people read it."""

from __future__ import annotations

import os
import re
import sys


def shown_line(file: str, line: int) -> str:
    """`kmeans.py:12`; `In[3]:12` of a notebook's third cell; `line 12` of code that has no file.

    >>> shown_line("/home/me/kmeans.py", 12), shown_line("<stdin>", 12)
    ('kmeans.py:12', 'line 12')
    """
    if file.startswith("<"):
        return f"line {line}"
    if re.search(r"ipykernel_\d+[/\\]\d+\.py$", file):
        return f"{_cell(file)}:{line}"
    return f"{os.path.basename(file)}:{line}"


def _cell(file: str) -> str:
    """The number under which IPython has run what is in this file, as its own tracebacks say it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", {})
    return f"In[{numbers[file]}]" if file in numbers else "cell"

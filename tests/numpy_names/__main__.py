"""Prints what the programs of the tables do otherwise when they are decorated: `python -m tests.numpy_names [NAME ...]`.

A NAME is a function's or a chapter's. `--reference` takes the reference backend, which is faster; `--write` writes the page.
"""

import sys

from .comparison import compare
from .page import PAGE, page
from .table import FOLLOWED, every_row

options = {one for one in sys.argv[1:] if one.startswith("--")}
wanted = [one for one in sys.argv[1:] if one not in options]
if "--write" in options:
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit()
for chapter, row in every_row():
    if wanted and row.name not in wanted and chapter not in wanted:
        continue
    for program in row.programs:
        for of_unknown_sizes in (False,) if chapter in FOLLOWED else (False, True):
            found = compare(program.text, of_unknown_sizes, "reference" if "--reference" in options else "cpu")
            if bool(found) != program.is_limited(of_unknown_sizes):
                sizes = "of unknown sizes" if of_unknown_sizes else "of known sizes"
                print(
                    f"{row.name}, {sizes}: {program.text}\n    {' '.join((found or ['does the same now'])[0].split())}",
                    flush=True,
                )

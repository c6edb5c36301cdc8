"""``np.savetxt`` to a StringIO that the function has made."""

import numpy as np


def savetxt(fname, X, fmt="%.18e", delimiter=" ", newline="\n", header="", footer="", comments="# ", encoding=None):  # noqa: N803
    X = np.asarray(X)  # noqa: N806
    if X.ndim == 0 or X.ndim > 2:
        raise ValueError(f"Expected 1D or 2D array, got {X.ndim}D array instead")
    if X.ndim == 1:
        X = X[:, None]  # noqa: N806
    count = X.shape[1]
    row_format = format_of_row(fmt, delimiter, count)
    if len(header) > 0:
        fname.write(comments + header.replace("\n", "\n" + comments) + newline)
    for row in X:
        fname.write(row_format % tuple(row) + newline)
    if len(footer) > 0:
        fname.write(comments + footer.replace("\n", "\n" + comments) + newline)


def format_of_row(fmt, delimiter, count):
    if isinstance(fmt, (list, tuple)):
        if len(fmt) != count:
            raise AttributeError(f"fmt has wrong shape.  {fmt}")
        return delimiter.join(fmt)
    given = fmt.count("%")
    if given == 1:
        return delimiter.join([fmt] * count)
    if given != count:
        raise ValueError(f"fmt has wrong number of % formats:  {fmt}")
    return fmt

"""What JAX makes of a function, as text, and whether phlox makes the same of the text."""

import numpy as np
from comparisons import flattened
from phlox import load_hlo


def dumped(function, arguments):
    """The flat arguments, the texts of the program as it is lowered and as XLA compiles it, and its results."""
    import jax

    lowered = jax.jit(function).lower(*arguments)
    compiled = lowered.compile()
    expected = [np.asarray(leaf) for leaf in jax.tree.leaves(compiled(*arguments))]
    texts = {"lowered": lowered.as_text(dialect="hlo"), "compiled": compiled.as_text()}
    return jax.tree.leaves(arguments), texts, expected


def assert_runs(text, backend, arguments, expected, tolerance=2e-5):
    """Equal integers; floats within the tolerance, or within 1e-2 where they have 16 bits or fewer."""
    results = flattened(load_hlo(text, backend)(*arguments))
    for result, wanted in zip(results, expected, strict=True):
        result = np.asarray(result)
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        allowed = 0 if wanted.dtype.kind in "biu" else 1e-2 if wanted.dtype.itemsize <= 2 else tolerance
        np.testing.assert_allclose(result.astype(wide), wanted.astype(wide), rtol=allowed, atol=allowed)

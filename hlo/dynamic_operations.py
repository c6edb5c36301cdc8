"""Which operations take operands with dynamic dimensions (``f32[<=10]``).

Their shape functions say which dimensions of the result are dynamic, as ``shape_inference.cc`` of XLA does, and
dynamic_evaluation.py what they do on arrays of the actual sizes. Elementwise operations take them, too; the others refuse such
operands.
"""

DYNAMIC_OPERATIONS = frozenset({
    "add-dependency", "batch-norm-grad", "batch-norm-inference", "batch-norm-training", "bitcast-convert", "broadcast",
    "call", "cholesky", "concatenate", "conditional", "constant", "convolution", "copy", "domain", "dot", "dynamic-reshape",
    "dynamic-slice", "dynamic-update-slice", "fft", "fusion", "gather", "get-dimension-size", "get-tuple-element", "map",
    "opt-barrier", "pad", "parameter", "reduce", "reduce-window", "reshape", "reverse", "scatter", "select-and-scatter",
    "set-dimension-size", "slice", "sort", "topk", "transpose", "triangular-solve", "tuple", "while",
})  # fmt: skip
# Those whose shapes may have dynamic dimensions, though no backend runs them so.
KEPT_DYNAMIC_OPERATIONS = frozenset({"custom-call", "infeed", "outfeed", "recv", "recv-done", "send", "send-done"})

"""What is left out of the count of NumPy's tests, and which of the others fail, each with its reason.

A pattern is the beginning of a test's name behind ``numpy/``, without its parameters unless these are named.
"""

from __future__ import annotations

import re

# Files that are about what has no meaning in compiled code, or about NumPy's own making.
LEFT_OUT_FILES = {
    "objects, texts, dates, structures": (
        "test_dtype test_datetime test_stringdtype test_strings test_defchararray test_unicode test_custom_dtypes test_records"
        " test_recfunctions test_longdouble"
    ),
    "texts of arrays, files": "test_arrayprint test_scalarprint test_print test_io test_format test_loadtxt test_memmap test_printing",
    "NumPy's internals": (
        "test_simd test_simd_module test_cpu_features test_cpu_dispatcher test_mem_policy test_cython test_limited_api test_argparse"
        " test_extint128 test_abc test_overrides test_array_interface test_dlpack test_hashtable test_hugepages test_protocols"
        " test_numerictypes test_arrayterator test_mixins test_utils test__version test__datasource test__iotools test_extending"
        " test_casting_unittests test_symbol test_nditer test_arrayobject test_scalarinherit test_scalarbuffer test_array_api_info"
        " test_multithreading test_multiprocessing test_arraymethod test_api test_conversion_utils test__exceptions test__natype"
    ),
    "warnings": "test_deprecations",
}
# Of what a failed test says: what it is about.
LEFT_OUT_MESSAGES = {
    "warnings": re.compile(r"DID NOT WARN|No warnings of type|not triggered|Warning not raised|Got \d+ warnings"),
    "NumPy's internals": re.compile(r"refcount|getrefcount|sizeof"),
}
_OBJECTS, _WARNINGS, _INTERNALS = "objects, texts, dates, structures", "warnings", "NumPy's internals"
# Single tests that are left out, by their reasons.
LEFT_OUT: dict[str, str] = {
    "lib/tests/test_arraypad.py::test_object_input": _OBJECTS,
    "lib/tests/test_function_base.py::TestMedian::test_empty": _WARNINGS,
    "lib/tests/test_nanfunctions.py::TestNanFunctions_MeanVarStd::test_ddof_too_big": _WARNINGS,
    "lib/tests/test_nanfunctions.py::TestNanFunctions_MeanVarStd::test_empty": _WARNINGS,
    "lib/tests/test_nanfunctions.py::TestNanFunctions_Median::test_empty": _WARNINGS,
    "lib/tests/test_nanfunctions.py::TestNanFunctions_Percentile::test_empty": _WARNINGS,
    "lib/tests/test_regression.py::TestRegression::test_mem_string_concat": _OBJECTS,
    "lib/tests/test_shape_base.py::TestApplyAlongAxis::test_axis_insertion_ma": _OBJECTS,
    "lib/tests/test_shape_base.py::TestApplyAlongAxis::test_subclass_preservation": _OBJECTS,
    "lib/tests/test_shape_base.py::TestMayShareMemory": _INTERNALS,
    "lib/tests/test_stride_tricks.py::test_writeable_memoryview": _INTERNALS,
}
_VIEWS = "views that a function returns are copies"
_TIME = "hundreds of shapes and layouts, each of which is compiled, take longer than a test may"
_ROUNDING = "the last digit is another one than NumPy's"
_LISTS = "a method of a generator takes no list whose length differs from call to call, as those of a whole file of tests do"
_ALIASES = "of arguments that share memory the one that is returned is another object"
_LISTS_SHUFFLED = "lists of what is no number are not shuffled"
_BYTES = "bytes that a generator draws are refused"
# Tests that fail, by their reasons.
DIFFERENCES: dict[str, str] = {
    "fft/tests/test_helper.py::TestFFTShift::test_equal_to_original": _TIME,
    "fft/tests/test_pocketfft.py::TestFFT1D::test_fft_inplace_out": _ALIASES,
    "fft/tests/test_pocketfft.py::TestFFT1D::test_identity_long_short": "transforms of some lengths err by a unit or two more",
    "fft/tests/test_pocketfft.py::TestFFT1D::test_identity": _TIME,
    "lib/tests/test_arraysetops.py::TestSetOps::test_isin_errors": "np.isin sorts, where kind='table' would overflow, too",
    "lib/tests/test_arraysetops.py::TestUnique::test_unique_1d": _TIME,
    "lib/tests/test_arraysetops.py::TestUnique::test_unique_axis_float_raises_typeerror": "the TypeError has another text",
    "lib/tests/test_arraypad.py::test_unsupported_mode": "the text of an error names a number as a traced array",
    "lib/tests/test_function_base.py::TestDiff::test_n": "a list that np.diff returns as it is is an array",
    "lib/tests/test_function_base.py::TestQuantile::test_quantile_monotonic_hypo": _TIME,
    "lib/tests/test_function_base.py::Test_I0::test_non_array": _ROUNDING,
    "lib/tests/test_shape_base.py::TestArraySplit::test_integer_split_2D_rows_greater_max_int32": (
        "an argument with steps of 0 takes the memory of all its elements"
    ),
    "lib/tests/test_stride_tricks.py::TestSlidingWindowView::test_writeable": _VIEWS,
    "lib/tests/test_stride_tricks.py::test_writeable": _VIEWS,
    **{
        f"linalg/tests/test_linalg.py::{name}": _TIME
        for name in (
            "TestSolve::test_generalized_sq_cases", "TestSolve::test_sq_cases", "TestInv::test_generalized_sq_cases",
            "TestEigvals::test_generalized_sq_cases", "TestCond::test_generalized_sq_cases", "TestCond::test_sq_cases",
            "TestPinv::test_generalized_nonsq_cases", "TestPinv::test_generalized_sq_cases", "TestPinv::test_nonsq_cases",
            "TestPinvHermitian::test_generalized_herm_cases", "TestDet::test_generalized_sq_cases", "TestLstsq::test_nonsq_cases",
        )
    },
    "linalg/tests/test_linalg.py::test_byteorder_check": "a view in the other byte order is refused",
    "polynomial/tests/test_hermite.py::TestArithmetic::test_herm": _TIME,
    "polynomial/tests/test_hermite_e.py::TestArithmetic::test_hermediv": _TIME,
    "random/tests/test_generator_mt19937.py::TestRandomDist::test_bytes": _BYTES,
    "random/tests/test_generator_mt19937.py::TestIntegers::test_repeatability_broadcasting": _TIME,
    "random/tests/test_generator_mt19937.py::TestIntegers::test_rng_zero_and_extremes_array": _TIME,
    "random/tests/test_generator_mt19937.py::TestIntegers::test_scalar_array_equiv": _TIME,
    "random/tests/test_random.py::TestRandomDist::test_bytes": _BYTES,
    "random/tests/test_randomstate.py::TestRandomDist::test_bytes": _BYTES,
    **{
        f"random/tests/test_smoke.py::Test{generator}::test_bytes": _BYTES
        for generator in ("DefaultRNG", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
    },
    **{
        f"random/tests/test_{file}.py::{name}": _LISTS_SHUFFLED
        for file in ("generator_mt19937", "random", "randomstate")
        for name in ("TestRandomDist::test_shuffle", "test_ragged_shuffle")
    },
}  # fmt: skip


def left_out(test: str, message: str) -> str | None:
    """Why a test that has failed does not count."""
    file = test.partition("::")[0].rpartition("/")[2].removesuffix(".py")
    for reason, files in LEFT_OUT_FILES.items():
        if file in files.split():
            return reason
    for reason, pattern in LEFT_OUT_MESSAGES.items():
        if pattern.search(message):
            return reason
    return _of(LEFT_OUT, test)


def difference(test: str, said: str = "") -> str | None:
    """The reason that is known for the failure of a test, by its name, or by what phlox has refused in it."""
    return _of(DIFFERENCES, test) or (_LISTS if "list whose length" in said and test.startswith("random/") else None)


def _of(table: dict[str, str], test: str) -> str | None:
    return next((reason for pattern, reason in table.items() if test.startswith(pattern)), None)

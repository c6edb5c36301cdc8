"""What is left out of the count of NumPy's tests, and which of the others fail, each with its reason.

A pattern is the beginning of a test's name behind ``numpy/``, without its parameters unless these are named.
"""

from __future__ import annotations

import re

# Files that are about what has no meaning in compiled code, or about NumPy's own making.
LEFT_OUT_FILES = {
    "objects, texts, dates, structures": (
        "test_dtype test_datetime test_stringdtype test_strings test_defchararray test_unicode test_custom_dtypes"
        " test_records test_recfunctions test_longdouble"
    ),
    "texts of arrays, files": (
        "test_arrayprint test_scalarprint test_print test_io test_format test_loadtxt test_memmap test_printing"
    ),
    "NumPy's internals": (
        "test_simd test_simd_module test_cpu_features test_cpu_dispatcher test_mem_policy test_cython"
        " test_limited_api test_argparse test_extint128 test_abc test_overrides test_array_interface test_dlpack"
        " test_hashtable test_hugepages test_protocols test_numerictypes test_arrayterator test_mixins test_utils"
        " test__version test__datasource test__iotools test_extending test_casting_unittests test_symbol"
        " test_nditer test_arrayobject test_scalarinherit test_scalarbuffer test_array_api_info"
        " test_multithreading test_multiprocessing test_arraymethod test_api test_conversion_utils"
        " test__exceptions test__natype"
    ),
    "warnings": ("test_deprecations"),
}
# Of what a failed test says: what it is about.
LEFT_OUT_MESSAGES = {
    "warnings": re.compile(r"DID NOT WARN|No warnings of type|not triggered|Warning not raised|Got \d+ warnings"),
    "NumPy's internals": re.compile(r"refcount|getrefcount|sizeof"),
}


def _by_test(by_reason: dict[str, str]) -> dict[str, str]:
    return {test: reason for reason, tests in by_reason.items() for test in tests.split()}


# Single tests that are left out, by their reasons.
LEFT_OUT: dict[str, str] = _by_test(
    {
        "warnings": """
            _core/tests/test_errstate.py::TestErrstate::test_errcall
            _core/tests/test_multiarray.py::TestFlags::test_warnonwrite
            _core/tests/test_multiarray.py::TestStats::test_ddof_too_big
            _core/tests/test_multiarray.py::TestStats::test_empty
            _core/tests/test_numeric.py::TestFloatExceptions::test_warnings
            _core/tests/test_numeric.py::TestIsclose::test_tol_warnings
            _core/tests/test_ufunc.py::TestUfunc::test_broadcast
            _core/tests/test_ufunc.py::TestUfunc::test_sum
            _core/tests/test_ufunc.py::TestUfunc::test_ufunc_at_inner_loops
            _core/tests/test_umath.py::TestLog2::test_log2_special
            _core/tests/test_umath.py::TestSpecialMethods::test_wrap
            lib/tests/test_function_base.py::TestMedian::test_empty
            lib/tests/test_nanfunctions.py::TestNanFunctions_MeanVarStd::test_ddof_too_big
            lib/tests/test_nanfunctions.py::TestNanFunctions_MeanVarStd::test_empty
            lib/tests/test_nanfunctions.py::TestNanFunctions_Median::test_empty
            lib/tests/test_nanfunctions.py::TestNanFunctions_Percentile::test_empty
        """,
        "NumPy's internals": """
            _core/tests/test_array_coercion.py::TestAsArray::test_dtype_identity
            _core/tests/test_mem_overlap.py::test_diophantine_fuzz
            _core/tests/test_mem_overlap.py::test_internal_overlap
            _core/tests/test_mem_overlap.py::test_may_share_memory
            _core/tests/test_mem_overlap.py::test_shares_memory_api
            _core/tests/test_multiarray.py::TestAlignment
            _core/tests/test_multiarray.py::TestArrayCreationCopyArgument::test___array__copy_arg
            _core/tests/test_multiarray.py::TestArrayCreationCopyArgument::test_buffer_interface
            _core/tests/test_multiarray.py::TestMethods::test_no_dgemv
            _core/tests/test_multiarray.py::TestResize::test_check_reference
            _core/tests/test_multiarray.py::TestResize::test_check_weakref
            _core/tests/test_multiarray.py::TestStats::test_dtype_from_dtype
            _core/tests/test_numeric.py::TestCreationFuncs::test_for_reference_leak
            _core/tests/test_numeric.py::TestTypes::test_promote_types_metadata
            _core/tests/test_regression.py::TestRegression::test_memoryleak
            _core/tests/test_regression.py::TestRegression::test_take_refcount
            _core/tests/test_regression.py::TestRegression::test_to_ctypes
            lib/tests/test_shape_base.py::TestMayShareMemory
            lib/tests/test_stride_tricks.py::test_writeable_memoryview
            linalg/tests/test_linalg.py::test_blas64_geqrf_lwork_smoketest
        """,
        "objects, texts, dates, structures": """
            _core/tests/test_array_coercion.py::TestNested::test_nested_arraylikes
            _core/tests/test_array_coercion.py::test_string_to_float_coercion_errors
            _core/tests/test_multiarray.py::TestArrayConstruction::test_array_copy_str
            _core/tests/test_multiarray.py::TestCreation::test_ragged_shape_object
            _core/tests/test_regression.py::TestRegression::test_deepcopy_F_order_object_array
            _core/tests/test_regression.py::TestRegression::test_string_NULL
            _core/tests/test_regression.py::TestRegression::test_unicode_string_comparison
            _core/tests/test_regression.py::TestRegression::test_void_scalar_constructor
            _core/tests/test_scalarmath.py::TestComparison::test_comparision_different_types
            lib/tests/test_arraypad.py::test_object_input
            lib/tests/test_regression.py::TestRegression::test_mem_string_concat
            lib/tests/test_shape_base.py::TestApplyAlongAxis::test_axis_insertion_ma
            lib/tests/test_shape_base.py::TestApplyAlongAxis::test_subclass_preservation
        """,
    }
)
# Tests that fail, by their reasons.
DIFFERENCES: dict[str, str] = _by_test(
    {
        "ndarray.resize, ndarray.setflags and views in the other byte order are refused": """
            _core/tests/test_half.py::TestHalf::test_half_funcs
            _core/tests/test_multiarray.py::TestAttributes::test_fill_readonly
            _core/tests/test_multiarray.py::TestFlags::test_writeable
            _core/tests/test_multiarray.py::TestMethods::test_choose
            _core/tests/test_multiarray.py::TestResize
            _core/tests/test_multiarray.py::TestSizeOf::test_resize
            _core/tests/test_numeric.py::TestNonzero::test_nonzero_byteorder
            _core/tests/test_regression.py::TestRegression::test_blasdot_uninitialized_memory
            _core/tests/test_regression.py::TestRegression::test_nonzero_byteswap
        """,
        "as_strided with strides that are no multiples of an element's size is refused": """
            _core/tests/test_mem_overlap.py::TestUFunc::test_unary_gufunc_fuzz
            _core/tests/test_multiarray.py::TestMethods::test_ravel
        """,
        (
            "arguments of which one is changed in place, and that share part of their memory otherwise than by steps that "
            "go into one another, are refused"
        ): """
            _core/tests/test_mem_overlap.py::TestUFunc::test_binary_ufunc_accumulate_fuzz
            _core/tests/test_mem_overlap.py::TestUFunc::test_binary_ufunc_reduce_fuzz
            _core/tests/test_mem_overlap.py::TestUFunc::test_binary_ufunc_reduceat_fuzz
            _core/tests/test_mem_overlap.py::TestUFunc::test_unary
        """,
        "a ufunc's reduce of a list without elements, with an initial number that changes between calls, is refused": """
            _core/tests/test_ufunc.py::TestUfunc::test_initial_reduction
        """,
        "a number of indices that changes between calls is taken for several: np.insert has a rule of its own for one": """
            lib/tests/test_function_base.py::TestInsert::test_multidim
        """,
        "np.einsum with optimize= stores in an array of integers what is no integer, where without it NumPy refuses that": """
            _core/tests/test_einsum.py::TestEinsum::test_einsum_0d_out
        """,
        "a list of tuples of numbers that is an argument is taken for the rows of an array": """
            _core/tests/test_shape_base.py::TestBlock::test_tuple
        """,
        "np.longlong is taken for np.int64, which has as many bits": """
            _core/tests/test_multiarray.py::TestMatmul::test_result_types
            _core/tests/test_multiarray.py::TestMatmulOperator::test_result_types
        """,
        "np.arange(start=4) is taken for np.arange(4)": """
            _core/tests/test_multiarray.py::TestArange::test_require_range
        """,
        "a view that repeats its elements is returned as an array, which memory has to hold": """
            _core/tests/test_array_coercion.py::TestArrayLikes::test_too_large_array_error_paths
        """,
        "results lie row- or column-major, and views with gaps are copied": """
            _core/tests/test_einsum.py::TestEinsum::test_einsum_views
            _core/tests/test_einsum.py::TestEinsum::test_output_order
            _core/tests/test_indexing.py::TestIndexing::test_memory_order
            _core/tests/test_multiarray.py::TestMethods::test_copy
            _core/tests/test_multiarray.py::TestViewDtype::test_smaller_dtype_multiple
            _core/tests/test_numeric.py::TestLikeFuncs
        """,
        "np.logspace of an array of bases, or of Python's own numbers with one, is refused": """
            _core/tests/test_function_base.py::TestLogspace::test_start_stop_array
            _core/tests/test_regression.py::TestRegression::test_logspace_base_does_not_determine_dtype
        """,
        "digits: of powers of numbers of subclasses the last one differs from that of compiled code": """
            _core/tests/test_function_base.py::TestGeomspace::test_physical_quantities
            _core/tests/test_function_base.py::TestGeomspace::test_subclass
            _core/tests/test_function_base.py::TestLogspace::test_physical_quantities
            _core/tests/test_function_base.py::TestLogspace::test_subclass
        """,
        (
            "FloatingPointError is not raised by reductions of other ufuncs, dot, complex numbers, neighbouring "
            "floats, and divmod that is invalid besides"
        ): """
            _core/tests/test_half.py::TestHalf::test_half_fpe
            _core/tests/test_multiarray.py::TestMethods::test_dot_errstate
            _core/tests/test_umath.py::TestDivision::test_division_int_reduce
            _core/tests/test_umath.py::TestRemainder::test_float_remainder_overflow
            _core/tests/test_umath_complex.py::TestClog::test_special_values
        """,
        "NumPy does not tell __array_ufunc__ of out=...": """
            _core/tests/test_ufunc.py::TestUfunc::test_output_ellipsis
        """,
        "arrays in the other byte order are taken as the numbers that they hold": """
            _core/tests/test_shape_base.py::test_stack_out_and_dtype
            _core/tests/test_ufunc.py::TestUfunc::test_cast_safety
        """,
        "there is no limit to how many arrays an index has, or np.choose": """
            _core/tests/test_indexing.py::TestIndexing::test_too_many_advanced_indices
            _core/tests/test_multiarray.py::TestChoose::test_dimension_and_args_limit
        """,
        "np.min_scalar_type of a number that changes between calls is refused": """
            _core/tests/test_multiarray.py::TestMinScalarType
        """,
        "messages, and the kind of an exception, where NumPy looks at arguments in another order": """
            _core/tests/test_indexing.py::TestBooleanIndexing::test_bool_as_int_argument_errors
            _core/tests/test_multiarray.py::TestDevice::test_to_device
            _core/tests/test_multiarray.py::TestMatmul::test_empty_out
            _core/tests/test_multiarray.py::TestMethods::test_partition
            _core/tests/test_multiarray.py::TestMethods::test_put
            _core/tests/test_multiarray.py::TestMethods::test_searchsorted_with_invalid_sorter
            _core/tests/test_multiarray.py::TestMethods::test_sort
        """,
        "strides and the memory of an array are not set, and not told of views": """
            _core/tests/test_indexing.py::TestMultiIndexingAutomated
            _core/tests/test_multiarray.py::TestAttributes::test_set_stridesattr
            _core/tests/test_multiarray.py::TestMethods::test_diagonal_view_notwriteable
            _core/tests/test_multiarray.py::TestMethods::test_dot_out_mem_overlap
            _core/tests/test_multiarray.py::TestMethods::test_matmul_out
        """,
        "of arguments that share memory the one that is returned is another object": """
            fft/tests/test_pocketfft.py::TestFFT1D::test_fft_inplace_out
        """,
        "transforms of some lengths err by a unit or two more": """
            fft/tests/test_pocketfft.py::TestFFT1D::test_identity_long_short
        """,
        "np.isin sorts, where kind='table' would overflow, too": """
            lib/tests/test_arraysetops.py::TestSetOps::test_isin_errors
        """,
        "the TypeError has another text": """
            lib/tests/test_arraysetops.py::TestUnique::test_unique_axis_float_raises_typeerror
        """,
        "the text of an error names a number as a traced array": """
            lib/tests/test_arraypad.py::test_unsupported_mode
        """,
        "a list that np.diff returns as it is is an array": """
            lib/tests/test_function_base.py::TestDiff::test_n
        """,
        "the last digit is another one than NumPy's": """
            lib/tests/test_function_base.py::Test_I0::test_non_array
        """,
        "an argument with steps of 0 takes the memory of all its elements": """
            lib/tests/test_shape_base.py::TestArraySplit::test_integer_split_2D_rows_greater_max_int32
        """,
        "views that a function returns are copies": """
            lib/tests/test_stride_tricks.py::TestSlidingWindowView::test_writeable
            lib/tests/test_stride_tricks.py::test_writeable
        """,
        "a view in the other byte order is refused": """
            linalg/tests/test_linalg.py::test_byteorder_check
        """,
    }
)
# What a failed test says, whichever it is.
DIFFERENCES_IN_MESSAGES = {
    "hundreds of shapes and layouts, each of which is compiled, take longer than a test may": re.compile(
        "TimeoutError: the test takes too long"
    ),
}


def left_out(test: str, message: str) -> str | None:
    """Why a test that has failed does not count."""
    file = test.partition("::")[0].rpartition("/")[2].removesuffix(".py")
    for reason, files in LEFT_OUT_FILES.items():
        if file in files.split():
            return reason
    return _said(LEFT_OUT_MESSAGES, message) or _of(LEFT_OUT, test)


def difference(test: str, message: str) -> str | None:
    """The reason that is known for the failure of a test, by its name, or by what it says."""
    return _said(DIFFERENCES_IN_MESSAGES, message) or _of(DIFFERENCES, test)


def _of(table: dict[str, str], test: str) -> str | None:
    return next((reason for pattern, reason in table.items() if test.startswith(pattern)), None)


def _said(table: dict[str, re.Pattern[str]], message: str) -> str | None:
    return next((reason for reason, pattern in table.items() if pattern.search(message)), None)

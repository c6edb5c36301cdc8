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
# Single tests that are left out, by their reasons.
LEFT_OUT: dict[str, str] = {}
# Tests that fail, by their reasons.
DIFFERENCES: dict[str, str] = {}


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


def difference(test: str) -> str | None:
    """The reason that is known for the failure of a test."""
    return _of(DIFFERENCES, test)


def _of(table: dict[str, str], test: str) -> str | None:
    return next((reason for pattern, reason in table.items() if test.startswith(pattern)), None)

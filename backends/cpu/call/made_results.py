"""The objects that are made of results in memory: Python's numbers, NumPy's scalars, arrays."""

# In the form of `entry_code`'s.
FUNCTIONS = ("PyArray_Empty", "PyBool_FromLong", "PyComplex_FromDoubles", "PyFloat_FromDouble")

ASSEMBLY = """
; The object of a result whose memory holds a Python number, or NULL with an exception set.
define internal ptr @python_number(i64 %kind, ptr %value_at) alwaysinline {
  switch i64 %kind, label %truth [ i64 RESULT_FLOAT, label %float
                                   i64 RESULT_INTEGER, label %integer
                                   i64 RESULT_CODE, label %code
                                   i64 RESULT_COMPLEX, label %complex ]
float:
  %found_float = load double, ptr %value_at
  %make_float = load ptr, ptr @PyFloat_FromDouble
  %made_float = call ptr %make_float(double %found_float)
  ret ptr %made_float
complex:
  %found_real = load double, ptr %value_at
  %imaginary_at = getelementptr double, ptr %value_at, i64 1
  %found_imaginary = load double, ptr %imaginary_at
  %make_complex = load ptr, ptr @PyComplex_FromDoubles
  %made_complex = call ptr %make_complex(double %found_real, double %found_imaginary)
  ret ptr %made_complex
code:
  %found_code = load i32, ptr %value_at
  %wide_code = sext i32 %found_code to i64
  br label %whole
integer:
  %long_integer = load i64, ptr %value_at
  br label %whole
whole:
  %found_integer = phi i64 [ %wide_code, %code ], [ %long_integer, %integer ]
  %make_integer = load ptr, ptr @PyLong_FromLongLong
  %made_integer = call ptr %make_integer(i64 %found_integer)
  ret ptr %made_integer
truth:
  %byte = load i8, ptr %value_at
  %found_truth = zext i8 %byte to i64
  %make_truth = load ptr, ptr @PyBool_FromLong
  %made_truth = call ptr %make_truth(i64 %found_truth)
  ret ptr %made_truth
}

; A new array, row-major, with a copy of so many bytes. NULL with an exception set.
define internal ptr @array_of(i32 %rank, ptr %shape, ptr %dtype, ptr %from, i64 %bytes) alwaysinline {
  ; PyArray_Empty takes over a reference to the descriptor.
  call void @retain(ptr %dtype)
  %allocate = load ptr, ptr @PyArray_Empty
  %new = call ptr %allocate(i32 %rank, ptr %shape, ptr %dtype, i32 0)
  %no_array = icmp eq ptr %new, null
  br i1 %no_array, label %done, label %copy
copy:
  %to = field ptr %new, ARRAY_DATA
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  br label %done
done:
  ret ptr %new
}

; The object that is made of memory which a kernel fills, as a `Result` says: a number, a scalar, or a new array. NULL with an
; exception set.
define internal ptr @object_of(ptr %record, ptr %data) alwaysinline {
  %kind = field i64 %record, Result_kind
  %dtype = field ptr %record, Result_dtype
  switch i64 %kind, label %number [ i64 RESULT_ARRAY, label %array
                                    i64 RESULT_SCALAR, label %scalar ]
number:
  %made_number = call ptr @python_number(i64 %kind, ptr %data)
  ret ptr %made_number
scalar:
  %make_scalar = load ptr, ptr @PyArray_Scalar
  %made_scalar = call ptr %make_scalar(ptr %data, ptr %dtype, ptr null)
  ret ptr %made_scalar
array:
  %rank = field i32 %record, Result_rank
  %shape = field ptr %record, Result_shape
  %bytes = field i64 %record, Result_bytes
  %new = call ptr @array_of(i32 %rank, ptr %shape, ptr %dtype, ptr %data, i64 %bytes)
  ret ptr %new
}

; The array that was made for a result, of the size along its first dimension that it turned out to have; if that is less than
; half of the bound a new array in its place, so that no more memory is kept. NULL with an exception set if there is no memory.
define internal ptr @of_size(ptr %record, ptr %array, ptr %frame) {
  %dimensions = alloca [64 x i64]
  %size_offset = field i64 %record, Result_size
  %size_at = getelementptr i8, ptr %frame, i64 %size_offset
  %narrow_size = load i32, ptr %size_at
  %size = sext i32 %narrow_size to i64
  %shape = field ptr %record, Result_shape
  %bound = load i64, ptr %shape
  %is_full = icmp eq i64 %size, %bound
  br i1 %is_full, label %full, label %smaller
full:
  ret ptr %array
smaller:
  ; One row would be contiguous in both orders.
  %double = shl i64 %size, 1
  %is_most = icmp uge i64 %double, %bound
  %are_rows = icmp ugt i64 %size, 1
  %keeps_memory = and i1 %is_most, %are_rows
  br i1 %keeps_memory, label %shrink, label %replace
shrink:
  %own_dimensions = field ptr %array, ARRAY_DIMENSIONS
  store i64 %size, ptr %own_dimensions
  ret ptr %array
replace:
  %rank = field i32 %record, Result_rank
  %wide_rank = zext i32 %rank to i64
  %shape_size = shl i64 %wide_rank, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %dimensions, ptr %shape, i64 %shape_size, i1 false)
  store i64 %size, ptr %dimensions
  %dtype = field ptr %record, Result_dtype
  %row_size = field i64 %record, Result_bytes
  %bytes = mul i64 %size, %row_size
  %from = field ptr %array, ARRAY_DATA
  %new = call ptr @array_of(i32 %rank, ptr %dimensions, ptr %dtype, ptr %from, i64 %bytes)
  call void @drop(ptr %array)
  ret ptr %new
}
"""

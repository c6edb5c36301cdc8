"""A kernel of two arrays that writes 5 into the second one, for the tests of kernels that users write."""

FIVE = "define void @five(ptr %x, ptr %y) {\n  store i32 5, ptr %y\n  ret void\n}"
# What stands between the braces of one in PTX whose parameters are x and y.
BODY_IN_PTX = """  .reg .u64 %y;
  .reg .u32 %five;
  ld.param.u64 %y, [y];
  mov.u32 %five, 5;
  st.global.u32 [%y], %five;
  ret;"""

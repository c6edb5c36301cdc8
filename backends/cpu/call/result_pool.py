from . import object_layout
POOLED_BYTES=1<<20
def pooled_empty_address(): return object_layout.numpy_api_address("PyArray_Empty")

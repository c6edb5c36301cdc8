"""LLVM assembly of kernels to the code that drivers take: `compiling` is its door, and a file of each form says the steps."""

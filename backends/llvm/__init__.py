"""Emitters that turn HLO into LLVM IR."""

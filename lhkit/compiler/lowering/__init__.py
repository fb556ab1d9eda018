"""From a scheduled payload to LLVM IR.

- ``pipeline``: From a scheduled payload to LLVM, by stages, with the stage and the op named where it fails.
- ``memory_lowering``: Copies between strided buffers, as loops: LLVM's lowering would call a runtime library
  for them.
- ``destination_style``: Functions that return values become functions that write to destinations.
- ``soft_floats``: Conversions to short floats that the JIT's process lacks, as functions of the compiled
  module itself.
- ``float_functions``: Elementary functions of floats by range reduction and polynomial, and the notation they
  are written in.
- ``microkernel_calls``: Microkernels: functions of a payload that C source or a Python function stands in
  for.
- ``target_attributes``: Machine code for another x86 CPU than this one, by attributes on the functions of a
  lowered module.
- ``extent_checks``: Which extents of dynamic arguments a payload takes: found at compile time, looked at
  before every call.
"""

"""From a scheduled payload to LLVM IR.

- ``pipeline``: From a scheduled payload to LLVM, by stages, with the stage and the op named where it fails.
- ``destination_style``: Functions that return values become functions that write to destinations.
- ``microkernel_calls``: Microkernels: functions of a payload that C source or a Python function stands in
  for.
- ``target_attributes``: Machine code for another x86 CPU than this one, by attributes on the functions of a
  lowered module.
- ``extent_checks``: Which extents of dynamic arguments a payload takes: found at compile time, looked at
  before every call.
- ``legalization``: Rewrites that LLVM's lowering needs: strided copies, stack buffers, i1 vectors, short
  float conversions.
"""

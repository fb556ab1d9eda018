"""From a scheduled payload to LLVM IR.

- ``pipeline``: From a scheduled payload to LLVM, by stages, with the stage and the op named where it fails.
- ``pass_steps``: Pass pipelines run pass by pass, with a journal of what each did to which op.
- ``destination_reuse``: Temporary buffers that are freed before a result is first touched lie where it will be.
- ``destination_style``: Functions that return values become functions that write to destinations.
- ``forall_slices``: Values that would be written over by others in the buffers of loops get
  tensors of their own.
- ``partial_evaluation``: Partial evaluation: bound arguments become constants, and what depends on constants
  alone is split off.
- ``microkernel_calls``: Microkernels: functions of a payload that C source or a Python function stands in
  for.
- ``runtime_calls``: The functions of MLIR's runner libraries that payloads may call: clocks and prints.
- ``target_attributes``: Targets of kernels: attributes of functions for another x86 CPU, and threads by the
  OpenMP runtime.
- ``extent_checks``: Runtime checks of dynamic extents: conditions found at compile time, evaluated before
  every call.
- ``legalization``: Rewrites that LLVM's lowering needs: strided copies, stack buffers, narrow integers,
  short floats.
- ``streaming_stores``: Results that are written past the caches: non-temporal stores, for functions that a
  schedule has marked.
- ``prefetches``: Prefetches around reductions that a schedule has marked: the next strip's panel, and what a
  tile ends with.
- ``dot_products``: Products of small matrices by instructions for dot products of narrow numbers, for ops that
  a schedule has marked.
- ``dot_operands``: What one such instruction is to compute: its operands in memory, and their places.
- ``matrix_tiles``: Such products in the matrix tiles of x86 (AMX), as text of functions.
- ``vector_dots``: Such products in vectors (AVX512-BF16, AVX512-VNNI, AVX-VNNI), as text of functions.
- ``row_copies``: Loops that copy or fill a row become vectors: pads, and slices that bufferization copies.
"""

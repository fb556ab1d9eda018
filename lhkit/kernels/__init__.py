"""Compiled payloads: calls, verification, machine code and hot loops.

- ``kernel``: Kernels: compiled payloads that take and return NumPy arrays, and survive the worker they live
  in.
- ``argument_marshalling``: Arguments and results on their way to a kernel: whether they fit, and how they
  travel.
- ``verification``: Verifying kernels: against the payload's NumPy reference, else against the unscheduled
  payload.
- ``hot_loops``: What bounds a kernel, read off its machine code: the innermost loops and what each iteration
  does.
- ``code_listing``: Machine code of the hot loops, instruction by instruction, with the IR that each comes
  from.
- ``instruction_sets``: What instructions compute, by table: x86 with SSE to AVX-512 and AMX, AArch64 with
  NEON.
"""

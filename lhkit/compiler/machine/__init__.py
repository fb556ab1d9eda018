"""Compiled kernels: JIT, arguments, timing loops, disassembly, and the variants of sweeps.

- ``compiled_kernel``: Compiled kernels: the whole way from text to a function that can be called.
- ``memref_arguments``: NumPy arrays as the arguments of compiled functions, prepared once and called many
  times.
- ``object_code``: Machine code of a kernel, read from the object file: instructions, what each accesses, where
  it goes, and the symbols it names; AArch64's by the LLVM that llvmlite brings.
- ``object_loading``: Object files that another process made, in memory and ready to be called.
- ``timing_runs``: Timing in the worker: calls with everything in place, calibrated, warmed up, sampled one
  batch at a time; loops in machine code that repeat calls and reach the limits of the core.
- ``variant_trials``: Variants of a sweep: each one compiled, verified and timed on arguments that stay in
  place.
- ``code_samples``: Where the time of a kernel goes, by instruction: a timer interrupts its calls.
- ``python_references``: Reference functions by ``FILE.py:FUNCTION``, loaded where they run.
"""

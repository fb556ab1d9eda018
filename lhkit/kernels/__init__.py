"""Compiled payloads: calls, verification, machine code and hot loops.

- ``kernel``: Kernels: compiled payloads that take and return NumPy arrays and survive restarts of the worker.
- ``argument_marshalling``: Argument marshalling: type checks, packing into shared memory, and what decides a
  kernel.
- ``bound_arguments``: Bound arguments: which they are, by position or name, and the arrays that a kernel
  keeps for them.
- ``verification``: Verification of kernels against the payload's NumPy reference, else against the
  unscheduled payload.
- ``hot_loops``: Hot loops of a kernel from its machine code: per-iteration counts and the likely bound.
- ``perf_events``: Events of Linux's perf subsystem: whether cycles and cache misses can be counted.
- ``code_listing``: Listings of the hot loops, instruction by instruction, with the IR of each.
"""

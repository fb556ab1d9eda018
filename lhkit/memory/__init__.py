"""The memory that a kernel allocates: estimated from its buffers, and counted while it runs.

- ``footprint_estimate``: How much memory a kernel asks for, found by running the small program that decides
  about it.
- ``memory_state``: What lives at a moment of a program, and how moments are joined where control depends on
  data.
- ``live_buffers``: Live buffers over the program, in matplotlib: what holds memory from where to where, and
  the peak.
- ``kernel_memory``: The memory of kernels: what their buffers foretell, and what they ask for when they run.
"""

"""The memory that a kernel allocates: estimated from its buffers, and counted while it runs.

- ``footprint_estimate``: Abstract interpretation of a kernel's memory program: bounds on allocations, copies
  and peak.
- ``live_buffers``: Chart of live buffers over the program, with the peak, in matplotlib.
- ``kernel_memory``: Footprints of kernels: the estimate from the buffers, and the allocations counted in a
  call.
"""

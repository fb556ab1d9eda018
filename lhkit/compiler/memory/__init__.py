"""What a compiled payload allocates: a slice of the buffered IR, and a ledger of the heap.

- ``memory_slice``: Memory programs of buffered IR: a slice with the allocations and everything that decides
  about them.
- ``buffer_sizes``: Sizes of buffers as LLVM lays them out, and refusal of those that exceed the worker's
  memory limit.
"""

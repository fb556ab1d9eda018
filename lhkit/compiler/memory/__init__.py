"""What a compiled payload allocates: a slice of the buffered IR, and a ledger of the heap.

- ``heap_ledger``: What compiled code asks of the heap: the C library's functions, with a ledger beside them.
- ``memory_slice``: From buffered IR to the small program that decides about memory: what is allocated when,
  and how much.
- ``buffer_sizes``: How large buffers are, as the lowering to LLVM lays them out, and which are larger than a
  worker may have.
"""

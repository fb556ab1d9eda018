"""The only room that imports MLIR; it runs in the worker process.

- ``handlers``: What the worker does for each request. State: compiled kernels, prepared timings and sweeps,
  nothing else.
- ``worker_main``: The compiler's worker: serves requests, or repeats those of a failure.
- ``frontends/``: Programs of other systems, PyTorch and StableHLO, as linalg on tensors.
- ``ir/``: Parsing and reading IR: bindings, diagnostics, outlines, signatures, extents and work.
- ``interpreter/``: Applying transform IR step by step: probes, effects, op identity, and the trace that comes
  of it.
- ``catalogue/``: The catalogue of transform ops, obtained by asking the bindings and the compiler.
- ``lowering/``: From a scheduled payload to LLVM IR.
- ``machine/``: Compiled kernels: JIT, arguments, timing loops, disassembly, and the variants of sweeps.
- ``memory/``: What a compiled payload allocates: a slice of the buffered IR, and a ledger of the heap.
- ``tiling/``: Structured ops with the loops around them, as index terms.
- ``parts/``: Payloads cut into parts, and parts put together.
- ``ops/``: Transform ops of lhkit itself, defined as a user would define them.
- ``extension/``: Transform ops defined in Python: registration, checks, values and failures.
"""

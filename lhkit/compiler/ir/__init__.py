"""Parsing and reading IR: bindings, diagnostics, outlines, signatures, extents and work.

- ``bindings``: The MLIR bindings: the only module that loads them, and where versions drift.
- ``context_pool``: Contexts that are used again: to make one takes longer than to parse and apply a schedule.
- ``parsing``: Text and bytecode to verified modules, with errors that tell parsing from verifying.
- ``author_names``: Names of handles as their author wrote them, found in the source text at the places of the
  IR.
- ``ir_dump``: A schedule's IR as an outline: plain data that can be reasoned about without MLIR.
- ``functions``: Signatures of payload functions, read off their types.
- ``schedule_modules``: Schedule modules: their sequences and knobs, libraries merged in, knobs set.
- ``capabilities``: What the host of the bindings can do, found out by trying, and where its version drifts.
- ``resource_constants``: Resources: constants whose data is not in the IR. Found, made arguments of, and put
  under compiled code.
- ``extents``: Extents of values that types leave open, followed from the arguments' shapes through the ops.
- ``canonical_text``: Canonical text of a payload: its ops and types, without names, places, comments and data.
- ``schedule_features``: Features of a scheduled payload for cost models: registers, bytes per cache,
  work, trip counts.
- ``work_estimate``: Counting the arithmetic of a payload: loop extents times what the body computes.
"""

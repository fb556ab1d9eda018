"""Frozen values that cross the wall, errors and the codec; only the standard library, no MLIR object.

- ``errors``: Exceptions that carry a `Failure`, one class per way to react.
- ``span``: Source spans, and the lines shown for them.
- ``codec``: Serialization of frozen dataclasses to JSON values and back, by type hints.
- ``payload``: Payload IR as a value.
- ``schedule``: Transform IR as a value: named sequences, the entry, knobs and bindings.
- ``trace_record``: The record of one application of a schedule: what every handle was after every step.
- ``trace_json``: Traces to and from the JSON of ``lhkit.trace/1``.
- ``invalidation``: The rule by which handles die, over plain ids: no IR, no names of ops.
- ``snapshot_delta``: Texts as edits of other texts, for snapshots.
- ``knob``: Knobs: the named choices that a schedule leaves open.
- ``measurement``: Measured times, verified results, and the run they come from.
- ``instructions``: Machine code as values: instructions with what they access, and what the loops among them
  do.
- ``signature``: Signature of a payload function: array types of arguments and results.
- ``target``: Facts of the target CPU that schedules may refer to.
- ``op_catalogue``: Catalogue of transform ops: the data behind forms, builder and search.
- ``op_words``: Documentation of ops in lhkit's own words: purpose, example, notation.
- ``step_form``: Forms of steps as data, and their generic syntax.
- ``op_assembly``: Printing a form in the custom assembly format of its op.
- ``own_op_definition``: Definition of transform ops in Python: decorator, argument types and errors.
- ``check_report``: What a static check of a schedule found: handles used while invalid, and passes that are
  not allowed.
- ``fatal_attributes``: Attribute values of transform ops that crash the compiler, for checks and traces.
- ``warning_kinds``: The kinds of warnings about silent mistakes, and how each is switched off by name.
- ``explanation``: Why a handle is what it is, as a value: one sentence, and the places that it speaks of.
- ``flow_graph``: A graph of what flows where, to be laid out and drawn: nodes inside of boxes, and edges with
  names.
- ``memory_footprint``: The memory a kernel asks for: foretold from its buffers, and counted while it runs.
- ``index_terms``: Index arithmetic as data: sizes and offsets of a payload in terms of its loops and its
  arguments' extents.
- ``tile_picture``: What a tile picture shows: operands of a structured op, and what an iteration touches of
  them.
- ``ir_outline``: A schedule as plain data: its sequences, ops, handles and effects, without IR and without a
  payload.
- ``pass_policy``: Allow-list of registered passes that schedules may run: those that only change IR.
- ``file_io``: Bounded reading of untrusted files and JSON, and atomic writing.
- ``showable``: Bases of values that show themselves at the end of a notebook cell and in `print`.
- ``intervals``: Arithmetic with numbers that are known only within bounds; None bounds nothing.
- ``bindings_host``: Detection of the installed MLIR bindings without importing them.
- ``sample_statistics``: Robust statistics of samples: medians, spreads, percentiles, and ratios with
  intervals.
- ``ranking``: Which entry is faster than which, and which are tied: paired ratios, corrected for many
  comparisons.
- ``blobs``: Blobs: data of ``dense_resource`` constants, kept beside the IR.
- ``printable``: Escaping of control and bidirectional characters in text for terminals.
"""

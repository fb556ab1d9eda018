"""Frozen values that cross the wall, errors and the codec; only the standard library, no MLIR object.

- ``errors``: Exceptions that carry a `Failure`, one class per way to react.
- ``span``: Source spans, and the lines shown for them.
- ``codec``: Serialization of frozen dataclasses to JSON values and back, by type hints.
- ``payload``: Payload IR as a value, with the data of its ``dense_resource`` constants kept beside the IR.
- ``schedule``: Transform IR as a value: named sequences, the entry, knobs and bindings.
- ``trace_record``: The record of one application of a schedule: the state of every handle after every step.
- ``trace_json``: Traces to and from the JSON of ``lhkit.trace/1``, and line deltas between consecutive IR
  snapshots.
- ``invalidation``: The invalidation rule of handles, over plain ids.
- ``knob``: Knobs: the named choices that a schedule leaves open.
- ``measurement``: Measured times, verified results, and the run they come from.
- ``instructions``: Machine code as values: instructions with their memory accesses, and the counts of loops.
- ``signature``: Signature of a payload function: array types of arguments and results.
- ``target``: Facts of the target CPU that schedules may refer to.
- ``op_catalogue``: Catalogue of transform ops for forms, builder and search; printing of forms in an op's
  assembly format; documentation of ops in lhkit's own words.
- ``step_form``: Forms of steps as data, and their generic syntax.
- ``own_op_definition``: Definition of transform ops in Python: decorator, argument types and errors.
- ``check_report``: The report of a static check: uses of invalidated handles, fatal ops, and refused passes.
- ``fatal_attributes``: Attribute values of transform ops that crash the compiler or make it slow, and the
  interpreter's warnings.
- ``expectation``: Expectations: what a schedule says in comments about the payload that it leaves, and those
  that are not met.
- ``op_loops``: The loops of a structured op: its own dimensions, and the loops around it at the end of a trace.
- ``explanation``: Explanations, repairs, and trials of transform ops, as values.
- ``flow_graph``: Dataflow graphs as data: nodes nested in boxes, and named edges.
- ``memory_footprint``: The memory of a kernel, estimated and counted, and the interval arithmetic of the
  estimate.
- ``tile_picture``: Tile pictures as data: index terms, operands of a structured op, and the elements of an
  iteration.
- ``ir_outline``: A schedule as plain data: its sequences, ops, handles and effects, without IR and without a
  payload.
- ``pass_policy``: Allow-list of registered passes that schedules may run: those that only change IR.
- ``pass_pipeline``: Textual pass pipelines as trees: ``builtin.module(func.func(canonicalize,cse))``.
- ``pass_trace``: A pipeline, pass by pass: what each pass did to which op, and the texts before and after.
- ``file_io``: Bounded reading of untrusted files and JSON, and atomic writing.
- ``showable``: Bases of values that show themselves at the end of a notebook cell and in `print`.
- ``bindings_host``: Detection of the installed MLIR bindings without importing them.
- ``sample_statistics``: Robust statistics of samples: medians, ratios with intervals, noise, and ranks with
  ties.
- ``printable``: Escaping of control and bidirectional characters in text for terminals.
"""

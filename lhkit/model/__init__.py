"""Frozen values that cross the wall, errors and the codec; only the standard library, no MLIR object.

- ``errors``: Exceptions that carry a `Failure`: one class for each way of reacting to it.
- ``span``: Places in source text, and the lines people are shown for them.
- ``codec``: Frozen dataclasses to JSON-ready values and back, by their type hints.
- ``payload``: Payload IR as a value.
- ``schedule``: Transform IR as a value: named sequences, the entry, knobs and bindings.
- ``trace_record``: The record of one application of a schedule: the state of every handle after every step.
- ``trace_json``: Traces to and from the JSON of ``lhkit.trace/1``.
- ``invalidation``: The invalidation rule of handles, over plain ids.
- ``snapshot_delta``: Line deltas between consecutive IR snapshots.
- ``knob``: Knobs: the named choices that a schedule leaves open.
- ``measurement``: Measured times, verified results, and the run they come from.
- ``instructions``: Machine code as values: instructions with what they access, and what the loops among them
  do.
- ``signature``: What a payload function takes and returns.
- ``target``: Targets: what schedules may ask of the CPU that they are for.
- ``op_catalogue``: The catalogue of transform ops as data: what a form, a builder and a search need to know
  of each.
- ``op_words``: Words about transform ops that are ours: what one uses each for, and the most used ones in a
  sentence.
- ``step_form``: Steps of a schedule as data: what a form shows, and MLIR's generic syntax for it.
- ``op_assembly``: Printing a form in the custom assembly format of its op.
- ``own_op_definition``: Transform ops of one's own: how a function in a Python file says what op it is.
- ``check_report``: The report of a static check: uses of invalidated handles, fatal ops, and refused passes.
- ``fatal_attributes``: Attributes of transform ops that end the process, in words, for the static check and
  for traces.
- ``warning_kinds``: Warnings that the interpreter finds while a schedule runs; `lhkit.traces.warnings` finds
  the others.
- ``explanation``: Explanations, repairs, and trials of transform ops, as values.
- ``flow_graph``: Dataflow graphs as data: nodes nested in boxes, and named edges.
- ``memory_footprint``: The memory a kernel asks for: foretold from its buffers, and counted while it runs.
- ``index_terms``: Index arithmetic as data: sizes and offsets of a payload in terms of its loops and its
  arguments' extents.
- ``tile_picture``: Tile pictures as data: operands of a structured op, and the elements that an iteration
  touches.
- ``ir_outline``: A schedule as plain data: its sequences, ops, handles and effects, without IR and without a
  payload.
- ``pass_policy``: Which registered passes a schedule may run: those that only change IR, by name.
- ``file_io``: Reading files that somebody else may have made: regular files of bounded size, and JSON of
  bounded depth.
- ``showable``: How values show themselves: the package registers drawings and tables, values look them up
  when asked.
- ``intervals``: Interval arithmetic on integers; a missing bound is None.
- ``bindings_host``: Which package provides the MLIR bindings, found without loading it; the only module that
  names one.
- ``sample_statistics``: Robust statistics of samples: medians, spreads, percentiles, and ratios with
  intervals.
- ``ranking``: Which entry is faster than which, and which are tied: paired ratios, corrected for many
  comparisons.
- ``blobs``: Blobs: the data of ``dense_resource`` constants, kept beside the IR instead of in it.
- ``printable``: Text for terminals: characters that could steer one, or hide what is written, in a form that
  shows them.
"""

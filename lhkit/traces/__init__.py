"""Traces of schedules: recording, explanations, diffs, dataflow graphs, the handle timeline, reports.

- ``record/``: Making a trace: the request, the journal, failures, and the history of handles and payload ops.
- ``opt/``: Traces by a compiler binary (mlir-opt): probes in the text, runs, and the trace put together from
  prints.
- ``explain/``: Why a handle is dead or empty, and warnings about steps that succeed without doing what was
  meant.
- ``diff/``: Two payloads against each other, op by op and line by line.
- ``graph/``: Dataflow of payloads and schedules as graphs.
- ``timeline/``: The handle timeline: one row per handle, one column per step.
- ``report/``: A trace as text, HTML, Markdown, data frames, and a folder that reproduces it.
"""

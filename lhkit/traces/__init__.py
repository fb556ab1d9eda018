"""Traces of schedules: recording, explanations, warnings, diffs, dataflow graphs, the handle timeline, reports.

- ``record/``: Recording a trace: the request, the journal, failures, and the history of handles and payload
  ops.
- ``opt/``: Traces by a compiler binary (mlir-opt), with probes in the text of the schedule.
- ``explain/``: Why a handle is invalidated or empty, why a schedule failed, and remarks on payload ops.
- ``warnings/``: Warnings about silent mistakes, one module per kind.
- ``intent/``: What a schedule says about the payload that it leaves, compared with that payload.
- ``diff/``: Diffs of two payloads, op by op and line by line.
- ``graph/``: Dataflow graphs of payloads and schedules.
- ``timeline/``: The handle timeline: one row per handle, one column per step.
- ``report/``: A trace as text, HTML, Markdown, data frames, and a reproducer folder.
"""

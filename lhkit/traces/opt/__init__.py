"""Traces by a compiler binary (mlir-opt), with probes in the text of the schedule.

- ``opt_runs``: Runs of a compiler binary, and what they print: payloads, parameters, and the targets of
  handles.
- ``opt_trace``: The trace assembled from runs of a compiler binary.
"""

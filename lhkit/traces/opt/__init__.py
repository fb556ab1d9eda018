"""Traces by a compiler binary (mlir-opt), with probes in the text of the schedule.

- ``probed_schedule``: Probes inserted into the text of a schedule: prints, and attributes that mark handles.
- ``opt_runs``: Runs of a compiler binary, and what they print: payloads, parameters, and the targets of
  handles.
- ``opt_trace``: The trace assembled from runs of a compiler binary.
"""

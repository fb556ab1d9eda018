"""Traces by a compiler binary (mlir-opt), with probes in the text of the schedule.

- ``opt_binary``: Finding and running a compiler binary, and parsing what it prints.
- ``probed_schedule``: Probes inserted into the text of a schedule: prints, and attributes that mark handles.
- ``opt_runs``: Repeated runs of a compiler binary that determine what every handle points to.
- ``opt_trace``: The trace assembled from runs of a compiler binary.
"""

"""Traces by a compiler binary (mlir-opt): probes in the text, runs, and the trace put together from prints.

- ``opt_binary``: A compiler binary in place of bindings: found, and run within limits in a process of its
  own.
- ``probed_schedule``: A schedule with probes written into its text, for compilers that can only be run.
- ``opt_runs``: Runs of a compiler binary, until what every handle points to is known as far as the schedule
  went.
- ``opt_trace``: A trace by a compiler binary: what can be had from prints, with the same rule for handles.
"""

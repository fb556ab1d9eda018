"""Recording a trace: the request, the journal, failures, and the history of handles and payload ops.

- ``trace_run``: Tracing a schedule step by step: the worker's journal read, also after a crash, and the cache
  of traces.
- ``handle_history``: Names, states and deaths of handles, payload ops over time, and queries on the texts of
  a trace.
- ``placed_ops``: The ops of a printed payload by line, without parsing it, and their ids in a trace.
- ``op_names``: Names that schedules and payloads give to ops, and which ops handles point to.
- ``placed_values``: Values between the ops of a printed payload: readers, loops around, dead code.
"""

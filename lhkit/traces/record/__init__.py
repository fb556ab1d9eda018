"""Recording a trace: the request, the journal, failures, and the history of handles and payload ops.

- ``trace_run``: Tracing a schedule step by step, and the cache of traces.
- ``journal_reader``: Parsing the worker's journal into the records of a trace, also after a crash.
- ``trace_failure``: The failure of a trace, with cause and places.
- ``handle_history``: Names, states and deaths of handles, and the payload ops over time.
- ``placed_ops``: The payload ops of a trace in the text of a snapshot.
- ``printed_ir``: The ops of a printed payload by line, without parsing it.
- ``schedule_text``: Queries on the text of a schedule: comments that allow warnings, matched names.
"""

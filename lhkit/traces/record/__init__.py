"""Making a trace: the request, the journal, failures, and the history of handles and payload ops.

- ``trace_run``: Tracing: a schedule applied step by step, as a value that says what every handle was.
- ``journal_reader``: From the journal that the worker wrote to the records of a trace, also where the worker
  died writing.
- ``trace_failure``: How a trace failed, as a failure that shows cause and places.
- ``handle_history``: What became of handles: their names for people, their states, their deaths in words.
- ``placed_ops``: Where the payload ops of a trace stand in a snapshot's text.
- ``printed_ir``: A payload as the compiler prints it, line by line: which ops there are, what each owns, what
  it refers to.
- ``schedule_text``: What the text of a schedule says around a step: comments that allow warnings, names that
  are matched.
"""

"""The builder: schedules written as Python calls named after the transform ops.

- ``blocks``: Sequences, blocks and steps under construction, and their text.
- ``schedule_builder``: The schedule builder: each call appends a step to the text.
- ``builder_code``: Python code that rebuilds a schedule with the builder.
- ``op_functions``: Functions for the ops of the catalogue, in namespaces by op name, with help and completion.
- ``step_results``: Arguments of a builder call as the form of a step; results of the step: number, types,
  names.
"""

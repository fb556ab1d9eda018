"""The builder: schedules written as Python calls named after the transform ops.

- ``call_arguments``: The arguments of a builder's call, checked one by one, as the form of a step.
- ``blocks``: What a builder has built so far: sequences, blocks and steps, and the text that they make.
- ``schedule_builder``: A schedule written by doing: each call adds a step, and the text is there at any time.
- ``builder_code``: Python code that builds a schedule: the calls of the builder that write it again.
- ``op_functions``: The ops of the catalogue as functions: families by the parts of their names, with help and
  completion.
- ``step_results``: The results of a step that is being built: how many, of which types, under which names.
"""

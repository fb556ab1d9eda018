"""Transform ops defined in Python: registration, checks, values and failures.

- ``own_op_registry``: Transform ops that are defined in Python, made known to every context.
- ``own_op_values``: What own ops are given and what they return: payload and attributes as Python values,
  both ways.
- ``own_op_checks``: Own ops in a schedule, checked before anything runs: kinds of handles, attributes with
  their types.
- ``own_op_failures``: What own ops raised, kept until the interpreter has stopped and somebody asks why.
"""

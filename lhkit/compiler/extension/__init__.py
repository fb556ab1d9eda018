"""Transform ops defined in Python: registration, checks, values and failures.

- ``own_op_registry``: Transform ops defined in Python: registration with every context, files of them, and
  checks of their uses.
- ``own_op_values``: What own ops are given and what they return: payload and attributes as Python values,
  both ways.
- ``own_op_failures``: What own ops raised, kept until the interpreter has stopped and somebody asks why.
"""

"""Transform ops defined in Python: registration, checks, values and failures.

- ``own_op_registry``: Transform ops defined in Python: conversion of values, registration, files with ops,
  checks of their uses.
- ``own_op_failures``: Exceptions of own ops, kept until the interpreter has stopped and its caller asks for
  them.
"""

"""Structured ops with the loops around them, as index terms.

- ``tiled_op_reader``: The structured ops of a payload as plain data: loops around them, and where their
  operands stand.
- ``term_reader``: Index values and extents of a payload as terms: plain data that says what they are computed
  from.
"""

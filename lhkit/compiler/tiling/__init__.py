"""Structured ops with the loops around them, as index terms.

- ``tiled_op_reader``: Structured ops of a payload as plain data: loops, operands, views, and index values as
  terms.
"""

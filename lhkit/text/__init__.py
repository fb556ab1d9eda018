"""Schedules as text: tokens, the tree of ops, edits, knobs, expressions, libraries and portable exports.

- ``lexer``: Lossless, error-tolerant lexer of MLIR text.
- ``op_tree``: Syntax tree of ops with source offsets.
- ``parser``: Error-tolerant parser from tokens to ops, without knowledge of particular ops.
- ``script``: Schedule text under edit: replacements, edit results and refusals.
- ``handle_scopes``: Name resolution of handles: the definition of each use, by region and isolation.
- ``step_arguments``: Source spans of a step's arguments and types.
- ``step_edits``: Edits of whole steps: insert, replace, remove, duplicate, switch off.
- ``structure_edits``: Structural edits: wrap steps in a foreach, outline them as a sequence, inline an
  include.
- ``knob_text``: Conversion between literals and knobs in schedule text.
- ``expressions``: Parser and compiler of expressions over knobs and target facts.
- ``expression_arithmetic``: Bounded arithmetic of expressions: stack-machine instructions and built-in
  functions.
- ``portable_export``: Portable exports: folding knobs, inlining libraries, and the obstacles to an export.
- ``upgrades/``: Old spellings of transform and payload IR, rewritten to those of today.
"""

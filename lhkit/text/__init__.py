"""Schedules as text: tokens, the tree of ops, edits, knobs, expressions, libraries and portable exports.

- ``lexer``: Lossless, error-tolerant lexer of MLIR text.
- ``op_tree``: Syntax tree of ops with source offsets.
- ``parser``: Error-tolerant parser from tokens to ops, without knowledge of particular ops.
- ``script``: Schedule text under edit: scopes of handles, replacements, edit results and refusals.
- ``step_arguments``: Source spans of a step's arguments and types.
- ``step_edits``: Edits of steps: insert, replace, remove, move, switch off, and wrap in a foreach.
- ``knob_text``: Knobs in schedule text: literals, defaults, requirements, and portable exports that fold them.
- ``expressions``: Parser and compiler of expressions over knobs and target facts.
- ``expectations``: Parser of ``// lhkit: expect`` comments.
- ``upgrades/``: Old spellings of transform and payload IR, rewritten to those of today.
"""

"""Schedules as text: tokens, the tree of ops, edits, knobs, expressions, libraries and portable exports.

- ``lexer``: A tolerant lexer of MLIR text: every character is in exactly one token, broken texts included.
- ``op_tree``: The ops of a schedule's text: where each one stands, and where its parts do. All places are
  offsets.
- ``parser``: From tokens to ops: a tolerant reader that knows brackets and where an op begins, and no op in
  particular.
- ``script``: A schedule's text under edit, what an edit gives, and how one is refused.
- ``handle_scopes``: Which definition each use of a handle means: names are scoped to regions, isolated ones
  see nothing else.
- ``step_arguments``: Arguments of a step as they are written: lists and values behind words, entries of
  dictionaries, types.
- ``step_edits``: Edits of whole steps: insert, replace, remove, duplicate.
- ``structure_edits``: Edits of structure: steps into a foreach, into a named sequence of their own, an
  include back in place.
- ``knob_text``: Literals to knobs and back.
- ``expressions``: Expressions over knobs or facts of a target, as texts: a small arithmetic language of its
  own grammar.
- ``expression_arithmetic``: Bounded arithmetic of expressions: instructions of a stack machine and the
  functions that they call.
- ``portable_export``: Schedules for other programs: knobs folded to what they are set to, what stands in the
  way, command lines.
- ``upgrades/``: Old spellings of transform and payload IR, rewritten to those of today.
"""

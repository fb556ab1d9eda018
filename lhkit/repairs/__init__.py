"""Repairs of a schedule: edits of its text that are proposed from a trace, applied to a copy, and traced.

- ``repair_context``: The input of a proposal (text, trace, step to repair), and the candidate edits.
- ``candidate_filter``: Candidates that cannot repair a step, left out before they are traced.
- ``dead_handles``: Repairs of a step whose handle is invalidated, repeats an op, or is fused too early: a
  result instead, another match, another order.
- ``wrong_kinds``: Repairs of a match that found nothing, and of a step that was given too many or too few
  sizes, handles or payload ops, or ops of the wrong kind.
- ``wrong_arguments``: Repairs of a step that asks for the wrong operand's producer, or takes a generic op and
  is given a named one.
- ``wrong_sizes``: Repairs of tile sizes: other orders, fewer loops, and what other steps tile by.
- ``other_handles``: Candidates that read another handle: a sibling result, one that nothing reads, or what an
  included sequence yields.
- ``intended_ops``: Repairs by the op that was meant: a match of another op, or one that is missing.
- ``missing_matches``: Repairs of a step that is given a function or a module in place of what lies inside.
- ``silent_mistakes``: Repairs for a warning: fusions, vectorization, steps whose failure is suppressed.
- ``unloadable_text``: Repairs of a text that does not parse or verify, by the compiler's message.
- ``repaired_payload``: The final payload of a repaired schedule in one line.
- ``trial_verdicts``: Whether an edit repairs a step: its trace compared with that of the text as it was.
- ``repair_trials``: Search for repairs: candidates of each cause, applied to a copy, traced, and judged.
"""

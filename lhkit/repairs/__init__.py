"""Repairs of a schedule: edits of its text that are proposed from a trace, applied to a copy, and traced.

- ``repair_context``: The input of a proposal (text, trace, step to repair), and the candidate edits.
- ``candidate_filter``: Candidates that cannot repair a step, left out before they are traced.
- ``dead_handles``: Repairs of a step whose handle is invalidated, repeats an op, or is fused too early: a
  result instead, another match, another order.
- ``wrong_kinds``: Repairs of a match that found nothing, and of a step that was given too many or too few
  sizes, handles or payload ops, or ops of the wrong kind.
- ``wrong_arguments``: Repairs of a step that asks for the wrong operand's producer, or takes a generic op and
  is given a named one.
- ``other_handles``: Candidates that read another handle: a sibling result, or one that nothing reads.
- ``intended_ops``: Repairs by the op that was meant: a match of another op, or one that is missing.
- ``silent_mistakes``: Repairs for a warning: sizes, fusions, vectorization, steps whose failure is suppressed.
- ``unloadable_text``: Repairs of a text that does not parse or verify, by the compiler's message.
- ``repaired_payload``: The final payload of a repaired schedule in one line.
- ``repair_trials``: Search for repairs: candidates of each cause, applied to a copy, traced, and judged.
"""

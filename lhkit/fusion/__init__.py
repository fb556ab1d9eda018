"""Why two ops of a payload are not fused: the cause, the step that is responsible, and repairs that were tried.

- ``fusion_doctor``: The question: `lhkit.why_not_fused`.
- ``named_ops``: Ops of a payload by what a user calls them: name, line, handle, value or attribute.
- ``fusion_case``: The two ops in a trace: their copies in each snapshot, the loops around them, the values
  between them.
- ``fusion_causes``: The causes, each found by a check.
- ``fusion_repairs``: Changes of a schedule that may fuse the two, for each cause.
"""

"""Why two ops of a payload are not fused: the cause, the responsible step, and repairs that were tried.

- ``fusion_doctor``: The question `lhkit.why_not_fused`, and the trials of repairs.
- ``fusion_case``: Two ops of a trace: which are meant, their copies in each snapshot, the values between them.
- ``fusion_causes``: The causes, each found by a check.
- ``fusion_repairs``: Changes of a schedule that may fuse the two, for each cause.
"""

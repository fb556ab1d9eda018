"""Why two ops of a payload are not fused: the cause, the responsible step, and repairs that were tried.

- ``fusion_doctor``: The question `lhkit.why_not_fused`, and the trials of repairs.
- ``fusion_case``: Two ops of a trace: which are meant, their copies in each snapshot, the values between them.
- ``fusion_queries``: What the checks ask a case: ways between the two, steps that were to fuse them, words.
- ``buffer_fusion``: Two ops that meet in a buffer: whether one loop over tiles of both computes the same.
- ``emptied_handles``: Causes in what a fused handle holds: nothing any more, or too much.
- ``payload_causes``: Causes in the payload: what is between the two, buffers, functions, result maps.
- ``fusion_causes``: Causes by steps, each found by a check, and the order of all checks.
- ``fusion_repairs``: Changes of a schedule that may fuse the two, for each cause.
"""

"""The static check of a schedule: uses of invalid handles, found without a payload.

- ``points_to``: Sets of payload ops without a payload: what is known of how the sets behind handles overlap
  and nest.
- ``op_facts``: What is known of transform ops: how their results relate to their operands, and what they
  leave in place.
- ``result_sets``: The cells that the results of a transform op point to, by what is known of the op.
- ``static_check``: A static check of a schedule: which uses of handles are certainly invalid, and which may
  be.
- ``schedule_check``: The static check of a schedule, as a report.
"""

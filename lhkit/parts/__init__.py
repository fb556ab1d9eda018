"""Payloads, such as models, in parts.

- ``payload_parts``: A payload cut into parts: an op that multiplies or reduces each, with what fuses into it.
- ``assembled_kernel``: Scheduled parts of a payload put together again into one kernel.
- ``torch_backend``: A backend for ``torch.compile``, of parts with the schedule for any payload.
- ``part_profile``: Where the time of a kernel goes: each part timed in place, beside what the machine allows.
- ``profile_picture``: A profile as text, table and bars.
"""

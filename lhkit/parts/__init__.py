"""Payloads, such as models, in parts.

- `payload_parts`: a payload cut into parts, each a payload of its own.
- `assembled_kernel`: scheduled parts put together into one kernel.
- `part_profile`: the time of each part within the kernel, beside what the machine allows.
"""

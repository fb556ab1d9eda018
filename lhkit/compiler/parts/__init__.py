"""Payloads cut into parts, and parts put together.

- ``part_groups``: Which ops of a function belong together.
- ``part_functions``: Parts of a function as functions of their own, which it calls.
- ``part_assembly``: A function that calls its parts, with the parts scheduled and put into it.
"""

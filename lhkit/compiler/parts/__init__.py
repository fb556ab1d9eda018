"""Payloads cut into parts, and parts put together: `part_groups` says which ops belong together, `part_functions`
makes functions of them, and `part_assembly` a payload of scheduled ones.
"""

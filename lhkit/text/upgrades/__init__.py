"""Old spellings of transform and payload IR, rewritten to those of today.

- ``rule_edits``: What an upgrade is made of: edits of the text, with the reason for each, and hints where
  there is none.
- ``text_upgrade``: The upgrade of a text: rules on its ops until nothing changes, then its sequences.
- ``payload_rules``: Payload ops of the past: the standard dialect, tensors before they had one, named ops
  that are now others.
- ``transform_rules``: Transform ops of the past: other names, other results, other places for sizes and
  types.
- ``tiling_rules``: Sizes, threads and mappings of tiling ops: where they stood, and where they stand today.
- ``linalg_rules``: Named ops of linalg that are now other ops, or are written in another way.
- ``rule_context``: What a rule of the transform dialect is, and what it may look at.
"""

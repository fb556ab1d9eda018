"""Old spellings of transform and payload IR, rewritten to those of today.

- ``rule_edits``: Edits, changes and hints of upgrade rules, and the trailing types of ops.
- ``text_upgrade``: Upgrade driver: applies rules to a fixpoint, then names top-level sequences.
- ``payload_rules``: Upgrade rules for payload ops: the std dialect, early tensor ops, renamed ops.
- ``util_rules``: Upgrade rules for ops of IREE's util dialect that have an equal in MLIR.
- ``transform_rules``: Upgrade rules for transform ops: renamed ops, results, sizes, threads, mappings and
  types.
- ``linalg_rules``: Upgrade rules for named ops of linalg.
"""

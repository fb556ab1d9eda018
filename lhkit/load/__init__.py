"""Payloads and schedules from files and strings: trust, old spellings, weights, inputs, targets.

- ``loader``: Loading payloads and schedules from files and strings; the worker verifies them.
- ``source_texts``: Source texts of payloads and schedules: files, strings and declared libraries.
- ``trust``: Trusted files, recognized by keyed digests.
- ``old_spellings``: Diagnostics of old spellings: errors that name the command that upgrades the text.
- ``newer_text``: Advice where a text has what the bindings do not know: a name that is meant, or that the text
  is newer.
- ``result_counts``: Advice for steps that bind another number of results than their op gives.
- ``file_upgrade``: Upgrade of files in old spellings, with the remaining parse errors.
- ``torch_modules``: PyTorch modules as payloads: exported here, converted to linalg in a process of its own.
- ``weights``: Weights of a payload: constants turned into arguments, and their data as arrays.
- ``random_inputs``: Random inputs from a function signature and a seed.
- ``target_choice``: The environment of measurements, and the choice of the target: the host CPU, a named one,
  or a schedule's.
- ``user_code``: Files with user code: transform ops in Python, and microkernels.
- ``deferred_module``: A module that others import and hardly use is loaded when something of it is used.
- ``shipped_files``: Location of the shipped payloads, schedules and notebooks.
- ``catalogue_cache``: On-disk cache of the catalogue of transform ops, keyed by toolchain.
- ``verified_edits``: Edits of schedules, verified by comparing the syntax tree with the parsed IR.
- ``schedule_export``: Portable and tunable exports of schedules, and applying an export by MLIR's own pass.
- ``resource_data``: Data of resources: split from MLIR text and bytecode, read from weight files, as blobs of
  payloads.
"""

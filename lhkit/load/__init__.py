"""Payloads and schedules from files and strings: trust, old spellings, weights, inputs, targets.

- ``loader``: Loading payloads and schedules from files and strings; the worker verifies them.
- ``source_texts``: Source texts of payloads and schedules: files, strings and declared libraries.
- ``trust``: Trusted files, recognized by keyed digests.
- ``old_spellings``: Diagnostics of old spellings: errors that name the command that upgrades the text.
- ``file_upgrade``: Upgrade of files in old spellings, with the remaining parse errors.
- ``resource_sections``: Resource sections of MLIR text (``{-# dialect_resources: … #-}``); their data is
  moved to files.
- ``weights``: Weights of a payload: constants turned into arguments, and their data as arrays.
- ``random_inputs``: Random inputs from a function signature and a seed.
- ``environment``: Environment of a measurement: machine, versions, thread settings.
- ``target_choice``: Choice of the target: the host CPU, a named one, or that of a schedule.
- ``user_code``: Files with user code: transform ops in Python, and microkernels.
- ``shipped_files``: Location of the shipped payloads, schedules and notebooks.
- ``catalogue_cache``: On-disk cache of the catalogue of transform ops, keyed by toolchain.
- ``verified_edits``: Edits of schedules, verified by comparing the syntax tree with the parsed IR.
- ``schedule_export``: Portable and tunable exports of schedules, and applying an export by MLIR's own pass.
- ``weight_files``: Streaming readers and writers of ``.npz`` and ``.safetensors``.
"""

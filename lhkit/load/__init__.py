"""Payloads and schedules from files and strings: trust, old spellings, weights, inputs, targets.

- ``loader``: Files and strings to payloads and schedules, verified by the worker.
- ``source_texts``: Sources of payloads and schedules: the contents of files, of strings, and of the libraries
  they name.
- ``trust``: What the user trusts: files that were saved here or trusted before are known by keyed digests.
- ``old_spellings``: Errors of texts in an older spelling say so, and what rewrites it.
- ``file_upgrade``: Files in an older spelling, rewritten and then parsed, so that what is left to do is
  known.
- ``resource_sections``: The resources at the end of MLIR text, ``{-# dialect_resources: … #-}``: their data
  goes to files.
- ``weights``: The weights of a payload: constants that became arguments, and the data of both as arrays.
- ``random_inputs``: Inputs for a function that nobody gave any: drawn from its signature and a seed.
- ``environment``: What a measurement depends on besides the code: machine, versions, thread settings.
- ``target_choice``: The target that defaults of knobs and machine code follow: this CPU, or one that was
  asked for.
- ``user_code``: Files with transform ops of one's own, loaded into a worker and into every worker that
  follows it.
- ``shipped_files``: Where the files that come with lhkit are: payloads, schedules and notebooks.
- ``catalogue_cache``: The catalogue of transform ops: made by the worker once for each toolchain, then read
  from a cache.
- ``verified_edits``: Schedules edited step by step: the reading of the text is held against the parsed IR
  before and after.
- ``schedule_export``: Schedules written for other programs, and applied by one that is not lhkit.
- ``weight_files``: Weights in files: ``.npz`` and ``.safetensors``, read and written a piece at a time.
"""

"""Warnings about silent mistakes, one module per kind.

To add a kind, write a module with a `WarningKind` and list it in ``warning_list``.

- ``warning_list``: The kinds of warnings in their order; adding them to a trace, and switching them off.
- ``warning_kind``: A kind of warning: its name, its description, and the function that finds it.
- ``zero_match``: Near misses of a match that found nothing: erased ops, other places, similar names.
- ``repeated_payload``: A handle that lists a payload op twice.
- ``unused_handle``: A step that only finds payload ops and whose results are never used.
- ``lost_contraction``: A contraction that vectorization left as product and reduction.
- ``scalar_code_left``: Structured ops that were left beside vectorized ones.
- ``vector_too_large``: A vector with more elements than LLVM compiles in reasonable time.
- ``knob_without_effect``: A knob whose options all give the same payload.
"""

"""Diffs of two payloads, op by op and line by line.

- ``op_diff``: Diff of two payloads whose ops are matched by their identity in the trace, or by structure.
- ``line_diff``: The lines of a diff of two payloads with known ops.
- ``ir_lines``: Diff lines as data, for drawings and tests.
- ``ir_html``: Payloads and diffs as HTML and as text.
"""

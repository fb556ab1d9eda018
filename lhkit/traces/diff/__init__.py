"""Diffs of two payloads, op by op and line by line.

- ``op_diff``: Diff of two payloads whose ops are matched by their identity in the trace, or by structure.
- ``line_diff``: Lines of a diff of two payloads with known ops: pairing, changed parts, and remarks on ops.
- ``ir_html``: Payloads and diffs as HTML and as text.
"""

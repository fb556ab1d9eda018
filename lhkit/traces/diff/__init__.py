"""Two payloads against each other, op by op and line by line.

- ``op_diff``: A payload against another, op by op: ops are the same by their identity in the trace, not by
  their text.
- ``line_diff``: The lines of a diff of two payloads whose ops are known.
- ``ir_html``: IR as HTML: a payload, a payload against another, a schedule; and a diff as text with the same
  signs.
- ``ir_lines``: A payload against another as lines: what is drawn, and what tests look at.
"""

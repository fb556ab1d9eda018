"""A trace as text, HTML, Markdown, data frames, and a folder that reproduces it.

- ``trace_text``: A trace as text: a row a step, deaths in words, what is left at the end.
- ``markdown_report``: A trace as a report for an issue thread: what failed and why first, all that is long
  folded.
- ``upstream_module``: Payload and schedule as other programs take them: one module with knobs set, command
  lines, short names.
- ``reproducer_folder``: The files of a folder that repeats a trace.
- ``trace_frames``: The records of a trace as pandas frames: one row a step, a handle, a payload op.
- ``schedule_html``: A schedule as HTML: every op linked to its steps, every name to its handles, with help
  when hovered.
- ``op_counts``: Op counts a step: how many ops of each dialect or name the payload has after every step.
"""

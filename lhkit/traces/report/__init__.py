"""A trace as text, HTML, Markdown, data frames, and a reproducer folder.

- ``trace_text``: A trace as a text table: one row per step, deaths in words, final states.
- ``markdown_report``: A trace to hand on: a Markdown report, a Compiler Explorer link, a folder and commands
  that reproduce it.
- ``trace_frames``: The records of a trace as pandas frames.
- ``schedule_html``: A schedule as HTML with steps and handles linked, and the steps of a trace as a table.
- ``op_counts``: Number of payload ops per dialect or name after every step.
"""

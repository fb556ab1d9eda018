"""The handle timeline: one row per handle, one column per step.

- ``lifelines``: The life of every handle over the moments of a trace: birth, uses, states, deaths, in the
  order of nesting.
- ``handle_timeline``: The handle timeline: a row a handle, a column a step; who makes, reads, consumes and
  kills what, and why.
- ``timeline_columns``: The columns of a handle timeline: names, and what is wrong with a step, in few words
  and in full.
- ``timeline_layout``: Where things of a handle timeline stand, in pixels: columns, rows, marks in a cell,
  places for notes.
- ``timeline_records``: What a handle timeline draws: columns, rows, marks, bars, arcs; tests look at these.
- ``timeline_svg``: A handle timeline as SVG.
- ``timeline_text``: A handle timeline as text: the same marks in a table of characters, four to a column.
"""

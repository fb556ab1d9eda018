"""The handle timeline: one row per handle, one column per step.

- ``lifelines``: The events and states of every handle over the moments of a trace.
- ``handle_timeline``: The handle timeline: folded columns and rows, arcs, and the timeline as text.
- ``timeline_records``: The records of a timeline drawing, and its rows.
- ``timeline_data``: The whole timeline as JSON, which a script draws: only what is in sight.
- ``timeline_svg``: A timeline as SVG and HTML: pixel positions, shapes and legend.
"""

"""Drawing without knowledge of a feature: theme, SVG, HTML, tables, graph layout, views and figures.

- ``svg``: Elements of SVG and HTML: escaped text, colours by role, selection marks, reproducible ids.
- ``theme``: The colours of all drawings, light and dark: the Okabe–Ito palette, safe for colour blindness.
- ``entry_looks``: One colour and one marker for each entry of a comparison, the same in every chart.
- ``graph_svg``: SVG and text of a laid-out graph.
- ``layered_layout``: Layered (Sugiyama) layout of compound graphs, from the inside out.
- ``layered_ranks``: Layers of a graph: ranks, bends of long arcs, crossing reduction and horizontal
  coordinates.
- ``viewer``: Views: panes with shared steps and one selection, as JSON for the script and as static HTML.
- ``figures``: matplotlib figures as SVG, PNG and PDF, reproducible byte by byte.
- ``tables``: Tables as text, HTML and CSV; units of times and sizes.
- ``live_view``: Drawings and knob controls for notebook cells, live where there is a kernel.
- ``view_widgets``: The widgets of live drawings: a shared selection, a slider over steps, knobs that redraw.
"""

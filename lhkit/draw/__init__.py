"""Drawing without knowledge of a feature: theme, SVG, HTML, tables, graph layout, views and figures.

- ``svg``: Elements of SVG and HTML: escaped text, colours by role, marks for the selection, ids that repeat.
- ``theme``: The colours of everything that is drawn: Okabe–Ito, told apart without colour vision too, light
  and dark.
- ``graph_svg``: A graph that is laid out, as SVG and as text.
- ``layered_layout``: Layered layout of graphs with boxes inside of boxes, from the inside out.
- ``layered_ranks``: Layers of a graph: which vertex stands in which, with bends where an arc passes one, and
  in what order.
- ``viewer``: Views: panes of drawings with steps to go through and one selection, as data for the script and
  as HTML.
- ``figures``: Figures as files: SVG for pages, PNG for readers that show nothing else, PDF for papers.
- ``tables``: Tables: one record of cells, as text, HTML and CSV.
- ``live_view``: A picture of a value for a cell of a notebook, live where there is a kernel.
"""

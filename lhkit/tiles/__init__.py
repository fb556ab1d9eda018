"""Tile pictures: which elements of each operand an iteration touches.

- ``tile_requests``: Tile pictures of payloads and traces; the worker reads the structured ops.
- ``tile_facts``: The computation of a tile picture, and of a frame: the tiles of one iteration.
- ``operand_region``: Regions of operands from indexing maps and slices, and iterations of loop nests.
- ``visited_elements``: Regions of an operand over iterations: tile, visited part, passes of loops, path.
- ``tile_labels``: Letters for the dimensions, loops and operands of a structured op.
- ``tile_layout``: Positions of operands: to one scale, a matrix product as on paper.
- ``tile_sheets``: One operand of a tile picture as SVG.
- ``tile_svg``: Tile pictures as SVG: operands, loops, and bytes compared with caches.
- ``tile_text``: A tile picture as text, and the texts of its captions.
- ``tile_html``: A tile picture as HTML with frames to step through.
"""

"""Tile pictures: which elements of each operand an iteration touches.

- ``tile_requests``: Tile pictures of payloads and traces; the worker reads the structured ops.
- ``tile_facts``: Tile pictures: loops, operands and their labels; the tiles of one iteration.
- ``tile_effect``: The effect of tiling in figures: loops, footprint, bytes moved, flops per byte.
- ``operand_region``: Regions of operands from indexing maps and slices: one iteration, loop nests, visited
  parts, paths.
- ``tile_layout``: Positions of operands to one scale, a matrix product as on paper; the picture as text.
- ``op_dimensions``: The dimensions of a structured op, by its indexing maps, and the loops around it.
- ``loops_picture``: The loops of a structured op as SVG and text: nested boxes.
- ``tile_svg``: Tile pictures as SVG and HTML: operands, loops, and bytes compared with caches.
"""

"""Tile pictures: which elements of each operand an iteration touches.

- ``tile_facts``: Tile pictures: what an iteration of the loops around a structured op touches of each
  operand.
- ``operand_region``: Which elements of a whole value an operand's tile is, from indexing maps and slices.
- ``visited_elements``: What of an operand was touched: at an iteration, before it, in a pass of a loop, and
  on which way.
- ``tile_layout``: Where a tile picture puts what: operands to one scale, a product as one writes it on a
  blackboard.
- ``tile_sheets``: One operand of a tile picture as SVG: the tile filled, what was visited hatched, passes
  outlined, its way.
- ``tile_text``: A tile picture in words: what its captions say, and all of it as plain text.
- ``tile_svg``: Tile pictures as SVG: operands with the tile, the loops around it, and bytes beside caches.
- ``tile_requests``: Tile pictures of payloads and traces: the facts come from the worker, the rest is
  computed here.
- ``tile_labels``: Letters for the dimensions, loops and operands of a structured op, as one would put them on
  a blackboard.
- ``tile_html``: A tile picture as a piece of a page: frames to step through, the first iterations side by
  side, text.
"""

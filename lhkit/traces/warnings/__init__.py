"""Warnings about silent mistakes.

To add a kind, write a function that finds it and list it in ``warning_list``.

- ``warning_list``: The kinds of warnings in their order; adding them to a trace, and switching them off.
- ``lost_work``: Warnings about work that a schedule does twice or not at all: failures that nothing reports,
  copies left.
- ``strided_fusion``: The warning about a producer that is fused through a slice with strides.
- ``tile_order``: Warnings about an op tiled across the tiles of what it reads, and a reduction shared out.
- ``named_ops``: The warning about a handle that is called like one op and holds another.
- ``unrolled_loops``: The warning about an outer loop that is unrolled while the inner one is left.
- ``zero_match``: Near misses of a match that found nothing: erased ops, other places, similar names.
"""

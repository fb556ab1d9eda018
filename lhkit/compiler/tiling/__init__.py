"""tiling."""

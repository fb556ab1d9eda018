"""Pure functions from values to text, SVG, HTML and figures; one theme, deterministic ids."""

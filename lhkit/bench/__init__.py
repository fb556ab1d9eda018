"""Live drawings: widgets that hold a view and a selection; what they do in a browser is in ``static/``."""

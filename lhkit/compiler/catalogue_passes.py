"""Passes."""
def registered_passes():
    return ()

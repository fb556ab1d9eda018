"""The memory of sweeps: the best schedule known for a payload, by what the payload is.

- ``payload_content``: Content of a payload as a key: a hash of its canonical text, and its extents apart.
- ``tuned_store``: Store of tuned schedules in the user's state, a file each; exported and imported as one file.
- ``best_known``: ``lhkit.best``: what is known for a payload, or for its nearest shape.
"""

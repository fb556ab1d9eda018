"""Why a handle is dead or empty, and warnings about steps that succeed without doing what was meant.

- ``handle_explanation``: Why a handle is dead, empty or refused: one sentence, and the places of definition,
  consumption and use.
- ``lost_producers``: Why a fusion found no producer: which step took away the use that it was to fuse into.
- ``lost_vectors``: What vectorization left behind: contractions without vector.contract, scalar ops, vectors
  too large.
- ``near_misses``: Why a match found nothing: what became of the ops that it looks for, or what is there
  instead.
- ``silent_mistakes``: Warnings that need the whole trace: added when a schedule has run, and taken out where
  they are allowed.
- ``op_remarks``: What there is to say about a payload op at a step: where it comes from, and which handles
  point to it.
"""

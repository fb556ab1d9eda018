"""Why a handle is dead or empty, why a schedule failed, and remarks on payload ops.

- ``handle_explanation``: Why a handle is dead, empty or refused, with the places of definition, consumption
  and use.
- ``failure_causes``: Causes of failures that only the whole trace shows: erased foreach targets, lost uses of
  a fused producer.
- ``near_misses``: Near misses of a match that found nothing: erased ops, other places, similar names.
- ``op_remarks``: Origin, erasure and handles of a payload op at a step.
"""

"""Why a handle is dead or empty, why a schedule failed, and remarks on payload ops.

- ``handle_explanation``: Why a handle is dead, empty or refused, and the failure of a trace, with causes and
  places.
- ``failure_causes``: Causes of failures that only the whole trace shows: erased foreach targets, lost uses of
  a fused producer.
"""

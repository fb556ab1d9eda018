"""The static check of a schedule: uses of invalidated handles, found without a payload.

- ``op_facts``: Facts about transform ops: how results relate to operands, and which ops keep other payload in
  place.
- ``points_to``: Points-to sets for the static checker: may/must alias and nesting between handles when no
  payload is given.
- ``transfer_functions``: Transfer functions of transform ops: the abstract sets of their results, and
  invalidated handles.
- ``schedule_check``: The public check of a schedule: abstract interpretation to find uses of
  invalidated handles.
"""

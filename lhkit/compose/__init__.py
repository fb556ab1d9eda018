"""Composing a schedule step by step: sessions with undo, forms, trial steps, recipes.

- ``session``: An editing session of a schedule: opening, undo, redo, a followed file, and a trace after each
  change.
- ``session_history``: Undo history of a session, its serialized form, and the recovery of sessions that were
  not closed.
- ``trial_steps``: Trying ops and recipes on a handle: each as one more step on a copy of the payload.
- ``step_candidates``: Candidate steps for a handle, with arguments that fit its payload.
- ``recipes``: Recipes: named sequences over op handles that are included as one step.
- ``form_text``: Printing of forms as steps, and their validation before parsing.
- ``builder/``: The builder: schedules written as Python calls named after the transform ops.
"""

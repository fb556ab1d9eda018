"""Composing a schedule step by step: sessions with undo, forms, trial steps, recipes.

- ``session``: A schedule put together step by step: every change can be undone, and the trace follows.
- ``saved_session``: Sessions as data: what a saved workbench holds, and what is kept for recovery.
- ``session_history``: What a session was and is, as values: versions of a schedule in a line of undo and
  redo.
- ``session_opening``: Sessions opened from what people name, also from a text that is no schedule yet.
- ``trial_steps``: What can be done with a handle: ops and recipes, tried as one step more on a copy of the
  payload.
- ``step_candidates``: Steps to try on a handle, with arguments that fit its payload.
- ``recipes``: Recipes: named sequences that take handles to ops, to be included as one step.
- ``form_text``: Steps of a schedule from forms to text, and what is wrong with a form before the compiler
  sees it.
- ``followed_file``: A file that another editor saves, looked at whenever somebody asks.
- ``session_versions``: Versions of a session from texts: a schedule where the text is one, a draft where it
  is not.
- ``builder/``: The builder: schedules written as Python calls named after the transform ops.
"""

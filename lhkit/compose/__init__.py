"""Composing a schedule step by step: sessions with undo, forms, trial steps, recipes.

- ``session``: An editing session of a schedule: undo, redo, and a trace that follows each change.
- ``saved_session``: Serialized sessions, for saved workbenches and for recovery.
- ``session_history``: Undo history of a session: versions from texts, and an immutable list of them.
- ``session_opening``: Opening of sessions from paths, texts and values, including text that does not parse.
- ``trial_steps``: Trying ops and recipes on a handle: each as one more step on a copy of the payload.
- ``step_candidates``: Candidate steps for a handle, with arguments that fit its payload.
- ``recipes``: Recipes: named sequences over op handles that are included as one step.
- ``form_text``: Printing of forms as steps, and their validation before parsing.
- ``followed_file``: A schedule file that is also edited elsewhere: polling, and detecting conflicting saves.
- ``builder/``: The builder: schedules written as Python calls named after the transform ops.
"""

"""Changes of a schedule that mend what failed: proposed from the trace, then tried.

- ``repair_context``: What candidates are made from: the text, the trace of it, and the step to be repaired.
- ``repair_trials``: Repairs that were tried: candidates applied to a copy of the text, traced, and kept if
  they help.
- ``moved_steps``: Steps moved to an earlier place of their block, with what they depend on.
- ``dead_handles``: Candidates for a step that uses a dead handle: what was returned instead, what is found
  again, another order.
- ``other_handles``: Candidates that read another handle: one of a kind that the step takes, rather one that
  nothing reads yet.
- ``empty_handles``: Candidates for a match that matched nothing: another name, another place to look in, an
  earlier moment.
- ``wrong_arguments``: Candidates for steps that were given too many or too few: sizes, handles, payload ops.
- ``unloadable_text``: Candidates for a text that does not parse or does not verify: by what the compiler says
  of it.
"""

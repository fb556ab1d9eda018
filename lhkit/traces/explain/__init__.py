"""Why a handle is invalidated or empty, why a schedule failed, and remarks on payload ops.

- ``handle_explanation``: Why a handle is invalidated, empty or refused, and the failure of a trace, with causes
  and places.
- ``failure_causes``: Causes of failures that only the whole trace shows: empty matches, erased targets,
  lost uses.
- ``match_conditions``: The condition of a match that excludes ops of the right name, with the nearest value and
  what to write.
- ``compiler_words``: The compiler's messages in the words of the schedule's author: names of handles, each
  place once.
"""

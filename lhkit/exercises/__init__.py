"""Exercises that check themselves: ``lhkit.exercises.load("fuse_everything")``.

::

    exercise = lhkit.exercises.load("fuse_everything")
    exercise                  # what is asked
    print(exercise.stub)      # where to begin
    exercise.check(answer)    # what the answer did, and what is missing
    exercise.hint()           # one hint; each call opens one more
    exercise.solution()       # one way to do it

Which ones are solved is remembered in the user's state folder: `progress` has the table.
"""

from lhkit.exercises.exercise import Exercise, load, progress
from lhkit.exercises.task import names
from lhkit.exercises.verdict import Finding, Note, Verdict

__all__ = ["Exercise", "Finding", "Note", "Verdict", "load", "names", "progress"]

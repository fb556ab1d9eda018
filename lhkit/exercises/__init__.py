"""Exercises that check themselves: ``lhkit.exercises.load("fuse_everything")``.

::

    exercise = lhkit.exercises.load("fuse_everything")
    exercise                  # what is asked
    print(exercise.stub)      # where to begin
    exercise.check(answer)    # what the answer did, and what is missing
    exercise.hint()           # one hint; each call opens one more
    exercise.solution()       # one way to do it

Which ones are solved is remembered in the user's state folder: `progress` has the table.

- ``exercise``: Exercises for the reader: statement, hints, verdicts, the record of solved ones, and the tests
  of answers.
- ``attempt``: Exercise files, and attempts: what a reader handed in, traced and compiled when asked for, and
  its verdict.
"""

from lhkit.exercises.attempt import Finding, Note, Verdict, names
from lhkit.exercises.exercise import Exercise, load, progress

__all__ = ["Exercise", "Finding", "Note", "Verdict", "load", "names", "progress"]

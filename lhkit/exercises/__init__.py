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
- ``attempt``: An attempt at an exercise: what a reader handed in, traced and compiled when asked for, and its
  verdict.
- ``task``: Exercise files: statement, stub, hints, solution, checks, and planted wrong answers.
"""

from lhkit.exercises.attempt import Finding, Note, Verdict
from lhkit.exercises.exercise import Exercise, load, progress
from lhkit.exercises.task import names

__all__ = ["Exercise", "Finding", "Note", "Verdict", "load", "names", "progress"]

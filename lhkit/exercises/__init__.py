"""Exercises that check themselves: ``lhkit.exercises.load("fuse_everything")``.

::

    exercise = lhkit.exercises.load("fuse_everything")
    exercise                  # what is asked
    print(exercise.stub)      # where to begin
    exercise.check(answer)    # what the answer did, and what is missing
    exercise.hint()           # one hint; each call opens one more
    exercise.solution()       # one way to do it

Which ones are solved is remembered in the user's state folder: `progress` has the table.

- ``exercise``: An exercise as somebody meets it: what is asked, hints one at a time, a verdict on each
  answer.
- ``attempt``: An answer to an exercise, and what comes of it: the schedule, its trace, the kernel, the
  numbers.
- ``task``: Exercises as they lie in files: statement, stub, hints, solution, checks, and answers planted to
  be wrong.
- ``verdict``: What is said of an answer: findings, what to do next, and a picture of what the answer did.
- ``answer_checks``: Looking at an answer: a function for each test that a check can name; each says what it
  saw.
"""

from lhkit.exercises.exercise import Exercise, load, progress
from lhkit.exercises.task import names
from lhkit.exercises.verdict import Finding, Note, Verdict

__all__ = ["Exercise", "Finding", "Note", "Verdict", "load", "names", "progress"]

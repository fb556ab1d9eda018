"""The page that ``lhkit lab`` opens: the lessons, and how far one is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lhkit.lessons.lesson import Lesson, LessonState

_STATES: dict[LessonState, str] = {"new": "○", "begun": "◐ begun", "run": "● run"}
_DONE = "✓ done"


def lessons_markdown(lessons: Sequence[Lesson]) -> str:
    """Return the page as Markdown, with links to the notebooks beside it."""
    taught = [
        lesson for lesson in lessons if "/" not in lesson.path
    ]  # what lies in folders is there to be used
    done = sum(lesson.is_done for lesson in taught)
    solved = sum(len(lesson.solved) for lesson in taught)
    exercises = sum(len(lesson.exercises) for lesson in taught)
    counted = f"**{done} of {len(taught)} done**"
    counted += f", {solved} of {exercises} exercises solved." if exercises else "."
    following = next((x for x in taught if not x.is_done), None)
    if following is not None:
        counted += f" Next: [{following.title}]({following.path})."
    return (
        "# Lessons\n\n"
        f"{counted}\n\n{_by_folder(lessons)}\n"
        "These are your own copies: change what you like. `lhkit lab --reset NAME` makes one new again and "
        "keeps yours beside it. *Run* means that every cell was run, without an error, and saved; "
        "*done*, that its exercises are solved too. `lhkit lab` writes this page anew while it runs: reload "
        "the page of the browser to see it.\n"
    )


def lessons_table(
    lessons: Sequence[Lesson], *, link: Callable[[Lesson], str] | None = None, states: bool = True
) -> str:
    """Return lessons as a table in Markdown.

    Args:
        lessons: What to list.
        link: Where the link of a lesson leads; to its notebook, if not given.
        states: Whether to say how far the reader is.
    """
    header = ["lesson", "what it is about", "minutes", *(["", "exercises"] if states else [])]
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    for lesson in lessons:
        target = lesson.path if link is None else link(lesson)
        cells = [f"[{lesson.title}]({target})", lesson.idea, str(lesson.minutes)]
        if states:
            solved = f"{len(lesson.solved)} of {len(lesson.exercises)}" if lesson.exercises else ""
            cells += [_DONE if lesson.is_done else _STATES[lesson.state], solved]
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _by_folder(lessons: Sequence[Lesson]) -> str:
    folders = dict.fromkeys(lesson.path.rpartition("/")[0] for lesson in lessons)
    parts = []
    for folder in folders:
        inside = [lesson for lesson in lessons if lesson.path.rpartition("/")[0] == folder]
        heading = f"## {folder.capitalize()}\n\n" if folder else ""
        parts.append(heading + lessons_table(inside))
    return "\n".join(parts)

"""The shipped notebooks as lessons: the reader's private copy, and the progress in it.

Progress is derived from the outputs in the copy and from the solved exercises in the state folder.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import usage_error
from lhkit.worker.folders import state_folder

# Unchanged; edited or partly run; every cell run and saved without an error.
LessonState = Literal["new", "begun", "run"]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A notebook as a lesson.

    Attributes:
        path: Relative to the folder of notebooks, with forward slashes.
        minutes: Estimated from its texts, cells and exercises.
    """

    path: str
    title: str
    idea: str
    minutes: int
    state: LessonState = "new"
    exercises: tuple[str, ...] = ()
    solved: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether every cell was run and every exercise is solved."""
        return self.state == "run" and len(self.solved) == len(self.exercises)


WORDS_FILE = "lessons.json"
SOLVED_SCHEMA = "lhkit.exercises/1"
_EXERCISE = re.compile(r"""\bexercises\.load\(\s*["'](\w+)["']""")
_WORDS_A_MINUTE, _MINUTES_A_CELL, _MINUTES_A_QUESTION, _MINUTES_AN_EXERCISE = 120, 0.7, 1.0, 5.0
_STEP_MINUTES = 5
_MOST_IDEA = 160
_SPENT = "before-reset"


def shipped_notebooks() -> tuple[Path, ...]:
    """Return the notebooks that come with lhkit, in the order of ``lessons.json``, others by name."""
    root = shipped_folder("notebooks")
    found = (p for p in root.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
    places = {name: place for place, name in enumerate(_words())}

    def place(path: Path) -> tuple[int, int, str]:
        below = _below(path)
        return below.count("/"), places.get(below.removesuffix(".ipynb"), len(places)), below

    return tuple(sorted(found, key=place))


def lessons_in(folder: Path | None = None) -> tuple[Lesson, ...]:
    """Return the shipped notebooks as lessons, in order, those of folders last."""
    words = _words()
    solved = solved_exercises()
    return tuple(_lesson(source, folder, words, solved) for source in shipped_notebooks())


def solved_exercises() -> Mapping[str, str]:
    """Return exercise → day on which it was solved."""
    try:
        data = _json_of(state_folder() / "exercises.json")
    except OSError:  # there is no state folder
        return {}
    if not isinstance(data, dict) or data.get("schema") != SOLVED_SCHEMA:
        return {}
    solved = data.get("solved")
    return {str(name): str(day) for name, day in solved.items()} if isinstance(solved, dict) else {}


def copy_notebooks(folder: Path) -> list[str]:
    """Copy shipped notebooks that a folder lacks into it; return their paths below it."""
    copied = []
    for source in shipped_notebooks():
        if not (target := folder / _below(source)).exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            copied.append(_below(source))
    return copied


def reset_notebook(folder: Path, name: str) -> Path | None:
    """Reset a notebook of the copy; return where the edited one is kept, None if it was unchanged."""
    copy_notebooks(folder)
    path = find_notebook(folder, name)
    source = shipped_folder("notebooks") / path.relative_to(folder)
    if path.read_bytes() == source.read_bytes():
        return None
    kept = _free(path)
    path.replace(kept)
    shutil.copyfile(source, path)
    return kept


def find_notebook(folder: Path, name: str) -> Path:
    """Return a shipped notebook of the copy by its name, its number, or the start of its name."""
    names = [_below(source) for source in shipped_notebooks()]
    asked = name.removesuffix(".ipynb")
    found = [n for n in names if n == f"{asked}.ipynb"] or [n for n in names if n.startswith(asked)]
    if len(found) != 1:
        raise usage_error(f"no notebook matches {name!r}", f"There are: {', '.join(names) or 'none'}.")
    return folder / found[0]


def _below(source: Path) -> str:
    return source.relative_to(shipped_folder("notebooks")).as_posix()


def _free(path: Path) -> Path:
    for number in range(1, 1000):
        kept = path.with_name(f"{path.stem}.{_SPENT}-{number}.ipynb")
        if not kept.exists():
            return kept
    raise usage_error(f"{path}: too many copies are kept", "Delete those that you do not need.")


def _words() -> Mapping[str, Mapping[str, Any]]:
    """Return notebook → {``idea``, ``minutes``} of ``lessons.json``."""
    data = _json_of(shipped_folder("notebooks") / WORDS_FILE)
    return data if isinstance(data, dict) else {}


def _lesson(
    source: Path, folder: Path | None, words: Mapping[str, Mapping[str, Any]], solved: Mapping[str, str]
) -> Lesson:
    cells = [(str(cell.get("cell_type")), _text(cell)) for cell in _raw_cells(_json_of(source))]
    path = _below(source)
    exercises = tuple(dict.fromkeys(name for _, text in cells for name in _EXERCISE.findall(text)))
    title, first = _opening(cells)
    said = words.get(path.removesuffix(".ipynb"), {})
    return Lesson(
        path=path,
        title=title or source.stem,
        idea=said.get("idea", first),
        minutes=said.get("minutes") or _minutes(cells, len(exercises)),
        state="new" if folder is None else _state(source, folder / path),
        exercises=exercises,
        solved=tuple(name for name in exercises if name in solved),
    )


def _opening(cells: list[tuple[str, str]]) -> tuple[str, str]:
    """Return the first heading, and the italics or the first sentence behind it."""
    text = next((text for kind, text in cells if kind == "markdown"), "")
    heading, _, rest = text.partition("\n")
    sentence = re.match(r"\*[^*]+\*(?=\s|$)|[^*].*?[.?!](?=\s|$)", " ".join(rest.split()))
    words = sentence.group(0) if sentence else ""
    return heading.lstrip("# ").strip(), words if len(words) <= _MOST_IDEA else ""


def _minutes(cells: list[tuple[str, str]], exercises: int) -> int:
    texts = [text for kind, text in cells if kind == "markdown"]
    code = sum(kind == "code" for kind, _ in cells)
    questions = sum(text.count("<details") for text in texts)
    words = sum(len(text.split()) for text in texts)
    minutes = words / _WORDS_A_MINUTE + code * _MINUTES_A_CELL + questions * _MINUTES_A_QUESTION
    minutes += exercises * _MINUTES_AN_EXERCISE
    return max(_STEP_MINUTES, round(minutes / _STEP_MINUTES) * _STEP_MINUTES)


def _state(source: Path, copy: Path) -> LessonState:
    """Return the state of a copy; ``run`` means all code cells, without an error in the saved outputs."""
    if not copy.exists() or copy.read_bytes() == source.read_bytes():
        return "new"
    notebook = _json_of(copy)
    code = [c for c in _raw_cells(notebook) if c.get("cell_type") == "code" and _text(c).strip()]
    outputs = [output for cell in code for output in cell.get("outputs", ())]
    failed = any(output.get("output_type") == "error" for output in outputs)
    return "run" if code and not failed and all(c.get("execution_count") for c in code) else "begun"


def _raw_cells(notebook: Any) -> list[dict[str, Any]]:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


def _text(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def _json_of(path: Path) -> Any:
    """Return the JSON of a file; None if it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


_STATES: dict[LessonState, str] = {"new": "○", "begun": "◐ begun", "run": "● run"}
_DONE = "✓ done"


def lessons_markdown(lessons: Sequence[Lesson]) -> str:
    """Return the page as Markdown, with links to the notebooks beside it."""
    taught = [lesson for lesson in lessons if "/" not in lesson.path]  # notebooks in folders are no lessons
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
        f"{counted}\n\n{_ways(taught)}{_by_folder(lessons)}\n"
        "These are your own copies: change what you like. `lhkit lab --reset NAME` makes one new again and "
        "keeps yours beside it. *Run* means that every cell was run, without an error, and saved; "
        "*done*, that its exercises are solved too. `lhkit lab` writes this page anew while it runs: reload "
        "the page of the browser to see it.\n"
    )


# Who begins where, by the start of a lesson's name.
_WAYS = (
    ("You have never read MLIR", "reading_payload_ir"),
    ("you read MLIR and are new to schedules", "00_"),
    ("you write schedules already", "01_"),
)


def _ways(lessons: Sequence[Lesson]) -> str:
    """Return where readers begin, as a line of Markdown; nothing where these lessons are missing."""
    found = [(who, next((x for x in lessons if x.path.startswith(name)), None)) for who, name in _WAYS]
    ways = [f"{who}: [{x.title}]({x.path})" for who, x in found if x is not None]
    return f"Where to begin. {'; '.join(ways)}. In doubt, go in order.\n\n" if ways else ""


def lessons_table(
    lessons: Sequence[Lesson], *, link: Callable[[Lesson], str] | None = None, states: bool = True
) -> str:
    """Return lessons as a table in Markdown."""
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
    folders: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        folders.setdefault(lesson.path.rpartition("/")[0], []).append(lesson)
    headings = {folder: f"## {folder.capitalize()}\n\n" if folder else "" for folder in folders}
    return "\n".join(headings[folder] + lessons_table(inside) for folder, inside in folders.items())

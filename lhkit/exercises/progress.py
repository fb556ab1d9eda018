"""Which exercises are solved, remembered in the user's state folder."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING

from lhkit.exercises.task import names, read_task
from lhkit.lessons.lesson_list import solved_exercises
from lhkit.model.files import write_whole
from lhkit.worker.user_folders import state_folder

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "lhkit.exercises/1"


def progress_file() -> Path:
    """Return the file that remembers.

    Raises:
        OSError: The state folder cannot be used.
    """
    return state_folder() / "exercises.json"


def remember(name: str) -> str:
    """Take note that an exercise is solved; return in a sentence how many are, or why it was not remembered."""
    days = dict(solved_exercises())
    days.setdefault(name, datetime.date.today().isoformat())
    try:
        write_whole(progress_file(), json.dumps({"schema": SCHEMA, "solved": days}, indent=1))
    except OSError as error:
        return f"Solved; that could not be remembered in {error.filename}: {error.strerror or error}."
    known = names()
    return f"Solved: {sum(n in days for n in known)} of {len(known)} exercises."


def progress() -> pd.DataFrame:
    """Return a row an exercise, by its name: its notebook, its title, and the day on which it was solved."""
    import pandas as pd

    days = solved_exercises()
    tasks = {name: read_task(name) for name in names()}
    rows = [
        {"exercise": name, "notebook": task.notebook, "title": task.title, "solved": days.get(name, "")}
        for name, task in tasks.items()
    ]
    return pd.DataFrame(rows).set_index("exercise")

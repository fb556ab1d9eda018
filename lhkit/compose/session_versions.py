"""Versions of a session from text: a schedule if it parses, else a draft."""

from __future__ import annotations

import contextlib

from lhkit.compose.saved_session import SavedSession, SavedVersion
from lhkit.compose.session_history import History, Version
from lhkit.load.loader import parse_text
from lhkit.load.verified_edits import checked_script
from lhkit.model.errors import Failure, LhkitError, UsageError
from lhkit.model.schedule import Schedule
from lhkit.worker.cancellation import in_words
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

LOADED = "as it was loaded"


def version_of_schedule(schedule: Schedule) -> Version:
    """Return the version that a session begins with."""
    return Version(schedule, schedule.text, LOADED)


def first_draft(text: str, source: str, failure: Failure) -> Version:
    """Return the version that a session begins with whose text is no schedule yet."""
    return Version(Schedule(source, "", (), (), ""), text, LOADED, failure)


def version_of_text(
    schedule: Schedule, text: str, title: str, worker: Worker | None, limits: Limits | None = None
) -> Version:
    """Return the version of a text; a draft, with its failure, where it does not parse or verify.

    Args:
        schedule: The schedule that the text is another text of.
        text: The text.
        title: What led to it, in a few words.
        worker: The worker that parses it, None for the shared one.
        limits: Time and memory for that.
    """
    try:
        after, outline = parse_text(schedule, text, worker=worker, limits=limits)
    except LhkitError as error:
        return Version(schedule, text, title, in_words(error.failure, "reading the text"))
    # A text that is read otherwise than it is parsed can be traced; an edit of it says what is wrong.
    with contextlib.suppress(UsageError):
        return Version(after, text, title, script=checked_script(after, outline))
    return Version(after, text, title)


def history_of_saved(saved: SavedSession, worker: Worker | None) -> tuple[History, dict[str, Version]]:
    """Return the versions and the checkpoints of a session that was saved; what was a draft is parsed again.

    Args:
        saved: The session.
        worker: The worker that parses drafts, None for the shared one.
    """

    def version(kept: SavedVersion) -> Version:
        schedule = saved.schedules[kept.schedule]
        if kept.draft is None:
            return Version(schedule, schedule.text, kept.title)
        return version_of_text(schedule, kept.draft, kept.title, worker)

    branch = saved.current_branch
    history = History(tuple(map(version, branch.versions)), branch.at)
    return history, {c.name: version(c.version) for c in saved.checkpoints}

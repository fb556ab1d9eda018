"""An editing session of a schedule: opening, undo, redo, a followed file, and a trace after each change."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lhkit.compose.session_history import (
    LOADED,
    History,
    LeftBehind,
    RecoveryFile,
    SavedSession,
    Version,
    history_of_saved,
    saved_session,
    version_of_schedule,
    version_of_text,
)
from lhkit.load.loader import HasOperation, as_schedule
from lhkit.load.resource_data import MAGIC
from lhkit.load.shipped_files import find_file, shipped_folder
from lhkit.load.source_texts import is_text
from lhkit.load.trust import Doubt, doubts_of, remember, schedule_content, schedule_doubt
from lhkit.load.verified_edits import edit_schedule
from lhkit.model.errors import Failure, LhkitError, usage_error
from lhkit.model.file_io import read_bytes, read_text, write_file
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.text.script import Edited, Script
from lhkit.traces.record.trace_run import TraceCache
from lhkit.worker.cancellation import CancelToken, in_words, was_stopped
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits


class FollowedFile:
    """The text of a file, and whether it has changed since it was last taken."""

    def __init__(self, path: Path) -> None:
        """Take the text of a file."""
        self.path = path
        try:
            self.taken = read_text(path)
        except OSError as error:
            raise usage_error(f"{path} cannot be followed: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise usage_error(f"{path} cannot be followed: it is not text in UTF-8") from None

    def poll(self) -> str | None:
        """Return the text if it has changed since it was last taken, else None.

        Contents are compared, as times may be equal for two quick saves. A missing, empty or cut file is
        ignored: an editor is about to write it.
        """
        try:
            text = read_text(self.path)
        except (OSError, UnicodeDecodeError):
            return None
        if text == self.taken or not text.strip():
            return None
        self.taken = text
        return text

    def save(self, text: str, *, overwrites: bool = False) -> None:
        """Write a text to the file."""
        if not overwrites and self.changed_meanwhile(text):
            raise usage_error(
                f"{self.path.name} was changed by another editor meanwhile; nothing was written",
                "Overwrite it, take its text, or save under another name.",
            )
        write_file(self.path, text.encode())
        self.taken = text

    def changed_meanwhile(self, text: str) -> bool:
        """Return whether writing a text would overwrite an external save that was not read."""
        try:
            there = read_bytes(self.path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise usage_error(f"{self.path} cannot be read: {error.strerror or error}") from None
        return there not in (self.taken.encode(), text.encode())


class Session:
    """A payload and a schedule that is being written.

    What it was opened from may be in doubt: files from elsewhere, see `lhkit.load.trust`. Until `trust`
    nothing is traced; it can be read, edited and checked.

    Changes are versions in a line of undo and redo; the trace is taken again after each. A text that does not
    parse is kept as a *draft*: the last good trace stays, marked stale, with the failure.

    Attributes:
        payload: What the schedule is for.
        name: What to call it in saved workbenches.
        retraces: False leaves the trace stale after a change, until `retrace`.
        worker: The worker that it has for itself, None for the shared one.
        history: Undo and redo.
        followed: The file that is followed, or None.
        doubts: What it was opened from and is not trusted; empty once it is.
        left_behind: What an earlier session on the same payload and schedule was when its process ended, if it
            was not closed and not as this one begins; see `recover`.
        cancel_token: Cancels the pending parse or trace, from another thread.
        traces: The cache of traces.
    """

    def __init__(
        self,
        payload: Payload,
        schedule: Schedule | Version,
        *,
        name: str | None = None,
        retraces: bool = True,
        autosaves: bool = True,
        worker: Worker | None = None,
        limits: Limits | None = None,
        doubts: Sequence[Doubt] = (),
    ) -> None:
        """Begin a session; nothing is traced yet, and nothing written.

        Args:
            payload: What the schedule is for.
            schedule: Where to begin; a version may be the draft of a text that is none yet.
            name: What to call it; default the name of the schedule's source.
            retraces: Whether a change takes the trace again.
            autosaves: Whether changes are kept in the user's state folder until the session is closed.
            worker: Another worker than the session's.
            limits: Time and memory for each trace.
            doubts: What it was opened from and is not trusted yet.
        """
        first = schedule if isinstance(schedule, Version) else version_of_schedule(schedule)
        self.payload = payload
        self.name = name or Path(first.schedule.source).stem
        self.retraces = retraces
        self.worker = worker
        self.history = History((first,))
        self._checkpoints: dict[str, Version] = {}
        self.cancel_token = CancelToken()
        self._given_limits = limits
        self._limits = self.cancel_token.limited(limits)
        self.traces = TraceCache(payload, worker, self._limits)
        self._trace: Trace | None = None
        self._traced: Schedule | None = None
        self._trace_failure: Failure | None = None
        self.followed: FollowedFile | None = None
        self.doubts = tuple(doubts)
        self._recovery = RecoveryFile(payload, first) if autosaves else None
        self.left_behind: LeftBehind | None = None
        if self._recovery is not None and (found := self._recovery.read()) and not found.is_at(first):
            self.left_behind = found

    @classmethod
    def from_saved(cls, saved: SavedSession, payload: Payload, **how: Any) -> Session:
        """Return a session from what `saved` gave, and its payload; ``how`` is as for a new session."""
        session = cls(payload, saved.schedules[0], name=saved.name, **how)
        session.history, session._checkpoints = history_of_saved(saved, session.worker)
        if session.left_behind is not None and session.left_behind.is_at(session.version):
            session.left_behind = None
        return session

    def session_on(self, payload: Payload, schedule: Schedule) -> Session:
        """Return a session on another payload, such as a part of this one, in the same worker and limits."""
        return Session(
            payload,
            schedule,
            retraces=self.retraces,
            autosaves=self._recovery is not None,
            worker=self.worker,
            limits=self._given_limits,
        )

    def recover(self) -> None:
        """Go on from what is `left_behind`, as changes that can be undone.

        Raises:
            UsageError: Nothing is left behind.
        """
        if self.left_behind is None:
            raise usage_error("there is no session to recover", "One was closed, or nothing was changed in it.")
        left, checkpoints = history_of_saved(self.left_behind.session, self.worker)
        self.left_behind = None
        self._checkpoints = {**checkpoints, **self._checkpoints}
        before = self.history.versions[: self.history.at + 1]
        self._move(History((*before, *left.versions), len(before) + left.at))

    @property
    def saved(self) -> SavedSession:
        """All of it but its payload and its trace, as a value."""
        return saved_session(self.name, self.payload.source, self.history, self._checkpoints)

    # Whether it is trusted.

    @property
    def is_trusted(self) -> bool:
        """Whether the schedule may be applied and run; False for what comes from a file that is not known."""
        return not self.doubts

    def trust(self, reference: str | None = None) -> None:
        """Trust what the session was opened from, now and when it is opened again; the trace is taken.

        Args:
            reference: The NumPy reference of the payload, ``FILE.py:FUNCTION``, that was not taken before.
        """
        if reference is not None:
            self.payload = dataclasses.replace(self.payload, reference=reference)
        remember(doubt.content for doubt in self.doubts if doubt.content)
        self.doubts = ()
        self.remember_text()
        if self.retraces:
            self.retrace()

    def remember_text(self) -> None:
        """Know the text as it is when it is opened from a file later, if the session is trusted."""
        if self.is_trusted:
            libraries = self.schedule.libraries
            remember({schedule_content(self.text, libraries), schedule_content(self.text)})

    # What it is now.

    @property
    def version(self) -> Version:
        """The current version."""
        return self.history.current

    @property
    def schedule(self) -> Schedule:
        """The schedule; where the text does not parse, the last that did."""
        return self.version.schedule

    @property
    def text(self) -> str:
        """The current text."""
        return self.version.text

    @property
    def trace(self) -> Trace | None:
        """The trace of the schedule, or the last good one if `is_stale`; taken now if there is none yet.

        None only where tracing itself is refused from the beginning; `failure` says why.
        """
        if self._trace is None and self._trace_failure is None:
            self.retrace()
        return self._trace

    @property
    def is_stale(self) -> bool:
        """True if the trace is not that of the current text."""
        return self.version.is_draft or self._traced != self.schedule

    @property
    def failure(self) -> Failure | None:
        """Why the text does not parse or cannot be traced, or None; a failing step is part of the trace."""
        return self.version.failure or self._trace_failure

    # Changes.

    def edit(self, edit: Callable[[Script], Edited]) -> Edited:
        """Make an edit: ``session.edit(lambda script: remove_step(script, "%tiled"))``.

        Raises:
            UsageError: The edit is refused, or the text does not parse.
            ScheduleError: What the edit gives does not parse or does not verify; nothing is changed.
        """
        version = self.version
        if version.failure is not None:
            raise usage_error(
                "the text does not parse, so it cannot be edited step by step",
                f"Fix it, or undo. It fails with: {version.failure.message}",
            )
        with self.cancel_token:
            made = edit_schedule(
                version.schedule, edit, script=version.script, worker=self.worker, limits=self._limits
            )
            version = Version(made.after, made.after.text, made.edited.title, script=made.script)
            self._move(self.history.with_version(version))
        return made.edited

    def set_text(self, text: str, *, title: str = "edit the text", amends: bool = False) -> None:
        """Put another text in place, as `set_knobs` does; one that does not parse becomes a draft."""
        if text == self.text and not was_stopped(self.version.failure):
            return
        with self.cancel_token:
            made = version_of_text(self.schedule, text, title, self.worker, self._limits)
            self._move((self.history.amended if amends else self.history.with_version)(made))

    def set_knobs(self, settings: Mapping[str, KnobValue], *, amends: bool = False) -> None:
        """Set knobs; the others stay.

        Args:
            settings: Values by name.
            amends: Put the new version in place of the current one: a slider that moves is one change.

        Raises:
            UsageError: No such knob, or a value that it does not allow.
        """
        version = self.version
        schedule = version.schedule.with_knobs(settings)
        title = "set " + ", ".join(f"{n} = {v}" for n, v in settings.items())
        made = Version(schedule, version.text, title, version.failure, version.script)
        self._move((self.history.amended if amends else self.history.with_version)(made))

    def undo(self) -> bool:
        """Go back one version; return False where there is none."""
        if is_possible := self.history.can_undo:
            self._move(self.history.undone())
        return is_possible

    def redo(self) -> bool:
        """Go forward to the version that the last undo left; return False where there is none."""
        if is_possible := self.history.can_redo:
            self._move(self.history.redone())
        return is_possible

    # Checkpoints.

    @property
    def checkpoints(self) -> dict[str, Version]:
        """The checkpoints by name."""
        return dict(self._checkpoints)

    def checkpoint(self, name: str) -> None:
        """Store the current version under a name, replacing one of that name."""
        self._checkpoints[name] = self.version
        self._save()

    def restore(self, name: str) -> None:
        """Restore a checkpoint, as a change that can be undone.

        Raises:
            UsageError: There is none of that name.
        """
        if name not in self._checkpoints:
            names = ", ".join(self._checkpoints)
            advice = f"The checkpoints: {names}." if names else "There are no checkpoints yet."
            raise usage_error(f"there is no checkpoint {name!r}", advice)
        self._move(self.history.with_version(self._checkpoints[name]))

    # Files.

    def follow(self, path: str | os.PathLike[str]) -> None:
        """Take the text of a file, and again whenever `poll` finds that another editor has saved it.

        Raises:
            UsageError: It cannot be read.
        """
        self.followed = FollowedFile(Path(path))
        self.set_text(self.followed.taken, title=f"follow {Path(path).name}")

    def poll(self) -> bool:
        """Look at the file that is followed; return True if it gave another text."""
        followed = self.followed
        text = followed.poll() if followed is not None else None
        if followed is None or text is None or text == self.text:
            return False
        self.set_text(text, title=f"{followed.path.name} was saved")
        self.remember_text()
        return True

    def save_as(self, path: str | os.PathLike[str]) -> None:
        """Write the text to a file, whole or not at all.

        Raises:
            UsageError: It cannot be written.
        """
        write_file(os.fspath(path), self.text.encode())
        self.remember_text()

    def close(self) -> None:
        """End the session: what was kept for recovery is deleted."""
        if self._recovery is not None:
            self._recovery.close()
            self._recovery = None

    def retrace(self) -> None:
        """Trace the current schedule; a cached trace is reused."""
        if self.doubts or not self.schedule.sequences:  # the text never was a schedule, as its failure says
            return
        try:
            with self.cancel_token:
                trace = self.traces.trace(self.schedule)
        except LhkitError as error:
            self._trace_failure = in_words(error.failure, "tracing")
            return
        self._trace, self._traced, self._trace_failure = trace, self.schedule, None

    def _move(self, history: History) -> None:
        self.history = history
        self._trace_failure = None
        self._save()
        if self.retraces and not self.version.is_draft:
            self.retrace()

    def _save(self) -> None:
        if self._recovery is not None:
            state = (self.name, self.payload.source, self.history, dict(self._checkpoints))
            self._recovery.save_soon(functools.partial(saved_session, *state))


def open_session(
    payload: Payload,
    schedule: Schedule | str | os.PathLike[str] | HasOperation,
    *,
    doubt: Doubt | None = None,
    trust: bool = False,
    autosaves: bool = True,
    worker: Worker | None = None,
    limits: Limits | None = None,
    **loading: Any,
) -> Session:
    """Return a session; a text that does not parse is its first draft, and a file of one's own is followed.

    A schedule that is a file from elsewhere is not trusted: see `lhkit.load.trust`. A file that is followed
    stays trusted when it changes. ``loading`` are keywords of `load_schedule`.
    """
    is_path = isinstance(schedule, str | os.PathLike) and not is_text(schedule)
    file = find_file(Path(schedule), "schedules") if is_path else None  # type: ignore[arg-type]
    try:
        version = version_of_schedule(as_schedule(schedule, worker, limits=limits, **loading))
    except LhkitError as error:
        text = _text_of(file) if file is not None else schedule
        if not isinstance(text, str):
            raise
        version = Version(Schedule(str(file or "<schedule>"), "", (), (), ""), text, LOADED, error.failure)
    found = (doubt, schedule_doubt(schedule, version.schedule, version.text))
    doubts = doubts_of(d for d in found if d is not None)
    if trust:
        remember(d.content for d in doubts)
        doubts = ()
    session = Session(payload, version, autosaves=autosaves, worker=worker, limits=limits, doubts=doubts)
    shipped = shipped_folder("schedules").resolve()
    if file is not None and file.suffix != ".mlirbc" and not file.resolve().is_relative_to(shipped):
        session.follow(file)
    return session


def _text_of(file: Path) -> str | None:
    """Return the text of a file; None if it is not a text."""
    try:
        content = read_bytes(file)
        text = content.decode()
    except (OSError, UnicodeDecodeError):
        return None
    return None if content.startswith(MAGIC) or "\0" in text else text

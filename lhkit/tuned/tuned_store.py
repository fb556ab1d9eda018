"""Store of tuned schedules in the user's state, a file each; exported and imported as one file.

A file is named by a hash of what it is for: content, target and CPU kind. It is written whole or not at all,
under a lock, so that of two processes that end a sweep at once the faster schedule stays. A file that cannot be
read is renamed and said, never deleted.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

from lhkit.load.loader import application_of, load_schedule
from lhkit.load.source_texts import is_text
from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import usage_error
from lhkit.model.file_io import MOST_BYTES, parse_json, read_bytes, write_whole
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import DEFAULT_ENTRY, Schedule
from lhkit.text.knob_text import declared_libraries
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.folders import open_private, state_folder, wait_for_lock
from lhkit.worker.requests import OutlineSchedule

SCHEMA: Literal["lhkit.best/1"] = "lhkit.best/1"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class TunedSchedule:
    """A schedule that won a sweep.

    Attributes:
        content: Hash of the payload without names, places, comments and data.
        structure: The same with extents left out.
        extents: These extents.
        target: The instruction set that it was compiled for.
        cpu: The CPU that it was timed on.
        schedule: Its text, whole, with the winner's values as defaults.
        knobs: These values.
        time_ns: Median time of a call.
        speed_ups: Its speed as a multiple of that of others in the same run, such as the default knobs.
        payload: What the payload was called.
        machine: The name of the machine.
        date: When it won, in UTC.
        lhkit: The version of lhkit.
        entry: The sequence to apply.
        is_imported: Whether it came with a file: then nothing that it says was measured here.
    """

    content: str
    structure: str
    extents: tuple[int, ...]
    target: str
    cpu: str
    schedule: str
    knobs: tuple[tuple[str, KnobValue], ...]
    time_ns: float
    speed_ups: tuple[tuple[str, float], ...]
    payload: str
    machine: str
    date: str
    lhkit: str
    entry: str = DEFAULT_ENTRY
    is_imported: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for what no sweep can have written."""
        if not _DIGEST.fullmatch(self.content) or not _DIGEST.fullmatch(self.structure):
            raise ValueError("a hash is not one of SHA-256")
        if not self.time_ns > 0:
            raise ValueError("its time is not positive")
        if not is_text(self.schedule):
            raise ValueError("its schedule is not text")


@dataclass(frozen=True, slots=True)
class _TunedFile:
    schema: Literal["lhkit.best/1"]
    entries: tuple[TunedSchedule, ...]


def tuned_path(content: str, target: str, cpu: str) -> Path:
    """Return the file of a schedule; OSError if there is no folder for it."""
    digest = hashlib.sha256("\0".join((content, target, cpu)).encode()).hexdigest()
    return state_folder("tuned") / f"{digest}.json"


def read_tuned(path: Path) -> TunedSchedule | None:
    """Return the schedule of a file; None if there is none, or none that can be read, which is set aside."""
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            found = _from_json(file.read(MOST_BYTES)).entries
        if len(found) == 1 and path.name == tuned_path(found[0].content, found[0].target, found[0].cpu).name:
            return found[0]
        why = "it is not named after what is in it"
    except FileNotFoundError:
        return None
    except OSError as error:  # of the disk, not of what is in it
        warnings.warn(f"{path} cannot be read: {error.strerror or error}", stacklevel=2)
        return None
    except ValueError as error:
        why = str(error)
    aside = path.with_name(f"{path.name}.damaged")
    try:
        path.replace(aside)
    except OSError:
        aside = path
    warnings.warn(f"no tuned schedule is read from {aside}: {why}", stacklevel=2)
    return None


def all_tuned() -> list[TunedSchedule]:
    """Return every schedule that is kept, by the name of its payload."""
    found = filter(None, map(read_tuned, _files()))
    return sorted(found, key=lambda t: (t.payload, t.target, t.cpu, t.extents))


def is_empty() -> bool:
    """Return whether nothing is kept."""
    return not _files()


def _files() -> list[Path]:
    try:
        return sorted(state_folder("tuned").glob("*.json"))
    except OSError:  # without a folder nothing is kept
        return []


def keep_tuned(tuned: TunedSchedule) -> bool:
    """Keep a schedule; return False where a faster one stays.

    One that was timed here takes the place of one that was imported, whatever that says of its time.

    Raises:
        UsageError: It cannot be written; what was kept before stays.
    """
    try:
        path = tuned_path(tuned.content, tuned.target, tuned.cpu)
        lock = open_private(path.with_name("lock"))
        try:
            wait_for_lock(lock, _LOCK_SECONDS)  # without it: the last one stays, whole
            known = read_tuned(path)
            if known is not None and not _replaces(tuned, known):
                return False
            write_whole(path, tuned_json([tuned]), sync=True)
        finally:
            os.close(lock)
    except OSError as error:
        where = error.filename or "the user's state folder"
        raise usage_error(
            f"a tuned schedule cannot be kept in {where}: {error.strerror or error}",
            "What was kept before is not lost.",
        ) from None
    return True


def _replaces(tuned: TunedSchedule, known: TunedSchedule) -> bool:
    if tuned.is_imported != known.is_imported:
        return known.is_imported
    return tuned.schedule == known.schedule or tuned.time_ns < known.time_ns


def tuned_json(entries: Iterable[TunedSchedule]) -> str:
    """Return schedules as the text of a file of ``lhkit.best/1``."""
    return json.dumps(to_json(_TunedFile(SCHEMA, tuple(entries))), indent=1, allow_nan=False) + "\n"


def _from_json(text: bytes) -> _TunedFile:
    return from_json(_TunedFile, parse_json(text))


def import_tuned(path: str | os.PathLike[str], worker: Worker | None = None) -> tuple[int, int]:
    """Keep what a file of ``lhkit.best/1`` has; return how many schedules were kept, and how many it has.

    All are loaded first, which verifies them as transform IR; none is applied here.

    Raises:
        UsageError: The file cannot be read, or a schedule may run a pass that does more than change IR.
        ScheduleError: A schedule does not parse or does not verify.
    """
    try:
        entries = _from_json(read_bytes(path)).entries
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise usage_error(f"{path} is not a file of {SCHEMA}: {error}", "Nothing was imported.") from None
    for number, tuned in enumerate(entries):
        _refuse_passes(load_tuned(tuned, name=f"{path}, schedule {number}", worker=worker), worker)
    kept = [keep_tuned(dataclasses.replace(tuned, is_imported=True)) for tuned in entries]
    return sum(kept), len(kept)


def _refuse_passes(schedule: Schedule, worker: Worker | None) -> None:
    outline = (worker or shared_worker()).ask(OutlineSchedule(application_of(schedule))).value
    if outline.refused:
        reasons = "; ".join(dict.fromkeys(r.reason for r in outline.refused))
        raise usage_error(f"{schedule.source}: {reasons}", "Nothing was imported.")


def load_tuned(
    tuned: TunedSchedule, *, name: str = "", target: str | None = None, worker: Worker | None = None
) -> Schedule:
    """Return a tuned schedule, loaded; it may run no passes beside those that only change IR.

    Raises:
        UsageError: It names files of libraries.
        ScheduleError: It does not parse or does not verify.
    """
    shown = name or f"the best known for {PurePath(tuned.payload).name}"
    if declared_libraries(tuned.schedule, shown):
        raise usage_error(f"{shown} names libraries", "A tuned schedule is one text.")
    return load_schedule(tuned.schedule, name=shown, entry=tuned.entry, target=target, worker=worker)

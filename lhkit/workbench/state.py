"""A workbench as a value: saved to one file, sent to somebody, opened again."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lhkit.model.blobs import Blob
from lhkit.model.errors import usage_error
from lhkit.model.input_files import parse_json, read_text
from lhkit.model.jsonable import from_json, to_json
from lhkit.model.payload import Payload
from lhkit.session.autosaving import SavedSession, checked_session
from lhkit.session.composing import Session
from lhkit.session.saving import is_shipped_reference, reference_here, reference_to_keep
from lhkit.workbench.notices import Notice
from lhkit.workbench.results import Result
from lhkit.workbench.screen import Screen

if TYPE_CHECKING:
    from lhkit.workbench.workbench import Workbench

SCHEMA = "lhkit.workbench/1"


@dataclass(frozen=True, slots=True)
class WorkbenchState:
    """All that a workbench holds that cannot be worked out again.

    Attributes:
        payload: The payload, with its weights.
        session: The schedule: versions to undo and redo, branches, checkpoints, a text that does not parse.
        screen: What is looked at: step, selection, open tabs.
        results: What was run, measured and swept.
        left_out: The NumPy reference that a file named and that was not taken; nothing of it is written.
    """

    payload: Payload
    session: SavedSession
    screen: Screen
    results: tuple[Result, ...] = ()
    left_out: str | None = None

    @classmethod
    def of(cls, workbench: Workbench) -> WorkbenchState:
        """Return the state of a workbench."""
        session = workbench.session
        return cls(session.payload, session.saved, workbench.screen, workbench.runs.results)

    def open(self, **how: Any) -> Session:
        """Return the session; ``how`` is as for ``Session.recover``."""
        return Session.from_saved(self.session, self.payload, **how)

    def text(self) -> str:
        """Return the state as JSON, as ``schemas/workbench-1.json`` describes it."""
        bare = dataclasses.replace(self.payload, bytecode=None, blobs=())
        bytecode = self.payload.bytecode
        payload = {
            **to_json(bare),
            "reference": reference_to_keep(self.payload.reference),
            "bytecode": None if bytecode is None else base64.b64encode(bytecode).decode(),
            "blobs": [
                {**_described(blob), "data": base64.b64encode(blob.data).decode()}
                for blob in self.payload.blobs
            ],
        }
        parts = {"session": self.session, "screen": self.screen, "results": self.results}
        return json.dumps({"schema": SCHEMA, "payload": payload, **to_json(parts)}, indent=1) + "\n"


def _described(blob: Blob) -> dict[str, Any]:
    return {"name": blob.name, "dtype": blob.dtype, "shape": list(blob.shape), "sha256": blob.sha256}


def read_state(path: str | os.PathLike[str], *, trust_reference: bool = False) -> WorkbenchState:
    """Return the state that a file holds.

    Args:
        path: The file.
        trust_reference: Whether a NumPy reference that it names by the path of a Python file is taken. That
            file would run when numbers are checked; references that come with lhkit are always taken.

    Raises:
        UsageError: There is no such file, it holds no workbench, or it is damaged.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise usage_error(f"{path} is not text in UTF-8") from None
    try:
        return _state(parse_json(text), trust_reference=trust_reference)
    except (ValueError, KeyError, TypeError) as error:
        advice = "A workbench is saved with widget.save(path)."
        raise usage_error(f"{path} holds no workbench of {SCHEMA}: {error}", advice) from None


def left_out(state: WorkbenchState) -> Notice | None:
    """Return what has to be said of a reference that was not taken, None where nothing was left out."""
    if state.left_out is None:
        return None
    return Notice(
        "refused",
        f"the saved workbench names a NumPy reference, {state.left_out}: Python code from outside of lhkit, "
        "which was not taken",
        "Numbers are held against the unscheduled payload. If you trust that code, open the workbench with "
        "lhkit.explore(path, trust_reference=True).",
    )


def _state(data: Any, *, trust_reference: bool) -> WorkbenchState:
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError("its schema is another")
    given = dict(data["payload"])
    bytecode, blobs = given.pop("bytecode"), given.pop("blobs")
    named = given["reference"]
    is_taken = trust_reference or is_shipped_reference(named)
    payload = dataclasses.replace(
        from_json(Payload, {**given, "bytecode": None, "blobs": ()}),
        bytecode=None if bytecode is None else base64.b64decode(bytecode),
        reference=reference_here(named) if is_taken else None,
        blobs=tuple(
            Blob(b["name"], b["dtype"], tuple(b["shape"]), b["sha256"], memoryview(base64.b64decode(b["data"])))
            for b in blobs
        ),
    )
    return WorkbenchState(
        payload,
        checked_session(from_json(SavedSession, data["session"])),
        from_json(Screen, data["screen"]),
        tuple(from_json(Result, each) for each in data["results"]),
        None if is_taken else named,
    )

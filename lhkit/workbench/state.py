"""A workbench as a value: saved to one file, sent to somebody, opened again."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lhkit.compose.saved_session import SavedSession, checked_session
from lhkit.compose.session import Session
from lhkit.load.saving import is_shipped_reference, reference_here, reference_to_keep
from lhkit.load.trust import Doubt, doubts_of, is_known, remember, workbench_content
from lhkit.model.blobs import Blob
from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import usage_error
from lhkit.model.file_io import parse_json, read_text
from lhkit.model.payload import Payload
from lhkit.model.printable import one_line
from lhkit.workbench.run_results import Result
from lhkit.workbench.screen import Screen

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

SCHEMA = "lhkit.workbench/1"
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class WorkbenchState:
    """All that a workbench holds that cannot be worked out again.

    Attributes:
        payload: The payload, with its weights.
        session: The schedule: versions to undo and redo, checkpoints, a text that does not parse.
        screen: What is looked at: step, selection, open tabs.
        results: What was run, measured and swept.
        doubts: What of it is not trusted: the file that it was read from, unless it is known here.
        reference: The NumPy reference that a file which is not trusted names; it is taken when it is trusted.
    """

    payload: Payload
    session: SavedSession
    screen: Screen
    results: tuple[Result, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    reference: str | None = None

    @classmethod
    def of(cls, workbench: Workbench) -> WorkbenchState:
        """Return the state of a workbench."""
        session = workbench.session
        return cls(session.payload, session.saved, workbench.screen, workbench.runs.results)

    def open(self, **how: Any) -> Session:
        """Return the session; ``how`` is as for a new session."""
        return Session.from_saved(self.session, self.payload, doubts=self.doubts, **how)

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


def read_state(path: str | os.PathLike[str], *, trust: bool = False) -> WorkbenchState:
    """Return the state that a file holds.

    It is trusted if this user saved the file or trusted it before; see `lhkit.load.trust`. A NumPy reference
    that it names by the path of a Python file is taken only then, since that file runs when numbers are
    checked; references that come with lhkit are always taken.

    Args:
        path: The file.
        trust: Whether to trust it, now and from now on.

    Raises:
        UsageError: There is no such file, it holds no workbench, or it is damaged.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise usage_error(f"{path} is not text in UTF-8") from None
    content = workbench_content(text)
    try:
        state = _state(parse_json(text), is_trusted=trust or is_known(content))
    except (ValueError, KeyError, TypeError) as error:
        advice = "A workbench is saved with widget.save(path)."
        why = f"its field {error} is missing" if isinstance(error, KeyError) else str(error)
        why = f"it is not JSON: {error}" if isinstance(error, json.JSONDecodeError) else why
        raise usage_error(f"{path} holds no workbench of {SCHEMA}: {why}", advice) from None
    if trust:
        remember([content])
    doubts = () if trust else doubts_of([Doubt(str(path), content)])
    return dataclasses.replace(state, doubts=doubts)


def _state(data: Any, *, is_trusted: bool) -> WorkbenchState:
    if not isinstance(data, dict):
        raise ValueError(f"it is a JSON {type(data).__name__}, not an object with a schema")
    if (schema := data.get("schema")) != SCHEMA:
        found = (
            "it names no schema" if schema is None else f"its schema is {one_line(str(schema), _LONGEST_NAME)}"
        )
        raise ValueError(found)
    if not isinstance(data.get("payload", {}), dict):
        raise ValueError("its payload is no object")
    given = dict(data["payload"])
    bytecode, blobs = given.pop("bytecode"), given.pop("blobs")
    named = given["reference"]
    is_taken = is_trusted or is_shipped_reference(named)
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
        reference=None if is_taken else named,
    )

"""Traces to and from the JSON of ``lhkit.trace/1``, and line deltas between consecutive IR snapshots."""

from __future__ import annotations

import difflib
import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import to_builtins

from lhkit.model import trace_record as record
from lhkit.model.errors import Diagnostic, public, usage_error
from lhkit.model.expectation import UnmetExpectation
from lhkit.model.file_io import parse_json, read_bytes, write_file
from lhkit.model.span import Span

T = TypeVar("T")
Json = dict[str, Any]


def trace_to_json(trace: record.Trace) -> Json:
    """Return a trace as JSON can hold it, in the form of ``lhkit.trace/1``."""
    return cast(Json, json.loads(trace_json_text(trace)))  # msgspec leaves tuples, JSON has lists


def trace_json_text(trace: record.Trace) -> str:
    """Return the text of a trace in the form of ``lhkit.trace/1``, in one line."""
    schedule = {**to_builtins(trace.schedule), "knobs": dict(trace.schedule.knobs)}
    data = {
        "schema": record.TRACE_SCHEMA,
        "payload": to_builtins(trace.payload),
        "schedule": schedule,
        "toolchain": to_builtins(trace.toolchain),
        "outcome": to_builtins(trace.outcome),
        "handles": {h.id: handle_to_json(h) for h in trace.handle_records},
        "steps": [step_to_json(s) for s in trace.step_records],
        "elided": [{"parent": e.parent, "iterations": [e.first, e.last]} for e in trace.elided],
        "ops": {o.id: op_to_json(o) for o in trace.op_records},
        "snapshots": [snapshot_to_json(s) for s in trace.snapshots],
        **({"unmet": [to_builtins(u) for u in trace.unmet]} if trace.unmet else {}),
    }
    return json.dumps(data, separators=(",", ":")) + "\n"


def trace_from_json(data: Mapping[str, Any]) -> record.Trace:
    """Return the trace that `trace_to_json` wrote; ValueError names the field that does not fit."""
    if not isinstance(data, Mapping) or data.get("schema") != record.TRACE_SCHEMA:
        raise ValueError(f"not a trace: its schema is not {record.TRACE_SCHEMA!r}")
    try:
        schedule = {**data["schedule"], "knobs": tuple(data["schedule"]["knobs"].items())}
        return record.Trace(
            payload=record.SourceRecord(**data["payload"]),
            schedule=record.ScheduleRecord(**schedule),
            toolchain=record.Toolchain(**data["toolchain"]),
            outcome=record.Outcome(**data["outcome"]),
            handle_records=tuple(handle_from_json(i, h) for i, h in data["handles"].items()),
            step_records=tuple(step_from_json(s) for s in data["steps"]),
            elided=tuple(record.Elision(e["parent"], *e["iterations"]) for e in data["elided"]),
            op_records=tuple(op_from_json(i, o) for i, o in data["ops"].items()),
            snapshots=tuple(snapshot_from_json(s) for s in data["snapshots"]),
            unmet=tuple(_unmet_from(u) for u in data.get("unmet", ())),
        )
    except KeyError as error:
        raise ValueError(f"not a trace: field {error.args[0]!r} is missing") from None
    except (TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"not a trace: {error}") from None


def save_trace(trace: record.Trace, path: str | os.PathLike[str]) -> Path:
    """Write a trace as JSON; see `Trace.save`."""
    write_file(Path(path), trace_json_text(trace).encode())
    return Path(path)


@public
def load_trace(path: str | os.PathLike[str]) -> record.Trace:
    """Return the trace that `Trace.save` or ``lhkit trace --json`` wrote.

    Its provenance is None: the file does not hold the texts of payload and schedule.

    Raises:
        UsageError: There is no such file, or it is not a trace.
    """
    try:
        return trace_from_json(parse_json(read_bytes(path)))
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise usage_error(f"{path} is not a saved trace: {error}") from None


def _without_id(value: Any) -> Json:
    fields: Json = to_builtins(value)
    del fields["id"]
    return fields


def _span_from(data: Json | None) -> Span | None:
    return None if data is None else Span(**data)


def _unmet_from(data: Json) -> UnmetExpectation:
    places = {name: _span_from(data[name]) for name in ("source", "payload_place")}
    return UnmetExpectation(**{**data, **places})


def handle_to_json(handle: record.HandleRecord) -> Json:
    """Return one entry of ``handles``."""
    return _without_id(handle)


def handle_from_json(handle_id: str, data: Json) -> record.HandleRecord:
    """Return one entry of ``handles``."""
    return record.HandleRecord(handle_id, **{**data, "path": tuple(data["path"])})


def op_to_json(op: record.PayloadOp) -> Json:
    """Return one entry of ``ops``."""
    return _without_id(op)


def op_from_json(op_id: str, data: Json) -> record.PayloadOp:
    """Return one entry of ``ops``."""
    return record.PayloadOp(
        op_id,
        data["name"],
        data["parent"],
        tuple(data["derived_from"]),
        data["born"],
        data["died"],
        _span_from(data["source"]),
    )


def step_to_json(step: record.TraceStep) -> Json:
    """Return one entry of ``steps``."""
    return {**to_builtins(step), "diagnostics": [_diagnostic(d) for d in step.diagnostics]}


def step_from_json(data: Json) -> record.TraceStep:
    """Return one entry of ``steps`` as a step."""
    delta = {name: tuple(ids) for name, ids in data["payload_delta"].items()}
    parts = {
        "source": _span_from(data["source"]),
        "operands": _each(lambda o: record.Operand(**o), data["operands"]),
        "results": tuple(data["results"]),
        "changes": _each(_change_from, data["changes"]),
        "invalidated": _each(lambda i: record.Invalidation(**i), data["invalidated"]),
        "payload_delta": record.PayloadDelta(**delta),
        "warnings": _each(lambda w: record.TraceWarning(**w), data["warnings"]),
        "diagnostics": _each(_diagnostic_from, data["diagnostics"]),
    }
    return record.TraceStep(**{**data, **parts})


def _each(convert: Callable[[Any], T], items: list[Any]) -> tuple[T, ...]:
    return tuple([convert(item) for item in items])


def _change_from(data: Json) -> record.HandleChange:
    return record.HandleChange(data["handle"], data["state"], _each(_reference_from, data["payload"]))


def _reference_from(data: str | Json) -> record.Reference:
    if isinstance(data, str):
        return data
    if "param" in data:
        return record.ParamReference(**data)
    return record.ResultReference(**data) if "result" in data else record.ArgumentReference(**data)


def _diagnostic(diagnostic: Diagnostic) -> Json:
    place = to_builtins(diagnostic.span)
    notes = [_diagnostic(n) for n in diagnostic.notes]
    return {"severity": diagnostic.severity, "message": diagnostic.message, "source": place, "notes": notes}


def _diagnostic_from(data: Json) -> Diagnostic:
    notes = _each(_diagnostic_from, data["notes"])
    return Diagnostic(data["severity"], data["message"], _span_from(data["source"]), notes)


def snapshot_to_json(snapshot: record.Snapshot) -> Json:
    """Return one entry of ``snapshots``."""
    order = {} if snapshot.ops is None else {"ops": snapshot.ops}
    if snapshot.text is not None:
        return {"step": snapshot.step, "text": snapshot.text, **order}
    edits = [[e.first, e.count, list(e.lines)] for e in snapshot.edits]
    return {"step": snapshot.step, "base": snapshot.base, "edits": edits, **order}


def snapshot_from_json(data: Json) -> record.Snapshot:
    """Return one entry of ``snapshots`` as a snapshot."""
    order = data.get("ops")
    if "text" in data:
        return record.Snapshot(data["step"], data["text"], ops=order)
    edits = tuple([record.Edit(first, count, tuple(lines)) for first, count, lines in data["edits"]])
    return record.Snapshot(data["step"], None, data["base"], edits, order)


# The minimal diff takes quadratic time; a longer piece is replaced as a whole.
_MOST_COMPARED = 400


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """Return the lengths of the common prefix and suffix, which do not overlap."""
    most = min(len(old), len(new))
    first = next((i for i in range(most) if old[i] != new[i]), most)
    tail = next((i for i in range(most - first) if old[-1 - i] != new[-1 - i]), most - first)
    return first, tail


def find_edits(old: list[str], new: list[str]) -> tuple[record.Edit, ...]:
    """Return the edits that turn lines into other lines, in ascending order."""
    first, tail = common_ends(old, new)
    removed, added = old[first : len(old) - tail], new[first : len(new) - tail]
    if not removed and not added:
        return ()
    if max(len(removed), len(added)) > _MOST_COMPARED:
        return (record.Edit(first + 1, len(removed), tuple(added)),)
    matcher = difflib.SequenceMatcher(None, removed, added, autojunk=False)
    return tuple(
        record.Edit(first + i + 1, j - i, tuple(added[k:end]))
        for kind, i, j, k, end in matcher.get_opcodes()
        if kind != "equal"
    )


def written_order(ids: Sequence[str]) -> str:
    """Return ids of payload ops as text with ranges: ``o0 o5-o9 o3``."""
    if not ids:
        return ""
    numbers = [int(each[1:]) for each in ids]
    ends = [i for i, (one, other) in enumerate(itertools.pairwise(numbers), 1) if other != one + 1]
    runs = [(numbers[i], numbers[j - 1]) for i, j in itertools.pairwise([0, *ends, len(numbers)])]
    return " ".join(f"o{first}" if first == last else f"o{first}-o{last}" for first, last in runs)


def read_order(text: str) -> tuple[str, ...]:
    """Return the ids that `written_order` wrote."""
    found: list[str] = []
    for run in text.split():
        first, _, last = run.partition("-")
        found += [f"o{n}" for n in range(int(first[1:]), int((last or first)[1:]) + 1)]
    return tuple(found)

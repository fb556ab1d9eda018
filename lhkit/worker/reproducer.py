"""Files that repeat a failure: the requests as they were sent, and how to send them again."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import platform
import secrets
import shutil
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from lhkit.model import errors
from lhkit.model.file_io import write_whole
from lhkit.model.printable import shortened
from lhkit.worker.folders import cache_folder
from lhkit.worker.framing import encode, request_union
from lhkit.worker.requests import Request, name_of
from lhkit.worker.shared_arrays import dtype_named

# Version 1 had requests with a body behind their fields.
SCHEMA = "lhkit.reproducer/2"
_SCHEMA_1 = "lhkit.reproducer/1"
_MOST_REQUEST_BYTES = 64 << 20
FOLDER_VARIABLE = "LHKIT_CRASH_DIR"
_KEPT = 50
_MOST_WORDS = 400


def crash_folder() -> Path:
    """Return the folder for reproducers: ``LHKIT_CRASH_DIR``, else one in the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else cache_folder("crashes")


def write_reproducer(requests: Sequence[Request[Any]], failure: errors.Failure) -> str | None:
    """Write the requests that led to a failure; return the path, or None if the disk refuses.

    Of large arrays in shared files only the shapes are kept; the replay fills them with zeros.
    """
    content = {
        "schema": SCHEMA,
        "run": f"{Path(sys.executable).name} -m lhkit.worker FILE",
        "python": sys.version.split()[0],
        "failure": failure,
        "requests": [_request_to_json(request) for request in requests],
    }
    try:
        folder = crash_folder()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"lhkit-crash-{secrets.token_hex(6)}.json"
        write_whole(path, msgspec.json.format(msgspec.json.encode(content), indent=1).decode())
        _forget_old(folder, "lhkit-crash-*.json", _KEPT)
    except OSError:
        return None
    return str(path)


def _request_to_json(request: Request[Any]) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(request)
    if len(encode(fields)) > _MOST_REQUEST_BYTES:
        return {"request": name_of(request), "left_out": "it was too large"}
    return fields


def read_requests(path: Path) -> list[dict[str, Any]]:
    """Return the requests of a reproducer, upgraded if older; OSError or ValueError if it is unreadable."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or content.get("schema") not in (SCHEMA, _SCHEMA_1):
        raise ValueError(f"{path} is not a reproducer")
    return [_upgraded(request) for request in content["requests"]]


def request_from_json(request: dict[str, Any], types: tuple[type[Request[Any]], ...]) -> Request[Any]:
    """Return a request that `read_requests` returned; a `UsageError` for an unknown type."""
    try:
        return cast(Request[Any], msgspec.convert(request, request_union(types)))
    except msgspec.ValidationError as error:
        raise errors.usage_error(
            f"the reproducer's request {request.get('request')!r} cannot be read: {error}"
        ) from None


def _upgraded(request: dict[str, Any]) -> dict[str, Any]:
    name = request["request"]
    if "fields" not in request:
        return request
    body = base64.b64decode(request["body"])
    fields = _upgraded_arrays(request["fields"], body)
    sources = []
    for described in fields.pop("sources", ()):
        content, body = body[: described["bytes"]], body[described["bytes"] :]
        source = {k: described[k] for k in ("role", "label", "name")}
        sources.append({**source, "content": base64.b64encode(content).decode()})
    if "opt_level" in fields:
        fields["spec"], sources = _upgraded_spec(fields, sources), []
    if "alignment_bytes" in fields:
        setup = ("arguments", "results", "written", "alignment_bytes")
        fields["setup"] = {k: fields.pop(k) for k in setup}
    if "stage" in fields and name == "memory":
        fields["is_scheduled_only"] = fields.pop("stage") == "scheduled"
    rest = base64.b64encode(body).decode()
    if name == "load_payload":
        fields["content"] = rest
    elif name == "load_ops":
        fields["text"] = rest
    elif name == "load_schedule":
        fields = {"sources": sources, "with_written_ops": bool(fields.get("written"))}
    elif name == "read_forms":
        fields["source"] = sources[0]
    elif name == "outline":
        fields = {"application": {**fields["schedule"], "sources": sources}}
    elif name == "prepare_timing":
        fields["entries"] = [e.get("kernel", e.get("function")) for e in fields["entries"]]
    elif sources:
        fields |= _upgraded_application(name, fields, sources)
    return {"request": name, **fields}


def _upgraded_spec(fields: dict[str, Any], sources: list[dict[str, Any]]) -> dict[str, Any]:
    names = ("function", "opt_level", "microkernels", "target")
    application = fields.pop("schedule")
    return {
        **{k: fields.pop(k) for k in names if k in fields},
        "payload": sources[0],
        "application": None if application is None else {**application, "sources": sources[1:]},
        "resources": {d.pop("name"): d for d in fields.pop("resources", ())},
    }


def _upgraded_application(name: str, fields: dict[str, Any], sources: list[dict[str, Any]]) -> dict[str, Any]:
    payload, *schedule = sources
    application = fields.pop("schedule", None)
    if name == "apply_by_pass":
        application = {k: fields.pop(k) for k in ("entry", "bind", "allowed_passes") if k in fields}
        application["knobs"] = {}
    return {"payload": payload} | (
        {} if application is None else {"application": {**application, "sources": schedule}}
    )


def _upgraded_arrays(value: Any, body: bytes) -> Any:
    """Return fields with the arrays that were in the body, end to end, in place."""
    if isinstance(value, list):
        return [_upgraded_arrays(each, body) for each in value]
    if not isinstance(value, dict):
        return value
    if "shape" not in value or "dtype" not in value:
        return {name: _upgraded_arrays(each, body) for name, each in value.items()}
    place = {"is_read_only": value.get("read_only", False), "is_scalar": value.get("scalar", False)}
    place |= {k: value[k] for k in ("name", "shape", "dtype", "file", "offset", "layout") if k in value}
    if (start := value.get("inline")) is not None:
        nbytes = math.prod(value["shape"]) * dtype_named(value["dtype"]).itemsize
        place["content"] = base64.b64encode(body[start : start + nbytes]).decode()
    return place


def _forget_old(folder: Path, pattern: str, kept: int) -> None:
    """Delete the files and folders of a pattern, but for so many new ones."""
    for old in sorted(folder.glob(pattern), key=lambda f: f.stat().st_mtime)[:-kept]:
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)


# Defects of lhkit: an exception that is no `LhkitError` becomes one, with a folder for a report.


DEFECT_SCHEMA = "lhkit.defect/1"
_MOST_INPUT_BYTES = 1 << 20
_KEPT_DEFECTS = 20
_PACKAGES = ("lhkit", "torch-mlir", "numpy", "click", "ipython", "anywidget")


def typed_error(error: Exception, doing: str, inputs: Mapping[str, bytes] | None = None) -> errors.LhkitError:
    """Return the typed error for an exception: itself if it is one, else that it is a defect of lhkit.

    ``doing`` is the command line or call that raised it; ``inputs`` are name and content of its texts, of which
    long ones are left out of the folder.
    """
    if isinstance(error, errors.LhkitError):
        return error
    if isinstance(error, MemoryError):
        message = f"out of memory: {error}" if str(error) else "out of memory"
        return errors.error_for(errors.Failure("memory", message))
    folder = _write_folder(error, doing, inputs or {})
    words = shortened(str(error), _MOST_WORDS)  # a KeyError may hold a whole text; the folder has it
    return errors.DefectError(
        errors.defect(f"{type(error).__name__}: {words}", request=doing, reproducer=folder)
    )


def read_inputs(paths: Mapping[str, Path]) -> dict[str, bytes]:
    """Return the contents of those files that are there and short enough to be kept."""
    found = {}
    for name, path in paths.items():
        with contextlib.suppress(OSError, ValueError):
            if path.is_file() and path.stat().st_size <= _MOST_INPUT_BYTES:
                found[name] = path.read_bytes()
    return found


def _write_folder(error: Exception, doing: str, inputs: Mapping[str, bytes]) -> str | None:
    folder = crash_folder() / f"lhkit-defect-{secrets.token_hex(6)}"
    try:
        folder.mkdir(parents=True)
        described = {
            "schema": DEFECT_SCHEMA,
            "doing": doing,
            "exception": f"{type(error).__name__}: {error}",
            "python": sys.version.split()[0],
            "platform": platform.platform(),
            "versions": _versions(),
        }
        (folder / "defect.json").write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
        trace = "".join(traceback.format_exception(error))
        (folder / "traceback.txt").write_text(trace, encoding="utf-8", errors="backslashreplace")
        for i, (name, content) in enumerate(inputs.items()):
            if len(content) <= _MOST_INPUT_BYTES:
                suffix = Path(name).suffix
                is_plain = suffix.isascii() and suffix[1:].isalnum()
                (folder / f"input{i}{suffix if is_plain else '.txt'}").write_bytes(content)
        _forget_old(folder.parent, "lhkit-defect-*", _KEPT_DEFECTS)
    except (OSError, ValueError):
        return None
    return str(folder)


def _versions() -> dict[str, str]:
    import importlib.metadata  # brings all of email along

    versions = {}
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions

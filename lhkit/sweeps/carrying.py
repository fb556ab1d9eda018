"""What a sweep tries, as it travels to another machine: with the files that its arrays live in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lhkit.sweeps.sweep_task import Subject
from lhkit.worker.shared_arrays import dtype_named


@dataclass(frozen=True, slots=True)
class Cargo:
    """A payload that is ready for variants, without anything that belongs to this machine.

    Attributes:
        scope: Of the subject.
        fields: Of the subject.
        body: Of the subject.
        files: What the files are that the fields name, by their names here.
    """

    scope: str
    fields: Mapping[str, Any]
    body: bytes
    files: Mapping[str, bytes]


def load_cargo(subject: Subject) -> Cargo:
    """Return a subject as it travels."""
    names = sorted({described["file"] for described in _in_files(subject.fields)})
    files = {name: Path(name).read_bytes() for name in names}
    return Cargo(subject.scope, dict(subject.fields), subject.body, files)


def unload_cargo(cargo: Cargo, folder: Path, difference: Callable[[Sequence[Sequence[int]]], str]) -> Subject:
    """Return the subject of what has arrived.

    Args:
        cargo: What has arrived.
        folder: Where its files are put.
        difference: See `Subject`.
    """
    names = {}
    for number, (name, content) in enumerate(cargo.files.items()):
        path = folder / f"{cargo.scope[:12]}-{number}"
        path.write_bytes(content)
        names[name] = str(path)
    return Subject(cargo.scope, _renamed(cargo.fields, names), cargo.body, difference)


def read_places(subject: Subject) -> list[bytes]:
    """Return what is in the places of wrong results."""
    found = []
    for place in subject.fields["places"]:
        with Path(place["file"]).open("rb") as file:
            file.seek(place["offset"])
            found.append(file.read(math.prod(place["shape"]) * dtype_named(place["dtype"]).itemsize))
    return found


def write_places(subject: Subject, contents: Sequence[bytes]) -> None:
    """Put into the places of wrong results what `read_places` returned on another machine."""
    for place, content in zip(subject.fields["places"], contents, strict=True):
        with Path(place["file"]).open("r+b") as file:
            file.seek(place["offset"])
            file.write(content)


def _in_files(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the descriptors of arrays that live in files."""
    if isinstance(value, Mapping):
        if "file" in value and "offset" in value:
            yield value
        else:
            for each in value.values():
                yield from _in_files(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _in_files(each)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        if "file" in value and "offset" in value:
            return {**value, "file": names[value["file"]]}
        return {name: _renamed(each, names) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(each, names) for each in value]
    return value

"""Source texts of payloads and schedules: files, strings and declared libraries."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeGuard, TypeVar

from lhkit.load.resource_data import MAGIC, Buffer, CutOffError, FoundBlob, split_bytecode, split_resources
from lhkit.load.shipped_files import Shipped, find_file, shipped_folder
from lhkit.model.errors import Diagnostic, Failure, UsageError, error_for, usage_error
from lhkit.model.file_io import open_input, read_bytes
from lhkit.model.printable import one_line
from lhkit.model.schedule import Library
from lhkit.model.span import Span
from lhkit.text.knob_text import declared_libraries

# The content of a payload as it is parsed, without the data of its resources.


_LONG_BYTES = 16 << 20


def split_file(path: Path) -> tuple[bytes, tuple[FoundBlob, ...]]:
    """Return the content of a file without the data of its resources, and that data."""
    with open_input(path) as file:
        if os.fstat(file.fileno()).st_size < _LONG_BYTES:
            return split_content(file.read())
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return split_content(mapped)


def split_content(content: Buffer) -> tuple[bytes, tuple[FoundBlob, ...]]:
    """Return text or bytecode without the data of its resources, and that data."""
    return split_bytecode(content) if content[: len(MAGIC)] == MAGIC else split_resources(content)


T = TypeVar("T")

_LONGEST_NAME = 200
_TEXT_ADVICE = "A string with a line break or a brace is MLIR text in Python; any other is the path of a file."
_MLIR_SUFFIXES = (".mlir", ".mlirbc")


def read_source(source: str | os.PathLike[str], kind: Shipped, name: str) -> tuple[str, bytes, Path | None]:
    """Return (name for people, content, path if it is a file) of a source."""
    if is_text(source):
        return name, checked_content(source.encode(errors="replace"), name), None
    path = find_file(_as_path(source, kind), kind)
    content = _read_file(path, kind, read_bytes)
    return str(path), checked_content(content, str(path)), path


def read_module(
    source: str | os.PathLike[str], kind: Shipped, name: str
) -> tuple[str, bytes, Path | None, tuple[FoundBlob, ...]]:
    """Return (name for people, content without data of resources, path if it is a file, that data)."""
    path = None if is_text(source) else find_file(_as_path(source, kind), kind)
    shown = name if path is None else str(path)
    try:
        if path is None:
            text, found = split_content(str(source).encode(errors="replace"))
        else:
            text, found = _read_file(path, kind, split_file)
    except CutOffError as error:
        # The parser of MLIR does not survive this.
        message = f"{shown} does not parse: it ends within the data of the resource {error}"
        advice = "It was not written or copied to its end."
        raise error_for(Failure("payload-parse", message, advice=advice, stage="parse")) from None
    return shown, checked_content(text, shown), path, found


def is_text(source: object) -> TypeGuard[str]:
    """Return whether a source is a string that holds MLIR instead of a path."""
    return isinstance(source, str) and ("\n" in source or "{" in source)


def _as_path(source: object, kind: Shipped) -> Path:
    if isinstance(source, str | os.PathLike):
        return Path(source)
    word, type_ = "payload" if kind == "data" else "schedule", type(source).__name__
    given = "None" if source is None else f"{'an' if type_[0] in 'aeiou' else 'a'} {type_}"
    raise usage_error(f"a {word} is a path or MLIR text, not {given}")


def read_libraries(
    shown: str, content: bytes, given: Sequence[str | os.PathLike[str]] = ()
) -> tuple[Library, ...]:
    """Return the libraries given for a schedule, and then those that its comments name."""
    found: dict[Path | str, Library] = {}
    for library in given:
        name, text, at = read_source(library, "schedules", "<library>")
        found[at.resolve() if at else f"{name} {len(found)}"] = Library(name, text.decode(errors="replace"))
    content = b"" if content.startswith(MAGIC) else content
    folders = (Path(shown).parent, shipped_folder("schedules"))
    for path, place in declared_libraries(content.decode(errors="replace"), shown).items():
        folder = next((f for f in folders if (f / path).is_file()), None)
        if folder is None:
            listed = ", ".join(str(folder.resolve()) for folder in folders)
            message = f"there is no library {path}"
            raise usage_error(message, f"Looked in {listed}.", at=place, text=content.decode())
        file = folder / path
        if not file.resolve().is_relative_to(folder.resolve()):
            message = f"the library {path} is a link to a file outside of the schedule's folder"
            advice = f"If you trust it, give it yourself: --library {path}"
            raise usage_error(message, advice, at=place, text=content.decode())
        name, text, _ = read_source(file, "schedules", "<library>")
        found[file.resolve()] = Library(name, text.decode(errors="replace"), path)
    return tuple(found.values())


def _read_file(path: Path, kind: Shipped, read: Callable[[Path], T]) -> T:
    shown = one_line(str(path), _LONGEST_NAME)
    try:
        return read(path)
    except FileNotFoundError:
        raise usage_error(f"no such file: {shown}", _near_misses(path, kind)) from None
    except IsADirectoryError:
        raise usage_error(f"{shown} is a directory", _near_misses(path / "x", kind)) from None
    except OSError as error:
        seems_text = error.errno == errno.ENAMETOOLONG or "\0" in str(path)
        message = f"{shown} cannot be read: {error.strerror or error}"
        raise usage_error(message, _TEXT_ADVICE if seems_text else None) from None


def checked_content(content: bytes, name: str) -> bytes:
    """Return the content of a source if it is bytecode or text with something in it."""
    if content.startswith(MAGIC):
        return content
    if not content.strip():
        raise usage_error(f"{name} is empty")
    try:
        content.decode()
        at = content.find(b"\0")
    except UnicodeDecodeError as error:
        at = error.start
    if at < 0:
        return content
    line = content.count(b"\n", 0, at) + 1
    place = Span(name, line, at - content.rfind(b"\n", 0, at))
    what = Diagnostic("error", f"byte 0x{content[at]:02x} is not text", place)
    raise UsageError(Failure("usage", f"{name} is neither MLIR text (UTF-8) nor MLIR bytecode", (what,)))


def _near_misses(path: Path, kind: Shipped) -> str | None:
    """Return the MLIR files in the same folder and among the shipped ones, as advice."""
    folder = path.parent
    beside = sorted(p.name for p in folder.iterdir() if p.suffix in _MLIR_SUFFIXES) if folder.is_dir() else []
    if beside:
        return f"In {folder}: {', '.join(beside[:12])}."
    shipped = sorted(p.name for p in shipped_folder(kind).glob("*.mlir"))
    return f"Files that come with lhkit: {', '.join(shipped)}." if shipped else None

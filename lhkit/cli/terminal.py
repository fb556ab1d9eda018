"""Output of the command line: text, colours, progress and files, on standard output and error."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lhkit.model.errors import Failure, LhkitError, usage_error
from lhkit.model.file_io import write_file
from lhkit.model.printable import printable

if TYPE_CHECKING:
    from lhkit.traces.report.trace_text import Line


_STYLES: Mapping[str, dict[str, Any]] = {
    "plain": {},
    "faint": {"dim": True},
    "title": {"bold": True},
    "live": {"fg": "green"},
    "empty": {"fg": "yellow"},
    "invalid": {"fg": "red"},
    "failed": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow"},
}


def say(text: object, *, nl: bool = True, err: bool = False) -> None:
    """Write a text in its printable form."""
    click.echo(_fitting(str(text), err=err), nl=nl, err=err)


def say_line(line: Line, *, err: bool = False) -> None:
    """Write a line, coloured on a terminal."""
    styled = "".join(click.style(_fitting(p.text, err=err), **_STYLES[p.role]) for p in line)
    click.echo(styled.rstrip(), err=err)


def show_progress(text: str) -> None:
    """Overwrite the last line of the terminal, on standard error."""
    click.echo(f"\r\x1b[K{_fitting(text, err=True)}", nl=False, err=True)


def _fitting(text: str, *, err: bool) -> str:
    """Return a text in its printable form, with ``?`` for characters that the stream's encoding lacks."""
    # click writes UTF-8 to a stream of ASCII, which takes it for a mistake in the settings.
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    return printable(text).encode(encoding, errors="replace").decode(encoding)


def replace_unencodable() -> None:
    """Replace unencodable characters in all output, such as that of progress bars."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def write_text(path: str | Path, text: str) -> None:
    """Write text as UTF-8; ``-`` is standard output: raw into a pipe, printable on a terminal."""
    # A file name may hold bytes that do not decode.
    encoded = text.encode(errors="replace")
    if str(path) != "-":
        write_file(path, encoded)
    elif sys.stdout.isatty():
        say(text.removesuffix("\n"))
    else:
        click.echo(encoded, nl=not text.endswith("\n"))


def write_json(path: str | Path | None, value: Any) -> None:
    """Write JSON, unless the path is None; ``-`` is standard output."""
    if path is not None:
        write_text(path, json.dumps(value, indent=1) + "\n")


@contextlib.contextmanager
def failures_as_json(path: str | None, to_json: Callable[[Failure], Any]) -> Iterator[None]:
    """Write a failure of the body as JSON too, unless the path is None."""
    try:
        yield
    except LhkitError as error:
        write_json(path, to_json(error.failure))
        raise


def check_single_stdout(*paths: str | None) -> None:
    """Refuse more than one ``-``."""
    if sum(path == "-" for path in paths) > 1:
        raise usage_error("only one file can go to standard output")

"""Writing what was asked for on the command line; ``-`` is standard output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from lhkit.cli.terminal import say
from lhkit.model.errors import usage_error
from lhkit.model.files import write_file


def write_text(path: str | Path, text: str) -> None:
    """Write text as UTF-8; ``-`` is standard output: as it is into a pipe, in printable form on a terminal."""
    # The name of a file may hold bytes that are no text.
    encoded = text.encode(errors="replace")
    if str(path) != "-":
        write_file(path, encoded)
    elif sys.stdout.isatty():
        say(text.removesuffix("\n"))
    else:
        click.echo(encoded, nl=not text.endswith("\n"))


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON; ``-`` is standard output."""
    write_text(path, json.dumps(value, indent=1) + "\n")


def check_single_stdout(*paths: str | None) -> None:
    """Refuse more than one ``-``.

    Raises:
        UsageError: Two files would go to standard output.
    """
    if sum(path == "-" for path in paths) > 1:
        raise usage_error("only one file can go to standard output")
